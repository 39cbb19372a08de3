"""What several commands share: flags, reading texts, opening a checkpoint, printing a result."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from bertlab.abilities.ability import read_stdin
from bertlab.config.errors import TextError
from bertlab.config.languages import Message, detect_language, languages, list_message_ids

if TYPE_CHECKING:
    from bertlab.session import Session

Text = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
OptionalText = Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[TEXT]")]


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """The checkpoint that a command opens."""

    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """A checkpoint or run directory, the name of a shipped checkpoint, or a hub id (the name of a model on the Hugging
    Face Hub). Default: the shipped checkpoint for this command and for the language of the text (English or Korean)."""


@dataclass(frozen=True, kw_only=True)
class QueryOptions(CheckpointOptions):
    """The options of every command that prints a result."""

    json: bool = False
    """Print the result as one JSON object."""


@dataclass(frozen=True)
class TextQuery(QueryOptions):
    """The options of a command that reads one text."""

    text: Text
    """The text. Use "-" to read it from standard input."""


@dataclass(frozen=True)
class PairQuery(TextQuery):
    """The options of a command that reads one text or a pair of texts."""

    pair: OptionalText = None
    """The second text of a pair."""


def read_texts(*texts: str) -> list[str]:
    """Return the texts; "-" stands for standard input.

    Raises:
        TextError: more than one text is "-".
    """
    if texts.count("-") > 1:
        raise TextError("stdin-read-twice")
    return [read_stdin() if text == "-" else text for text in texts]


def open_session(config: CheckpointOptions, command: str = "fill-mask", *texts: str) -> "Session":
    """Open the checkpoint that `--checkpoint` names, or else the shipped one for a command and the texts' language.

    If the checkpoint was not trained on the language of the texts, a line on standard error says so.

    Raises:
        CheckpointError: the checkpoint is missing or cannot be opened.
    """
    from bertlab.session import load
    from bertlab.tasks.registry import default_checkpoint

    if config.checkpoint is not None:
        session = load(config.checkpoint)
    else:
        session = load(default_checkpoint(command, detect_language([" ".join(texts)])))
    _warn_of_other_language(session, texts)
    return session


def _warn_of_other_language(session: "Session", texts: Sequence[str]) -> None:
    """Print a line to standard error if the texts are in a language that the checkpoint was not trained on."""
    from bertlab.text.word_spans import detect_text_language

    code = detect_text_language(texts)
    if code is not None and not session.tokenizer.reads_language(code):
        names = {"language": _name_language(session.language), "text_language": _name_language(code)}
        print(Message("checkpoint-of-other-language", name=session.name, **names), file=sys.stderr)


def _name_language(code: str) -> Message | str:
    """Return the name of a language: a message if there is one, otherwise the name in the language itself."""
    id = f"language-name-{code}"
    return Message(id) if id in list_message_ids() else languages()[code].name


def print_result(config: QueryOptions, session: "Session", result: object, make_lines: Callable[[], list[str]]) -> None:
    """Print a result as one JSON object, or as readable lines.

    Args:
        config: the options of the command.
        session: the session that computed the result.
        result: a dataclass of `bertlab.abilities.results`, or a dictionary of them.
        make_lines: returns the lines to print. It is called only without `--json`.
    """
    if config.json:
        from bertlab.abilities.results import as_json

        print(json.dumps({"checkpoint": session.name} | as_json(result)))
    else:
        print("\n".join([*make_lines(), "", f"checkpoint: {session.name}"]))

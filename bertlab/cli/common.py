"""What every question to a checkpoint takes, the session that answers it, and how the answer is told.

Knows no single question.
"""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from bertlab.config.errors import BertlabError

if TYPE_CHECKING:
    from bertlab.explore.session import Session

Text = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
Second = Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[TEXT]")]


@dataclass(frozen=True, kw_only=True)
class OfCheckpoint:
    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """A directory, the name of a shipped checkpoint, or a hub id. Without it: the shipped one that suits what is asked,
    in English or in Korean."""


@dataclass(frozen=True, kw_only=True)
class Ask(OfCheckpoint):
    json: bool = False
    """Print one JSON object."""


@dataclass(frozen=True)
class AskText(Ask):
    text: Text
    """The text; - reads it from standard input."""


@dataclass(frozen=True)
class AskPair(AskText):
    pair: Second = None
    """A second text, read after the first."""


def read_texts(*texts: str) -> list[str]:
    """The texts, one of which may be "-": standard input."""
    if texts.count("-") > 1:
        raise BertlabError("only one text can be read from standard input")
    return [_read() if text == "-" else text for text in texts]


def _read() -> str:
    from bertlab.text.readers.files import encoding_of

    content = sys.stdin.buffer.read()
    return content.decode(encoding_of(content), errors="replace").rstrip("\n")


def open_session(config: OfCheckpoint, task: str = "fill-mask", *texts: str) -> "Session":
    """What is asked: the checkpoint that was named, or the shipped one that suits the task and the language of the
    texts. Raises CheckpointError."""
    from bertlab.explore.session import default_checkpoint, load

    if config.checkpoint is not None:
        return load(config.checkpoint)
    return load(default_checkpoint(task, "ko" if re.search("[가-힣]", " ".join(texts)) else "en"))


def tell(config: Ask, session: "Session", fact: object, lines: Callable[[], list[str]], **first: object) -> None:
    """Print a fact (or a dictionary of facts) as JSON, after what comes `first`; or its lines."""
    if config.json:
        from bertlab.explore.facts import as_json

        print(json.dumps({"checkpoint": session.name} | first | as_json(fact)))
    else:
        print("\n".join([*lines(), "", f"checkpoint: {session.name}"]))

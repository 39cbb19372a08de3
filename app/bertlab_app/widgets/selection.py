"""Select the checkpoint of a page, and read examples in the language of that checkpoint."""

import os
from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.languages import DEFAULT, find_example_task, languages, list_message_ids, rank_shipped_checkpoints
from bertlab.session import Session
from bertlab.tasks.registry import list_types_for_command
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.text.unknown_tokens import is_mostly_unknown
from bertlab.text.word_spans import detect_text_language
from bertlab.views.passage import escape_html
from bertlab_app import url, view_state
from bertlab_app.data import sessions
from bertlab_app.examples import Examples, read_examples
from bertlab_app.i18n import language, t
from bertlab_app.registry import PAGES
from bertlab_app.widgets import frame
from bertlab_app.widgets.frame import NoSuitableCheckpoint


def open_checkpoint(command: str, *texts: str) -> sessions.CheckpointKey:
    """Open the checkpoint of this page, and show its name and size in the sidebar."""
    checkpoint = select_checkpoint(command, texts)
    session = sessions.open_session(checkpoint)
    name = os.path.basename(session.name)
    st.sidebar.html(f'<p class="small"><b>{escape_html(name)}</b><br>{describe_size(session.config)}</p>')
    chosen_name = st.session_state.get("opened", sessions.AUTO)
    if chosen_name != sessions.AUTO and sessions.find_checkpoint(chosen_name) != checkpoint:
        frame.note(t("checkpoint-replaced", chosen=os.path.basename(chosen_name), used=name))
    note_other_language(checkpoint, command, texts)
    are_texts_not_in_interface_language = detect_text_language(texts) == session.language != language()
    is_automatic = chosen_name == sessions.AUTO
    if is_automatic and are_texts_not_in_interface_language and not _has_shipped_checkpoint(command, language()):
        frame.note(t("checkpoint-none-in-language", language=_name_language(language())))
    return checkpoint


def list_shipped(task_type: str) -> list[str]:
    """List the shipped checkpoints for a task type, best first: those for the language of the interface come first."""
    shipped = find_shipped_checkpoints()
    return [name for name in rank_shipped_checkpoints(task_type, language()) if name in shipped]


def find_session(command: str) -> Session | None:
    """Open the checkpoint that the page for a command uses.

    Return None if no checkpoint is suitable, or if it cannot be opened.
    """
    with suppress(BertlabError):
        return sessions.open_session(select_checkpoint(command))
    return None


def examples_for(command: str) -> Examples:
    """Read the examples in the language of the checkpoint that a page with the prediction of a command uses.

    If `find_session` finds no checkpoint, the examples are English.
    """
    session = find_session(command)
    return read_examples(session.language if session else DEFAULT)


def needs_pair(checkpoint: sessions.CheckpointKey, command: str) -> bool:
    """Whether the prediction of a command needs two texts.

    It needs two if the command reads only text pairs, or if the checkpoint was trained only on text pairs.
    """
    if any(task_type.reads_only_pairs for task_type in list_types_for_command(command)):
        return True
    return command == "classify" and sessions.open_session(checkpoint).num_texts == 2


def describe_size(config: ModelConfig) -> str:
    """Describe a model in one phrase: how many layers and heads it has, and its hidden size."""
    return t("checkpoint-size", layers=config.num_layers, heads=config.num_heads, hidden=config.hidden_size)


def open_attention_page(checkpoint: sessions.CheckpointKey, first: str, second: str = "", **settings) -> None:
    values = {"a": first, "b": second, "checkpoint": sessions.loadable_name(checkpoint), "look": "heads"}
    for name, value in values.items():
        url.store(name, value)
    view_state.store(view_state.DEFAULTS | settings)
    st.session_state["view.chosen"] = True
    st.switch_page(PAGES["attention"].script)


def supports_command(session: Session, command: str) -> bool:
    """Whether a checkpoint has the output layer that a command needs, or the command needs none."""
    task_types = list_types_for_command(command)
    return not task_types or any(not task_type.head or task_type.head in session.heads for task_type in task_types)


def predicts_value(session: Session) -> bool:
    """Whether a checkpoint has an output layer that predicts a value instead of a label."""
    task_types = list_types_for_command("classify")
    return any(task_type.predicts_value and task_type.head in session.heads for task_type in task_types)


def select_checkpoint(command: str, texts: Sequence[str] = ()) -> sessions.CheckpointKey:
    """Select the checkpoint chosen in the sidebar if it supports the command, else the most suitable shipped one.

    If the chosen checkpoint does not support the command and no shipped one is suitable, the chosen one is returned.
    """
    code = detect_text_language(texts) or language()
    chosen_name = st.session_state.get("opened", sessions.AUTO)
    if chosen_name != sessions.AUTO:
        checkpoint = sessions.find_checkpoint(chosen_name)
        if supports_command(sessions.open_session(checkpoint), command):
            return checkpoint
        with suppress(CheckpointError):
            return sessions.select_checkpoint(command, code)
        return checkpoint  # its prediction then raises an error that names the missing output layer
    try:
        return sessions.select_checkpoint(command, code)
    except CheckpointError as error:
        tasks = (find_example_task(task_type.name, code) for task_type in list_types_for_command(command))
        task = next(filter(None, tasks), None)
        if task is None:
            raise
        pretrained = "strongest"  # if no checkpoint is installed: the default of `bertlab finetune --from`
        if find_shipped_checkpoints():
            pretrained = os.path.basename(sessions.select_checkpoint("fill-mask", code).source)
        raise NoSuitableCheckpoint(f"bertlab finetune {task} --from {pretrained} --out runs/{task}") from error


def note_other_language(checkpoint: sessions.CheckpointKey, command: str, texts: Sequence[str]) -> None:
    """Show a note if the texts are in a different language from the one the checkpoint was trained on.

    Otherwise, show a note if most of their tokens are unknown to the checkpoint, as emoji and old Hangul often are.
    """
    session = sessions.open_session(checkpoint)
    note_language_by_tokenizer(session.name, session.tokenizer, session.language, command, texts)


def note_language_by_tokenizer(
    name: str, tokenizer: Tokenizer, model_language: str, command: str, texts: Sequence[str]
) -> None:
    """Show the note of `note_other_language` for a checkpoint or a training run of which only the tokenizer is read."""
    tokens = tokenizer.tokens([id for ids in tokenizer.encode_ids([*filter(None, texts)]) for id in ids])
    if not tokens:
        return
    unknown = tokens.count(tokenizer.special.unk)
    code = detect_text_language(texts)
    if code in (None, model_language) or tokenizer.reads_language(code):
        if is_mostly_unknown(tokens, tokenizer.special.unk):
            frame.note(t("checkpoint-unknown-tokens", name=os.path.basename(name), unknown=unknown, tokens=len(tokens)))
        return
    single_letters = sum(len(token.removeprefix("##")) == 1 and token.removeprefix("##").isalpha() for token in tokens)
    values = {"name": os.path.basename(name), "language": _name_language(model_language)}
    values |= {"text_language": _name_language(code), "tokens": len(tokens)}
    note = t("checkpoint-other-language", unknown=unknown, letters=single_letters, **values)
    if not _has_shipped_checkpoint(command, code):
        note += " " + t("checkpoint-none-in-language", language=_name_language(code))
    frame.note(note)


def _has_shipped_checkpoint(command: str, code: str) -> bool:
    """Whether there is a shipped checkpoint that supports a command and was trained on a language."""
    with suppress(CheckpointError):
        return sessions.open_session(sessions.select_checkpoint(command, code)).language == code
    return False


def _name_language(code: str) -> str:
    """Return the name of a language in the interface language, else in English, else in the language itself."""
    id = f"language-name-{code}"
    return t(id) if id in list_message_ids() else languages()[code].name

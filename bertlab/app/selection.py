"""Which checkpoint a page uses, and in which language its examples are."""

import os
from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

import bertlab
from bertlab.app import frame, url
from bertlab.app.data import sessions
from bertlab.app.examples import Examples
from bertlab.app.examples import examples as examples_in
from bertlab.app.frame import NoSuitableCheckpoint
from bertlab.app.i18n import language, t
from bertlab.app.pages import PAGES
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.languages import DEFAULT, example_task, language_of, languages, message_ids
from bertlab.explore.session import Session
from bertlab.tasks.registry import types_of_command
from bertlab.text.word_spans import MASK
from bertlab.views.passage import escape_html


def open_checkpoint(prediction: str, *texts: str) -> sessions.Checkpoint:
    """Open the checkpoint of this page and show its name and size in the sidebar.

    One line on the page says so if the checkpoint chosen in the sidebar cannot make this prediction and another one is
    used instead, or if the checkpoint reads another language than the texts are in.

    Args:
        prediction: what the page needs, as in `bertlab.default_checkpoint`.
        texts: what the user typed. The choice "auto" follows their script, or the interface where they have no letter.

    Raises:
        CheckpointError: it cannot be opened any more, or none suits.
    """
    checkpoint = _select(prediction, texts)
    session = sessions.session(checkpoint)
    name = os.path.basename(session.name)
    st.sidebar.html(f'<p class="small"><b>{escape_html(name)}</b><br>{describe_size(session.config)}</p>')
    picked = st.session_state.get("opened", sessions.AUTO)
    if picked != sessions.AUTO and sessions.checkpoint(picked) != checkpoint:
        frame.note(t("checkpoint-replaced", chosen=os.path.basename(picked), used=name))
    _note_other_language(session, texts)
    return checkpoint


def session_for(prediction: str) -> Session | None:
    """The session of this page, or None while its checkpoint cannot be opened."""
    with suppress(BertlabError):
        return sessions.session(_select(prediction))
    return None


def examples_for(prediction: str) -> Examples:
    """Examples in the language of this page's checkpoint; English ones while it cannot be opened."""
    session = session_for(prediction)
    return examples_in(session.language if session else DEFAULT)


def needs_pair(checkpoint: sessions.Checkpoint, prediction: str) -> bool:
    """Whether the checkpoint was trained on text pairs only, so that a single text gives a meaningless prediction."""
    return prediction == "classify" and sessions.session(checkpoint).texts == 2


def describe_size(config: ModelConfig) -> str:
    """A model's layers, heads and hidden size in one phrase."""
    return t("checkpoint-size", layers=config.num_layers, heads=config.num_heads, hidden=config.hidden_size)


def open_attention_page(checkpoint: sessions.Checkpoint, first: str, second: str = "", **picture) -> None:
    """Go to the attention page with this checkpoint and these texts.

    Args:
        picture: values of `url.VIEW_STATE` to set in the view.
    """
    values = {"a": first, "b": second, "checkpoint": sessions.short_name(checkpoint), "look": "heads"}
    for name, value in values.items():
        url.store(name, value)
    url.store_view_state(url.VIEW_STATE | picture)
    st.switch_page(PAGES["attention"].script)


def can_predict(session: Session, prediction: str) -> bool:
    """Whether a checkpoint has a task head for a prediction."""
    task_types = types_of_command(prediction)
    return not task_types or any(task_type.head in session.heads for task_type in task_types)


def predicts_value(session: Session) -> bool:
    """Whether a checkpoint has a task head that predicts a value instead of a label."""
    task_types = types_of_command("classify")
    return any(task_type.predicts_value and task_type.head in session.heads for task_type in task_types)


def _select(prediction: str, texts: Sequence[str] = ()) -> sessions.Checkpoint:
    """The checkpoint chosen in the sidebar if it can make the prediction, else the shipped one that suits best."""
    code = _language_of(texts)
    picked = st.session_state.get("opened", sessions.AUTO)
    if picked != sessions.AUTO:
        checkpoint = sessions.checkpoint(picked)
        if can_predict(sessions.session(checkpoint), prediction):
            return checkpoint
        with suppress(CheckpointError):
            return sessions.fitting(prediction, code)
        return checkpoint  # its error says which head is missing
    try:
        return sessions.fitting(prediction, code)
    except CheckpointError as error:
        tasks = (example_task(task_type.name, code) for task_type in types_of_command(prediction))
        task = next(filter(None, tasks), None)
        if task is None:
            raise
        start = os.path.basename(sessions.fitting("fill-mask", code).source) if bertlab.shipped() else "strongest"
        raise NoSuitableCheckpoint(f"bertlab finetune {task} --from {start} --out runs/{task}") from error


def _language_of(texts: Sequence[str]) -> str:
    """The language of texts by their script; that of the interface where they have no letters."""
    words = [word for text in texts for word in text.replace(MASK, " ").split() if any(map(str.isalpha, word))]
    return language_of(words) if words else language()


def _note_other_language(session: Session, texts: Sequence[str]) -> None:
    """Show one line where the checkpoint was trained on another language than the texts are in."""
    if not any(texts) or (code := _language_of(texts)) == session.language:
        return
    ids = [id for ids in session.tokenizer.encode_ids(texts) for id in ids]
    tokens = session.tokenizer.tokens(ids)
    unknown = sum(token == "[UNK]" for token in tokens)
    letters = sum(len(token.removeprefix("##")) == 1 and token.removeprefix("##").isalpha() for token in tokens)
    if not tokens:
        return
    values = {"name": os.path.basename(session.name), "reads": language_name(session.language)}
    values |= {"text": language_name(code), "tokens": len(tokens), "unknown": unknown, "letters": letters}
    frame.note(t("checkpoint-other-language", **values))


def language_name(code: str) -> str:
    """What a language is called in the language of the interface."""
    id = f"language-name-{code}"
    return t(id) if id in message_ids() else languages()[code].name

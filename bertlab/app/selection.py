"""Which checkpoint a page uses, and in which language its examples are."""

import os
from contextlib import suppress

import streamlit as st

from bertlab.app import url
from bertlab.app.data import sessions
from bertlab.app.examples import Examples
from bertlab.app.examples import examples as examples_in
from bertlab.app.frame import NoSuitableCheckpoint
from bertlab.app.i18n import language, t
from bertlab.app.pages import PAGES
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.languages import DEFAULT
from bertlab.explore.session import Session
from bertlab.views.passage import plain

TASK_TO_TRAIN = {"classify": "sst2", "tag": "wikiann_en"}  # prediction -> task to fine-tune on where none is shipped


def open_checkpoint(prediction: str) -> sessions.Checkpoint:
    """Open the checkpoint of this page and show its name and size in the sidebar.

    Args:
        prediction: what the page needs, as in `bertlab.default_checkpoint`.

    Raises:
        CheckpointError: it cannot be opened any more, or none suits.
    """
    checkpoint = _select(prediction)
    session = sessions.session(checkpoint)
    name, size = plain(os.path.basename(session.name)), describe_size(session.config)
    st.sidebar.html(f'<p class="small"><b>{name}</b><br>{size}</p>')
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
        picture: values of `url.PICTURE` to set in the view.
    """
    values = {"a": first, "b": second, "checkpoint": sessions.short_name(checkpoint), "look": "heads"}
    for name, value in values.items():
        url.keep(name, value)
    url.keep_picture(url.PICTURE | picture)
    st.switch_page(PAGES["attention"].script)


def _select(prediction: str) -> sessions.Checkpoint:
    picked = st.session_state.get("opened", sessions.AUTO)
    if picked != sessions.AUTO:
        return sessions.checkpoint(picked)
    try:
        return sessions.fitting(prediction, language())
    except CheckpointError as error:
        if prediction not in TASK_TO_TRAIN:
            raise
        task = TASK_TO_TRAIN[prediction]
        raise NoSuitableCheckpoint(f"bertlab finetune {task} --from strongest --out runs/{task}") from error

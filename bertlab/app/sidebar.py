"""The controls that stay while pages change: interface language, undo, and checkpoint."""

import streamlit as st

import bertlab
from bertlab.app import frame, url
from bertlab.app.data import sessions
from bertlab.app.i18n import error_text, t
from bertlab.config.errors import BertlabError
from bertlab.config.languages import languages


def language_and_undo() -> None:
    """Draw the choice of the interface language and the undo button."""
    # always enabled: a change inside of a fragment does not draw the sidebar again
    with st.sidebar.container(horizontal=True, horizontal_alignment="distribute"):
        url.choice(
            st.segmented_control, t("language"), list(languages()), key="lang",
            format_func=lambda code: languages()[code].name,
            label_visibility="collapsed", required=True,
        )  # fmt: skip
        st.button(
            t("undo"), key="undo", help=t("undo-help"), icon=":material/undo:", type="tertiary", shortcut="mod+z",
            on_click=_undo,
        )  # fmt: skip


def _undo() -> None:
    if not url.undo():
        st.toast(t("undo-nothing"))


def checkpoint(used: bool) -> None:
    """Draw the choice of the checkpoint. One that cannot be opened is reported here, and the previous one stays open.

    Args:
        used: whether the current page reads it; the field is disabled on the other pages.
    """
    state = st.session_state
    with st.sidebar:
        name = url.text(
            st.selectbox, t("checkpoint"), sessions.AUTO, key="checkpoint",
            options=[sessions.AUTO, *bertlab.shipped()], accept_new_options=True,
            help=t("checkpoint-help" if used else "checkpoint-not-used-here"), disabled=not used,
        )  # fmt: skip
        if (error := _error_of(name)) is None:
            state["opened"] = name
        else:
            frame.note(error_text(error), "error")
            # the name of the open checkpoint follows below
            st.html(f'<p class="small">{t("checkpoint-still-in-use")}</p>')


def _error_of(name: str) -> BertlabError | None:
    """Why a checkpoint cannot be opened; None if it can."""
    if name == sessions.AUTO:
        return None
    state = st.session_state
    try:
        checkpoint = sessions.checkpoint(name)
        # tried once, and again when its files change, because looking for a hub id takes time
        if checkpoint != state.get("sidebar.tried"):
            state["sidebar.error"] = None
            state["sidebar.tried"] = checkpoint
            sessions.session(checkpoint)
    except BertlabError as error:
        state["sidebar.error"] = error
    return state["sidebar.error"]

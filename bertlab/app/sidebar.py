"""The controls that stay while pages change: language and checkpoint. Knows no page."""

import streamlit as st

import bertlab
from bertlab.app import frame, url
from bertlab.app.data import sessions
from bertlab.app.i18n import error_text, t
from bertlab.config.errors import BertlabError
from bertlab.config.languages import languages


def language_and_undo() -> None:
    """Choose the language of the window; take back the latest change on the page."""
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
    """Choose what the pages read. What cannot be opened is said right here, and the one before stays open.

    Args:
        used: whether the page at hand reads it; it is out of reach where it would change nothing.
    """
    state = st.session_state
    with st.sidebar:
        wanted = url.text(
            st.selectbox, t("checkpoint"), sessions.AUTO, key="checkpoint", options=[sessions.AUTO, *bertlab.shipped()],
            accept_new_options=True, help=t("checkpoint-help" if used else "checkpoint-unused"), disabled=not used,
        )  # fmt: skip
        # asked once, and again when its files change: to look for a hub id takes its time
        asked = (wanted, sessions.checkpoint(wanted))
        if asked != state.get("asked"):
            state["asked"], state["refusal"] = asked, _refusal(wanted)
        if state["refusal"] is None:
            state["opened"] = wanted
        else:
            frame.note(error_text(state["refusal"]), "error")
            # the page says next, right below, what it has open
            st.html(f'<p class="small">{t("checkpoint-stays")}</p>')


def _refusal(wanted: str) -> str | None:
    """Why a checkpoint cannot be opened, in one line; None if it can."""
    try:
        if wanted != sessions.AUTO:
            sessions.session(sessions.checkpoint(wanted))
    except BertlabError as error:
        return str(error)
    return None

"""The controls in the sidebar of every page: interface language, undo, and checkpoint."""

import streamlit as st

import bertlab
from bertlab.config.errors import BertlabError
from bertlab.config.languages import languages, list_message_ids
from bertlab_app import frame, url, url_fields
from bertlab_app.data import sessions
from bertlab_app.i18n import error_text, t


def draw_language_and_undo() -> None:
    """Draw the choice of the interface language and the undo button."""
    # The undo button is enabled even if there is nothing to undo: after a change in a fragment of the page, the sidebar
    # is not drawn again, so the button could not be enabled then.
    with st.sidebar.container(horizontal=True, horizontal_alignment="distribute"):
        url_fields.choice(
            st.segmented_control, t("language"), list(languages()), key="lang",
            format_func=lambda code: languages()[code].name,
            label_visibility="collapsed", required=True,
        )  # fmt: skip
        st.button(
            t("undo"), key="undo", help=t("undo-help"), icon=":material/undo:", type="tertiary", shortcut="mod+z",
            on_click=_undo,
        )  # fmt: skip


def _undo() -> None:
    """Undo the last change on the page, or show a message if there is none."""
    if not url.undo():
        st.toast(t("undo-nothing"))


def draw_checkpoint(is_used: bool) -> None:
    """Draw the field for the checkpoint that the pages use.

    If the chosen checkpoint cannot be opened, the error is shown below the field, and the previous checkpoint stays
    open.
    """
    state = st.session_state
    with st.sidebar:
        name = url_fields.text(
            st.selectbox, t("checkpoint"), sessions.AUTO, key="checkpoint",
            options=[sessions.AUTO, *bertlab.find_shipped_checkpoints()], accept_new_options=True,
            help=_make_help() if is_used else t("checkpoint-not-used-here"), disabled=not is_used,
        )  # fmt: skip
        if (error := _try_to_open(name)) is None:
            state["opened"] = name
        else:
            frame.note(error_text(error), "error")
            # the page draws the name of the open checkpoint below this line
            st.html(f'<p class="small">{t("checkpoint-still-in-use")}</p>')


def _make_help() -> str:
    """Make the help of the checkpoint field in Markdown: what the field does, and what each checkpoint is for."""
    purposes = [(name, f"checkpoint-purpose-{name}") for name in (sessions.AUTO, *bertlab.find_shipped_checkpoints())]
    lines = [f"- {name}: {t(id)}" for name, id in purposes if id in list_message_ids()]
    return "\n".join([t("checkpoint-help"), "", *lines])


def _try_to_open(name: str) -> BertlabError | None:
    if name == sessions.AUTO:
        return None
    state = st.session_state
    try:
        checkpoint = sessions.find_checkpoint(name)
        # the same checkpoint is tried again only after its files change, because requests to the hub take time
        if checkpoint != state.get("sidebar.tried"):
            state["sidebar.error"] = None
            state["sidebar.tried"] = checkpoint
            sessions.open_session(checkpoint)
    except BertlabError as error:
        state["sidebar.error"] = error
    return state["sidebar.error"]

"""The frame of a page: the sidebar, its title, one-line notes, errors, progress bars, and the link at its end.

Text that a user typed is never rendered as Markdown. It is escaped as HTML, or drawn in a canvas or a figure.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from urllib.parse import quote, urlencode, urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import ScriptControlException

from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.config.crash_log import log_unexpected_error
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.languages import languages, list_message_ids, render
from bertlab.lessons import find_lesson
from bertlab.views.passage import escape_html
from bertlab.views.qr_code import qr_code
from bertlab_app import access, url
from bertlab_app.data import sessions
from bertlab_app.i18n import error_text, language, t
from bertlab_app.widgets import components, fields

PROGRESS_DELAY = 0.3  # seconds of work before a progress bar appears
HOST_COMMAND = "bertlab app --host 0.0.0.0"  # starts an app that other devices, such as phones, can reach


def heading(page: str) -> None:
    """Show the heading of a page, the introduction below it, and a folded explanation of what the page shows."""
    st.title(t(f"{page}-title"), anchor=False)
    st.html(_make_introduction(page, language()))


@cache
def _make_introduction(page: str, lang: str) -> str:
    """Make the text below a heading; the browser opens the folded part without running the script again."""

    def text(id: str, **values: object) -> str:
        return escape(render(id, lang, **values))

    lead = f'<p class="lead">{text(f"{page}-lead")}</p>'
    if f"{page}-about" not in list_message_ids():
        return lead
    title = find_lesson(page, lang)
    link = f'<p><a href="lessons?lang={lang}">{text("page-lesson", title=title)}</a></p>' if title else ""
    return (
        f'{lead}<details class="about"><summary>{text("page-about")}</summary><p>{text(f"{page}-about")}</p>'
        f"<p><b>{text('page-try')}</b> {text(f'{page}-try')}</p>{link}</details>"
    )


def note(text: str, kind: str = "info") -> None:
    """Show one line of plain text."""
    role = "alert" if kind == "error" else "status"
    markup = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape_html(text))
    st.html(f'<div class="note {kind}" role="{role}" dir="auto">{markup}</div>')


def note_with_command(text: str, command: str) -> None:
    """Show one line of plain text and, below it, a shell command that the user can copy."""
    note(text)
    st.code(command, language="bash", wrap_lines=True)


class NoSuitableCheckpoint(CheckpointError):
    """No installed checkpoint has the output layer that a page needs."""

    def __init__(self, command: str):
        super().__init__("checkpoint-missing-for-page", command=command)
        self.command = command


@contextmanager
def show_errors() -> Iterator[None]:
    """Show an error of the enclosed block as one line on the page, and continue after the block.

    An unexpected exception is written to the error log. The page shows the id of this log entry instead of a traceback.
    If memory runs out, the page says so, and nothing is logged.
    """
    try:
        yield
    except NoSuitableCheckpoint as error:
        note_with_command(error_text(error), error.command)
    except BertlabError as error:
        note(error_text(error), "error")
    except (ScriptControlException, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust library is not an `Exception`
        note(error_text(_log_unexpected(error)), "error")


def _log_unexpected(error: BaseException) -> BertlabError:
    if isinstance(error, MemoryError):
        return BertlabError("out-of-memory")
    logged = log_unexpected_error(error, f"page {st.session_state.get('url.page') or 'start'}")
    # the message does not name the log file, because visitors of a hosted app cannot open it
    return BertlabError("unexpected-error-on-page", id=logged.params.get("id", "–"))


def progress_bar(container, message: str) -> Callable[[Sequence], Iterator]:
    """Return a function that iterates over a sequence, and shows a progress bar during the iteration."""

    def iterate(parts: Sequence) -> Iterator:
        start = time.monotonic()
        for num_done, part in enumerate(parts):
            if time.monotonic() - start > PROGRESS_DELAY:
                share = num_done / len(parts)
                container.progress(share, t(message, done=num_done, of=len(parts), share=share))
            yield part
        container.empty()

    return iterate


def draw_language_and_undo() -> None:
    """Draw the choice of the interface language and the undo button."""
    # The undo button is enabled even if there is nothing to undo: after a change in a fragment of the page, the sidebar
    # is not drawn again, so the button could not be enabled then.
    with st.sidebar.container(horizontal=True, horizontal_alignment="distribute"):
        fields.choice(
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
        name = fields.text(
            st.selectbox, t("checkpoint"), sessions.AUTO, key="checkpoint",
            options=[sessions.AUTO, *find_shipped_checkpoints()], accept_new_options=True,
            help=_make_help() if is_used else t("checkpoint-not-used-here"), disabled=not is_used,
        )  # fmt: skip
        if (error := _try_to_open(name)) is None:
            state["opened"] = name
        else:
            note(error_text(error), "error")
            # the page draws the name of the open checkpoint below this line
            st.html(f'<p class="small">{t("checkpoint-still-in-use")}</p>')


def _make_help() -> str:
    """Make the help of the checkpoint field in Markdown: what the field does, and what each checkpoint is for."""
    purposes = [(name, f"checkpoint-purpose-{name}") for name in (sessions.AUTO, *find_shipped_checkpoints())]
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


def draw_link() -> None:
    """Draw the button that copies the address of the page, and the button that shows its QR code."""
    with st.container(key="link", horizontal=True, vertical_alignment="center"):
        components.draw_link_button()
        _draw_qr_code()
        if docs := components.find_docs(language()):
            st.html(f'<a class="small" href="{docs}" target="_blank">{escape(t("docs"))}</a>')


@st.fragment  # so that a click runs only this function again, not the whole page
def _draw_qr_code() -> None:
    """Draw the button that shows the QR code in a dialog."""
    if st.button(t("qr-code"), icon=":material/qr_code_2:", type="tertiary", key="qr-code"):
        st.dialog(t("qr-code"))(_show_qr_code)()


def _show_qr_code() -> None:
    """Show the QR code of the page's address, or a note that says why it cannot be made."""
    link = make_link(st.context.url or "", st.query_params.to_dict())
    try:
        st.html(f'<img class="qr-code" alt="{escape(t("qr-code-label"))}" src="{escape(qr_code(link))}">')
    except BertlabError as error:
        note(error_text(error))
        return
    if access.is_loopback(urlsplit(link).hostname or ""):
        note_with_command(t("qr-code-only-here"), HOST_COMMAND)
    else:
        st.caption(t("qr-code-lead"))


def make_link(address: str, parameters: dict[str, str]) -> str:
    """Make the link to a page from its address and its parameters.

    >>> make_link("http://localhost:8501/fill-mask", {"text": "a & b"}), make_link("http://localhost:8501/", {})
    ('http://localhost:8501/fill-mask?text=a%20%26%20b', 'http://localhost:8501/')
    """
    return f"{address}?{urlencode(parameters, quote_via=quote)}" if parameters else address

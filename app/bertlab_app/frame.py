"""The frame of a page: its title, one-line notes, errors, and progress bars.

Text that a user typed is never rendered as Markdown. It is escaped as HTML, or drawn in a canvas or a figure.
"""

import html
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import ScriptControlException

from bertlab.config.crash_log import log_unexpected_error
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.languages import list_message_ids
from bertlab.lessons import find_lesson
from bertlab.views.passage import escape_html
from bertlab_app.i18n import error_text, language, t

PROGRESS_DELAY = 0.3  # seconds of work before a progress bar appears


def heading(page: str) -> None:
    """Show the heading of a page, the introduction below it, and a folded explanation of what the page shows."""
    st.title(t(f"{page}-title"), anchor=False)
    lead = f'<p class="lead">{html.escape(t(f"{page}-lead"))}</p>'
    st.html(lead + (_make_about_html(page) if f"{page}-about" in list_message_ids() else ""))


def _make_about_html(page: str) -> str:
    """Make the folded explanation of a page; the browser opens it without running the script again."""
    about, suggestion = html.escape(t(f"{page}-about")), html.escape(t(f"{page}-try"))
    return (
        f'<details class="about"><summary>{html.escape(t("page-about"))}</summary>'
        f"<p>{about}</p><p><b>{html.escape(t('page-try'))}</b> {suggestion}</p>{_make_lesson_link(page)}</details>"
    )


def _make_lesson_link(page: str) -> str:
    """Make a link to the list of notebooks, with the title of the notebook that explains the page."""
    title = find_lesson(page, language())
    if title is None:
        return ""
    return f'<p><a href="lessons?lang={language()}">{html.escape(t("page-lesson", title=title))}</a></p>'


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
                container.progress(num_done / len(parts), t(message, done=num_done, of=len(parts)))
            yield part
        container.empty()

    return iterate

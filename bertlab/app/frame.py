"""The frame of a page: its title, one-line notes, errors, and progress bars.

Text that a user typed is never rendered as Markdown: it goes through `html.escape`, a canvas or a figure.
"""

import html
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner_utils.exceptions import ScriptControlException

from bertlab.app.i18n import error_text, t
from bertlab.config.crash_log import unexpected_error
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.views.passage import escape_html

PROGRESS_DELAY = 0.3  # seconds of work before a progress bar appears


def heading(page: str) -> None:
    """Show the title of a page and one sentence on what to do there."""
    st.title(t(f"{page}-title"), anchor=False)
    st.html(f'<p class="lead">{html.escape(t(f"{page}-lead"))}</p>')


def note(text: str, kind: str = "info") -> None:
    """Show one line of plain text.

    Args:
        text: the line; it is escaped, and text between backticks is shown as code.
        kind: "info" or "error".
    """
    role = "alert" if kind == "error" else "status"
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape_html(text))
    st.html(f'<div class="note {kind}" role="{role}" dir="auto">{shown}</div>')


def note_with_command(text: str, command: str) -> None:
    """Show one line and a shell command to copy, on a page that has nothing to draw yet."""
    note(text)
    st.code(command, language="bash", wrap_lines=True)


class NoSuitableCheckpoint(CheckpointError):
    """No installed checkpoint has the output layer that a page needs.

    Args:
        command: a shell command that trains one.
    """

    def __init__(self, command: str):
        super().__init__("checkpoint-missing-for-page", command=command)
        self.command = command


@contextmanager
def show_errors() -> Iterator[None]:
    """Show an error of the enclosed block as one line on the page, and continue after the block.

    An unexpected exception is written to the error log; the page shows its id, never a stack.
    """
    try:
        yield
    except NoSuitableCheckpoint as error:
        note_with_command(error_text(error), error.command)
    except BertlabError as error:
        note(error_text(error), "error")
    except (ScriptControlException, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the last resort: a panic of a Rust library is not an Exception
        note(error_text(_unexpected(error)), "error")


def _unexpected(error: BaseException) -> BertlabError:
    if isinstance(error, MemoryError):
        return BertlabError("out-of-memory")
    logged = unexpected_error(error, f"page {st.session_state.get('url.page') or 'start'}")
    # the path of the log is left out, because a user of a hosted app cannot open it
    return BertlabError("unexpected-error-on-page", id=logged.params.get("id", "–"))


def progress_bar(place, message: str) -> Callable[[Sequence], Iterator]:
    """Return a wrapper that shows a progress bar while its parts are iterated.

    Args:
        place: the Streamlit element to draw in; it is emptied at the end.
        message: id of the text beside the bar, with the parameters `done` and `of`.
    """

    def iterate(parts: Sequence) -> Iterator:
        start = time.monotonic()
        for number, part in enumerate(parts):
            if time.monotonic() - start > PROGRESS_DELAY:
                place.progress(number / len(parts), t(message, done=number, of=len(parts)))
            yield part
        place.empty()

    return iterate

"""The frame of a page: its title, one-line notes, errors, and progress bars.

Text that a user typed is never rendered as Markdown: it goes through `html.escape`, a canvas or a figure.
"""

import html
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from bertlab.app.data.sessions import AUTO
from bertlab.app.i18n import error_text, t
from bertlab.config.errors import BertlabError, CheckpointError, MissingHead
from bertlab.views.passage import plain

PROGRESS_DELAY = 0.3  # seconds of work before a progress bar appears


def heading(page: str) -> None:
    """Show the title of a page and one sentence on what to do there."""
    st.title(t(f"{page}-title"), anchor=False)
    st.html(f'<p class="lead">{html.escape(t(f"{page}-lead"))}</p>')


def note(text: str, kind: str = "info") -> None:
    """Show one line of plain text.

    Args:
        text: the line; it is escaped.
        kind: "info" or "error".
    """
    role = "alert" if kind == "error" else "status"
    st.html(f'<div class="note {kind}" role="{role}" dir="auto">{plain(text)}</div>')


def note_with_command(text: str, command: str) -> None:
    """Show one line and a shell command to copy, on a page that has nothing to draw yet."""
    note(text)
    st.code(command, language="bash", wrap_lines=True)


class NoSuitableCheckpoint(CheckpointError):
    """No shipped checkpoint can do what a page needs.

    Args:
        command: a shell command that trains one.
    """

    def __init__(self, command: str):
        super().__init__("checkpoint-make", command=command)
        self.command = command


@contextmanager
def show_errors() -> Iterator[None]:
    """Show a `BertlabError` of the enclosed block as one line on the page, and continue after the block."""
    try:
        yield
    except NoSuitableCheckpoint as error:
        note_with_command(error_text(error), error.command)
    except BertlabError as error:
        note(error_text(error), "error")
        if isinstance(error, MissingHead):
            st.button(t("open-instead"), on_click=st.session_state.update, args=({"checkpoint": AUTO},))


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

"""Components that run in the browser: bertlab's own views, and the small ones of `static/`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import streamlit as st

from bertlab.app import url
from bertlab.app.data import sessions
from bertlab.app.i18n import language, t
from bertlab.text.word_spans import MASK
from bertlab.text.word_spans import words as find_words
from bertlab.views import assets, export, figures
from bertlab.views.palette import PALETTE

STATIC = Path(__file__).parent / "static"


def page_style() -> None:
    """Apply the style sheet of the app; the palette's colours are CSS variables in it."""
    colours = " ".join(f"--bertlab-{name}: {PALETTE[name]};" for name in ("blue", "orange"))
    css = (STATIC / "app.css").read_text(encoding="utf-8")
    sheet = f"<style>:root {{ {colours} }}\n{css}</style>"
    st.html(sheet)


def canvas(view: str, payload: bytes) -> None:
    """Draw one of bertlab's canvas views; its settings are stored in the address.

    Args:
        view: a name of `bertlab.views.assets.View`.
        payload: what `bertlab.views.payload` packs for this view.
    """

    def changed() -> None:
        state = st.session_state[view].get("state")
        if isinstance(state, dict):
            url.store_view_state(url.view_state() | state)

    url.store_view_state(url.view_state())
    _view(view)(key=view, data=payload, on_state_change=changed)
    url.write_address()


def canvas_options() -> dict:
    """Options of a canvas view beside its data: interface language and the initial state."""
    return {"lang": language(), "state": url.initial_view_state()}


def words(text: str, hidden: set[int], *, on_click: Callable[[int], None]) -> None:
    """Draw a text as words to click.

    Args:
        hidden: the numbers of the words that are drawn as masked.
        on_click: called with the number of the word.
    """
    parts, place = [], 0
    for number, (start, end) in enumerate(find_words(text)):
        word = text[start:end]
        masked = number in hidden or word == MASK
        parts.append({"before": text[place:start], "word": word, "hidden": masked, "mark": not word.isalnum()})
        place = end

    def clicked() -> None:
        number = st.session_state["words"].get("clicked")
        if isinstance(number, int) and 0 <= number < len(parts):
            on_click(number)

    _component("words")(key="words", data={"words": parts, "after": text[place:]}, on_clicked_change=clicked)


def arcs(picture: dict) -> None:
    """Draw the result of `bertlab.app.parts.preview.arcs`."""
    words = {word["x"]: word["text"] for word in picture["words"]}
    data = {end: [words[arc[end]] for arc in picture["arcs"]] for end in ("from", "to")}
    data |= {name: [arc[name] for arc in picture["arcs"]] for name in ("head", "weight")}
    with save_menu("arcs", data=data):
        _component("arcs")(key="arcs", data=picture | {"colours": [*figures.COLOURS, figures.GREY]})


def head_grid(data: dict, on_change: Callable[[str], None]) -> None:
    """Draw the grid of heads of head surgery (`static/heads.js`).

    Args:
        on_change: called after a click with the changes to the heads, as one line of text.
    """

    def changed() -> None:
        line = st.session_state["heads-grid"].get("log")
        if isinstance(line, str) and len(line) < 10_000:
            on_change(line)

    _component("heads")(key="heads-grid", data=data, on_log_change=changed)


@contextmanager
def save_menu(
    key: str, *, data: export.Columns | None = None, code: str = "", subject: dict[str, str] | None = None
) -> Iterator[None]:
    """Draw the enclosed Plotly chart or SVG with a menu below it that saves it.

    Args:
        data: the columns of the CSV file.
        code: Python lines that reproduce the figure.
        subject: columns that every row of the CSV file gets; None for the checkpoint and texts of the latest query.
    """
    if subject is None:
        subject = sessions.subject() if code else {}
    with st.container(key=f"figure-{key}", gap="xsmall"):
        yield
        page = st.session_state["url.page"] or "start"
        about = {"name": f"{page}-{key}", "title": t(page), "lang": language(), "frame": f".st-key-figure-{key}"}
        saved = {"columns": data and export.tidy(data), "code": code, "subject": subject}
        _view("figure")(key=f"save-{key}", data=about | saved)


def scroll_to_answer(key: str) -> None:
    """Keep the best answer of a long passage in view. Call it in the container of the passage.

    Args:
        key: the key of the component, unique on its page.
    """
    with st.container(key=f"scroll-{key}"):
        _component("scroll")(key=f"scroll-to-{key}")


def html_button(page: Callable[[], str], name: str) -> None:
    """A button that saves a view as one offline HTML file.

    Args:
        page: returns the HTML of the file; called when the button is clicked.
        name: the file's name.
    """
    st.download_button(t("download-html"), page, name, "text/html", on_click="ignore", icon=":material/download:")


@cache
def _component(name: str):
    css, js = ((STATIC / f"{name}.{suffix}").read_text(encoding="utf-8") for suffix in ("css", "js"))
    return st.components.v2.component(f"bertlab_{name}", html=f'<div class="{name}"></div>', css=css, js=js)


@cache
def _view(view: str):
    return st.components.v2.component(f"bertlab_{view}", css=assets.css(), js=assets.streamlit_js(view))

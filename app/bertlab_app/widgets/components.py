"""Components that run in the browser: the canvas views of `bertlab.views`, and the small components in `static/`."""

import json
import re
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import plotly
import streamlit as st
from streamlit.components.v1 import declare_component

from bertlab.checkpoints.assets import REPOSITORY
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.word_spans import MASK, find_words
from bertlab.views import assets, export, figures
from bertlab.views.palette import PALETTE
from bertlab_app import url, view_state
from bertlab_app.i18n import language, t
from bertlab_app.registry import menu

STATIC = Path(__file__).parents[1] / "static"  # the folder of the style sheets, scripts and icons


def apply_style() -> None:
    """Apply the style sheet of the app, with the colours of the palette and the size of the menu as CSS variables.

    For rules that depend on what the page shows, see `apply_further_style`.
    """
    colours = " ".join(f"--bertlab-{name}: {PALETTE[name]};" for name in ("blue", "orange"))
    sections = menu()
    headings = len([section for section in sections if section])
    links = sum(page.is_in_menu for pages in sections.values() for page in pages)
    menu_size = f"--bertlab-menu-links: {links}; --bertlab-menu-headings: {headings};"
    css = (STATIC / "app.css").read_text(encoding="utf-8")
    sheet = f"<style>:root {{ {colours} {menu_size} }}\n{css}</style>"
    st.html(sheet)


def translate_upload_fields() -> None:
    """Define the texts of upload fields, which Streamlit has in English only, as CSS variables for `app.css`."""
    types = ", ".join(suffix.upper() for suffix in upload_suffixes())
    texts = {"upload": t("upload-button"), "upload-limits": t("upload-limits", types=types)}
    variables = [f"--bertlab-{name}: {json.dumps(text, ensure_ascii=False)};" for name, text in texts.items()]
    sheet = f"<style>:root {{ {' '.join(variables)} }}</style>"
    st.html(sheet)


def apply_further_style(name: str) -> None:
    """Apply a style sheet of `static/` in this run of the page. In runs without this call, it does not apply.

    Such a sheet changes the surroundings of a part of the page while that part is shown. Rules with `:has()` would do
    the same, but the browser would check them after every change of any page.
    """
    sheet = STATIC / f"{name}.css"
    st.html(sheet)


def draw_canvas(view: str, payload: bytes) -> None:
    """Draw a canvas view, and store its settings in the address."""

    def store_state() -> None:
        state = st.session_state[view].get("state")
        if isinstance(state, dict):
            view_state.store(view_state.read() | state)

    view_state.store(view_state.read())
    _mount(_view(view), view, payload, on_state_change=store_state)
    url.write_address()


def canvas_options() -> dict:
    """Return the options that every canvas view receives: the interface language and the initial state."""
    return {"lang": language(), "state": view_state.initial_settings()}


def draw_words(text: str, masked_indices: set[int], *, on_click: Callable[[int], None]) -> None:
    """Draw a text as a row of words that can be clicked."""
    words = []
    for index, (start, end) in enumerate(find_words(text)):
        word = text[start:end]
        is_masked = index in masked_indices or word == MASK
        words.append({"start": start, "end": end, "masked": is_masked, "punctuation": not word.isalnum()})
    _draw_clickable_words("words", "words", text, words, on_click)


def draw_scored_words(
    text: str, words: list[dict], chosen_index: int | None, *, on_click: Callable[[int], None]
) -> None:
    """Draw a text whose words are shaded and underlined, and can be clicked.

    Args:
        words: for each word, "start" and "end", its "strength" from 0 to 1, whether it is a "misfit", and its "title".
    """
    _draw_clickable_words("writing", "writing-words", text, words, on_click, chosen=chosen_index)


def _draw_clickable_words(
    component: str, key: str, text: str, words: list[dict], on_click: Callable[[int], None], **data
) -> None:
    starts = [0, *(word["end"] for word in words)]  # where the text before each word, and after the last one, starts
    parts = [
        {"before": text[start : word["start"]], "word": text[word["start"] : word["end"]]}
        | {name: value for name, value in word.items() if name not in ("start", "end")}
        for start, word in zip(starts, words, strict=False)
    ]

    def report_click() -> None:
        index = st.session_state[key].get("clicked")
        if isinstance(index, int) and 0 <= index < len(parts):
            on_click(index)

    data |= {"words": parts, "after": text[starts[-1] :]}
    _mount(_component(component), key, data, on_clicked_change=report_click)


def draw_arcs(picture: dict) -> None:
    """Draw attention as arcs over a sentence, with a menu that saves the drawing."""
    texts = {word["x"]: word["text"] for word in picture["words"]}
    data = {end: [texts[arc[end]] for arc in picture["arcs"]] for end in ("from", "to")}
    data |= {name: [arc[name] for arc in picture["arcs"]] for name in ("head", "weight")}
    with menu_for_saving("arcs", data=export.tidy(data)):
        _mount(_component("arcs"), "arcs", picture | {"colours": [*figures.COLOURS, figures.GREY]})


def draw_plot(
    key: str,
    figure: str,
    on_click: Callable[[list], None] | None = None,
    on_selection: Callable[[list], None] | None = None,
) -> None:
    """Draw a Plotly figure.

    A changed figure is redrawn in place; `st.plotly_chart` would build a new chart and draw it twice.
    """

    def report_click() -> None:
        customdata = st.session_state[key].get("clicked")
        if isinstance(customdata, list):
            on_click(customdata)

    def report_selection() -> None:
        points = st.session_state[key].get("selected")
        if isinstance(points, list) and points:
            on_selection(points)

    data = {
        "figure": json.loads(figure), "clickable": on_click is not None,
        "selectable": on_selection is not None, "script": _plotly_file(),
    }  # fmt: skip
    callbacks = {"on_clicked_change": report_click} if on_click else {}
    callbacks |= {"on_selected_change": report_selection} if on_selection else {}
    _mount(_component("plot", isolate_styles=False), key, data, **callbacks)


def draw_head_grid(data: dict, on_change: Callable[[str], None]) -> None:
    """Draw the grid of attention heads on the page Head surgery."""

    def report_changes() -> None:
        line = st.session_state["heads-grid"].get("line")
        if isinstance(line, str) and len(line) < 10_000:
            on_change(line)

    _mount(_component("heads"), "heads-grid", data, on_line_change=report_changes)


@contextmanager
def menu_for_saving(
    key: str, *, data: export.Columns | None = None, code: str = "", extra_columns: dict[str, str] | None = None
) -> Iterator[None]:
    """Draw the enclosed block, and below it a menu that saves the block's Plotly chart or SVG, or copies `code`."""
    if extra_columns is None:
        extra_columns = st.session_state.get("figures.request", {}) if code else {}
    with st.container(key=f"figure-{key}", gap="xsmall"):
        yield
        page = st.session_state["url.page"] or "start"
        description = {"name": f"{page}-{key}", "title": t(page), "lang": language(), "frame": f".st-key-figure-{key}"}
        content = {"columns": data, "code": code, "subject": extra_columns}
        _mount(_view("figure"), f"save-{key}", description | content)


def scroll_to_answer(key: str) -> None:
    """Scroll to the best answer of a long passage whenever it is drawn. Call this in the passage's container."""
    with st.container(key=f"scroll-{key}"):
        _mount(_component("scroll"), f"scroll-to-{key}")


def draw_link_button() -> None:
    """Draw a button that copies the address of the page."""
    texts = {"label": t("copy-link"), "copied": t("copy-link-copied")}
    _mount(_component("link"), "copy-link", texts, width="content")


def draw_html_button(make_html: Callable[[], str], name: str) -> None:
    """Draw a button that saves a view as one offline HTML file."""
    st.download_button(t("download-html"), make_html, name, "text/html", on_click="ignore", icon=":material/download:")


def draw_model_html_button(make_html: Callable[[], str], name: str) -> None:
    """Draw a button that saves one HTML file in which the model of a checkpoint predicts in the browser."""
    st.download_button(
        t("download-live"), make_html, name, "text/html", on_click="ignore", icon=":material/deployed_code:",
        help=t("download-live-help"),
    )  # fmt: skip


def set_cookie(name: str, value: str) -> None:
    """Store a value in a cookie of the visitor's browser for a day."""
    _mount(_component("cookie"), f"cookie-{name}", {"name": name, "value": value})


def merge_history_entries() -> None:
    """Make one entry in the browser's history instead of two when a link opens a page and fills its fields.

    Steps of lessons open pages in this way.
    """
    _mount(_component("history"), "history")


def rerun_on_classroom_change(shown_state: str, *, is_teacher: bool) -> None:
    """Run the enclosing fragment again whenever the state of the school class has changed.

    The browser asks the server for changes by itself, without a run of the script. A student's browser first shows the
    text of a new step in the panel of the lesson, which is the enclosing fragment, and then runs the fragment.
    """
    # the first word of the state identifies the step and the phase, the second one counts students and guesses
    num_parts = 2 if is_teacher else 1
    compared_state = " ".join(shown_state.split(" ")[:num_parts])
    data = {"seen": compared_state, "parts": num_parts, "lang": "" if is_teacher else language()}
    with st.container(key="class-news"):
        # the callback does nothing: a new value of `news` is enough to make Streamlit run the fragment
        _mount(_component("news", isolate_styles=False), "class-news-asked", data, on_news_change=lambda: None)


@cache
def _plotly_file() -> str:
    """Make the server serve the folder of Plotly's script."""
    folder = Path(plotly.__file__).parent / "package_data"
    return f"component/{declare_component('plotly', path=folder).name}/plotly.min.js"


@cache
def find_docs(code: str) -> str:
    """Make the server serve the documentation; "" if `make docs` has not built it.

    Returns:
        The address of its first page in a language, relative to the app.
    """
    site = REPOSITORY / "site"
    if not (site / "index.html").is_file():
        return ""
    folder = f"{code}/" if (site / code).is_dir() else ""  # the default language has no folder of its own
    return f"component/{declare_component('docs', path=site).name}/{folder}index.html"


def _mount(component: Callable, key: str, data: dict | bytes | None = None, **options) -> None:
    """Draw a component with a stamp on its data, by which `static/newest.js` ignores data that arrive too late."""
    if data is not None:
        stamps = st.session_state.setdefault("components.stamps", {})
        fingerprint = hash(data if isinstance(data, bytes) else json.dumps(data))
        previous_fingerprint, previous_time = stamps.get(key, (None, 0.0))
        if fingerprint != previous_fingerprint:
            # later than the previous time even if the clock was set back
            stamps[key] = (fingerprint, max(time.time(), previous_time + 0.001))
        key_hash, changed_at = zlib.crc32(key.encode()), stamps[key][1]
        if isinstance(data, bytes):
            data += struct.pack("<Id", key_hash, changed_at)
        else:
            data = data | {"stamp": {"key": key_hash, "time": changed_at}}
    component(key=key, data=data, **options)


@cache
def _component(name: str, *, isolate_styles: bool = True):
    """Register a component of `static/`."""
    css, js = ((STATIC / f"{name}.{suffix}").read_text(encoding="utf-8") for suffix in ("css", "js"))
    html, js = f'<div class="{name}"></div>', _ignore_late_data(js)
    return st.components.v2.component(f"bertlab_{name}", html=html, css=css, js=js, isolate_styles=isolate_styles)


@cache
def _view(view: str):
    """Register a canvas view of `bertlab.views`, or the menu "figure", which saves any figure."""
    return st.components.v2.component(
        f"bertlab_{view}", css=assets.css(), js=_ignore_late_data(assets.bundle_for_host(view, "streamlit"))
    )


def _ignore_late_data(script: str) -> str:
    """Append `static/newest.js`, which reads the stamps of `_mount`, to the script of a component."""
    script = re.sub(r"^export default (async )?function \(", r"\1function drawComponent(", script, flags=re.MULTILINE)
    return script + (STATIC / "newest.js").read_text(encoding="utf-8")

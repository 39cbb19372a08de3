"""The pieces the pages are built of. Knows no model.

Whatever a user typed is drawn as text: it goes through `html.escape`, a canvas or a figure, never into Markdown.
"""

import html
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from bertlab.app import loaders, url
from bertlab.app.examples import Examples
from bertlab.app.examples import examples as examples_in
from bertlab.app.i18n import error_text, language, t
from bertlab.app.numbers import NUMBERS
from bertlab.app.pages import script
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError, MissingHead
from bertlab.config.languages import DEFAULT
from bertlab.explore.session import Session
from bertlab.explore.word_spans import MASK
from bertlab.explore.word_spans import words as find_words
from bertlab.views import assets, export
from bertlab.views.passage import plain

STATIC = Path(__file__).parent / "static"
MAKING = {"classify": "sst2", "tag": "wikiann_en"}  # what is asked -> the task to fine-tune on where none is shipped
TAU = 30.0  # thresholds of "no answer" go from -30 to 30
PATIENCE = 0.3  # seconds of work after which a bar says how far it is
FIELD = 150  # pixels for a number: two stand side by side on a telephone
LIVE = "120ms"  # a field is read when its typist pauses this long
# Plotly's own theme sets a font of its own; this is Streamlit's, then what has Hangul.
FONT = "'Source Sans', 'Noto Sans KR', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"


# -- the frame of a page ---------------------------------------------------------------------------------------


def heading(page: str) -> None:
    """The title of a page and one sentence on what to do there."""
    st.title(t(f"{page}-title"), anchor=False)
    st.html(f'<p class="lead">{html.escape(t(f"{page}-lead"))}</p>')


def note(text: str, kind: str = "info") -> None:
    """One line for the user, as plain text. kind: info or error."""
    role = "alert" if kind == "error" else "status"
    st.html(f'<div class="note {kind}" role="{role}" dir="auto">{plain(text)}</div>')


def teach(text: str, command: str) -> None:
    """What to do about a page that has nothing to show yet: one line, and a command to copy."""
    note(text)
    st.code(command, language="bash", wrap_lines=True)


class NothingFits(CheckpointError):
    """No shipped checkpoint suits this page; `command` makes one."""

    def __init__(self, command: str):
        super().__init__(command)
        self.command = command


@contextmanager
def told() -> Iterator[None]:
    """Show a user's mistake where the user is, as its one line, and go on with the page."""
    try:
        yield
    except NothingFits as error:
        teach(t("checkpoint-make"), error.command)
    except BertlabError as error:
        note(error_text(error), "error")
        if isinstance(error, MissingHead):
            st.button(t("open-instead"), on_click=st.session_state.update, args=({"checkpoint": loaders.AUTO},))


def steps(place, said: str) -> Callable[[Sequence], Iterator]:
    """What wraps the parts of long work: where it takes a while, a bar in this place says how far it is.

    said: the name of its line, with {done} and {of}.
    """

    def wrapped(parts: Sequence) -> Iterator:
        began = time.monotonic()
        for number, part in enumerate(parts):
            if time.monotonic() - began > PATIENCE:
                place.progress(number / len(parts), t(said, done=number, of=len(parts)))
            yield part
        place.empty()

    return wrapped


def chosen(task: str) -> loaders.Checkpoint:
    """Open what this page reads (picked in the sidebar, or what suits the task) and say there what it is.

    Raises:
        CheckpointError: it cannot be opened any more, or none is there.
    """
    checkpoint = _picked(task)
    session = loaders.session(checkpoint)
    st.sidebar.html(f'<p class="small"><b>{plain(os.path.basename(session.name))}</b><br>{size(session.config)}</p>')
    return checkpoint


def said(task: str) -> Examples:
    """Examples in the language of what this page opens; English while that cannot be opened."""
    session = reader(task)
    return examples_in(session.language if session else DEFAULT)


def reader(task: str) -> Session | None:
    """What this page opens, for what stands above its answer; None while it cannot be opened."""
    with suppress(BertlabError):
        return loaders.session(_picked(task))
    return None


def compares(checkpoint: loaders.Checkpoint, task: str) -> bool:
    """Whether it answers this of two texts only: it was taught pairs, and says of one text what means nothing."""
    return task == "classify" and loaders.session(checkpoint).texts == 2


def _picked(task: str) -> loaders.Checkpoint:
    picked = st.session_state.get("opened", loaders.AUTO)
    if picked != loaders.AUTO:
        return loaders.checkpoint(picked)
    try:
        return loaders.fitting(task, language())
    except CheckpointError as error:
        if task not in MAKING:
            raise
        name = MAKING[task]
        raise NothingFits(f"bertlab finetune {name} --from strongest --out runs/{name}") from error


def size(config: ModelConfig) -> str:
    """How large a model is, in words."""
    return t("checkpoint-size", layers=config.num_layers, heads=config.num_heads, hidden=config.hidden_size)


def options() -> dict:
    """What a canvas is told beside its data."""
    return {"lang": language(), "state": url.arrived()}


# -- fields and figures ----------------------------------------------------------------------------------------


def line(place, label: str, default: str, *, key: str, **settings) -> str:
    """A line of text in a place (`st` or a column), read as it is typed."""
    value = url.text(place.text_input, label, default, key=key, live=LIVE, **settings)
    too_long_for_a_link(place, value)
    return value


def choice(widget: Callable, label: str, named: dict[str, str], key: str, **settings) -> str:
    """A choice of names by what they are called. The names may change under it, as with another file: one that is gone
    gives way to the first."""
    options = list(named)
    if st.session_state.get(key, options[0]) not in options:
        del st.session_state[key]
    return url.choice(widget, label, options, key=key, format_func=named.get, **settings)


def column(place, label: str, first: str, names: Sequence[str], key: str) -> str:
    """A choice of a column of a table. first: what is guessed, "" for none."""
    return choice(place.selectbox, label, {name: name or t("column-none") for name in (first, *names)}, key)


def position(place, label: str, pieces: Sequence[str], default: int, *, key: str) -> int:
    """Choose a position of a text by its piece."""
    numbers = range(len(pieces))
    return url.among(place.selectbox, label, numbers, default, key=key, format_func=lambda at: f"{at} · {pieces[at]}")


def too_long_for_a_link(place, text: str) -> None:
    """Say so under a text that the address leaves out."""
    if len(text) > url.LONGEST:
        place.caption(t("long-link"))


def sentences(first: str, second: str) -> tuple[str, str]:
    """Two text fields, A and B, read as they are typed and shared by the pages that take a pair."""
    left, right = st.columns(2)
    a = line(left, t("sentence-a"), first, key="a")
    b = line(right, t("sentence-b"), second, key="b", placeholder=t("sentence-b-empty"))
    return a, b


def layer_and_head(config: ModelConfig, default: tuple[int, int] = (0, 0), of: str = "") -> tuple[int, int]:
    """Two number fields, counted from zero as in the pictures. of: empty for those shared with the attention views."""
    with st.container(horizontal=True):
        counts = {"layer": config.num_layers, "head": config.num_heads}
        layer, head = (
            url.number(
                st.number_input, t(part), 0, count - 1, default[at], key=f"neuron.{of}{part}", name=f"{of}{part}",
                width=FIELD,
            )
            for at, (part, count) in enumerate(counts.items())
        )  # fmt: skip
    return layer, head


def threshold(place, checkpoint: loaders.Checkpoint) -> float:
    """The slider of tau, shared by the pages that ask questions; it starts at the checkpoint's own, or else at 0."""
    own = loaders.session(checkpoint).loaded.null_threshold or 0.0
    tuned = round(min(max(own, -TAU), TAU), 1)
    return url.number(place.slider, t("tau"), -TAU, TAU, tuned, key="tau", step=0.1, format="%.1f", help=t("tau-help"))


def explain(*keys: str) -> None:
    """Numbers by name; a click on one shows its formula, how to read it, and where it comes from.

    keys: rows of `app/numbers.py`; KeyError for any other.
    """
    with st.container(horizontal=True, gap="small"):
        for key in keys:
            number(t(f"number-{key}"), key)


def number(shown: str, key: str) -> None:
    """A number as it is read ("73%"), or its name; a click on it shows what it means. shown: nothing a user typed."""
    with st.popover(shown, icon=":material/function:", type="tertiary"):
        row = NUMBERS[key]
        st.latex(row.formula)
        st.markdown(t(f"number-{key}-reading"))
        st.caption(f"{t('number-source')}: [{row.source}]({row.link})")


def shown(number: float | None, form: str) -> str:
    """A number as a table shows it; a dash where there is none."""
    return "–" if number is None else format(number, form)


def table(columns: dict[str, list[str]]) -> None:
    """A few rows, all of them in sight: on a telephone each is a block under its first column. {name: texts}."""
    names = [_breakable(name) for name in columns]
    rows = [[_breakable(text) for text in row] for row in zip(*columns.values(), strict=True)]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row" dir="auto">{first}</th>'
        + "".join(f"<td><span>{name}</span>{text}</td>" for name, text in zip(names[1:], rest, strict=True))
        + "</tr>"
        for first, *rest in rows
    )
    made = f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    st.html(f'<div class="rows-room">{made}</div>')


def _breakable(text: str) -> str:
    """A text as it is drawn, which may go on in another line after the / of a path and the _ of a name."""
    return re.sub(r"(?<=\w[/_])(?=\w\w)", "<wbr>", plain(text))


def figure(
    drawing: go.Figure,
    key: str,
    *,
    code: str = "",
    data: export.Columns | None = None,
    on_click: Callable[[list], None] | None = None,
) -> None:
    """A Plotly figure in this window's type; its ink is the theme's, by `static/app.css`. Below it a menu saves it as
    SVG, PNG, CSV, Python lines or one offline page.

    Args:
        code: what `lines` gives; it has to run and to draw this figure (tests/test_export.py runs it).
        data: the numbers for the CSV, {column: values}; without them the browser takes those that Plotly drew.
        on_click: gets the customdata of a mark that is clicked.
    """

    def clicked() -> None:
        for point in st.session_state[key].selection.points[:1]:
            on_click(point["customdata"])

    drawing.update_layout(font={"family": FONT, "size": 15})
    with saved(key, data=data, code=code):
        listening = {"on_select": clicked, "selection_mode": "points"} if on_click else {}
        st.plotly_chart(drawing, key=key, theme=None, config={"displayModeBar": False}, **listening)


def into_attention(checkpoint: loaders.Checkpoint, first: str, second: str = "", **picture) -> None:
    """Go to the attention page with these texts, this checkpoint, and what is given of `url.PICTURE` set in it."""
    for name, value in {"a": first, "b": second, "checkpoint": loaders.short_name(checkpoint), "look": "heads"}.items():
        url.keep(name, value)
    url.keep_picture(url.PICTURE | picture)
    st.switch_page(script("attention"))


def lines(checkpoint: loaders.Checkpoint | None, *steps: str) -> str:
    """Python lines that draw a figure again: `session` and `figures` are there, the last step says `figure = ...`.

    Write what was typed with `!r`: `f"figure = figures.nsp_gauge(session.next_sentence({first!r}, {second!r}))"`.
    Steps that begin with "import" or "from" go to the top. checkpoint: None where none is needed.
    """
    return export.python_lines(loaders.short_name(checkpoint) if checkpoint else "", steps)


@contextmanager
def saved(key: str, *, data: export.Columns | None = None, code: str = "") -> Iterator[None]:
    """Around a drawing (a Plotly chart or an SVG): a frame with the save menu under it."""
    with st.container(key=f"figure-{key}", gap="xsmall"):
        yield
        page = st.session_state["url.page"] or "start"
        about = {"name": f"{page}-{key}", "title": t(page), "lang": language(), "frame": f".st-key-figure-{key}"}
        _canvas("figure")(key=f"save-{key}", data=about | {"columns": data and export.tidy(data), "code": code})


# -- components in the browser ---------------------------------------------------------------------------------


@cache
def _own(name: str):
    css, js = ((STATIC / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return st.components.v2.component(f"bertlab_{name}", html=f'<div class="{name}"></div>', css=css, js=js)


@cache
def _canvas(view: str):
    return st.components.v2.component(f"bertlab_{view}", css=assets.css(), js=assets.streamlit_js(view))


def words(text: str, hidden: set[int], *, on_click: Callable[[int], None]) -> None:
    """A text as words to click, some of them hidden; on_click gets the number of the word."""
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

    _own("words")(key="words", data={"words": parts, "after": text[place:]}, on_clicked_change=clicked)


def own(name: str, *, key: str, data: dict, **changes: Callable[[], None]) -> None:
    """A component of this window's own: `static/NAME.js` and `.css`. changes: `on_X_change` for what it reports."""
    _own(name)(key=key, data=data, **changes)


def arcs(picture: dict) -> None:
    """The drawing of `app.parts.preview`."""
    words = {word["x"]: word["text"] for word in picture["words"]}
    data = {end: [words[arc[end]] for arc in picture["arcs"]] for end in ("from", "to")}
    data |= {name: [arc[name] for arc in picture["arcs"]] for name in ("head", "weight")}
    with saved("arcs", data=data):
        _own("arcs")(key="arcs", data=picture)


def page_button(page: Callable[[], str], name: str) -> None:
    """A button that saves what `page` makes, once it is clicked, as one HTML file."""
    st.download_button(t("download-html"), page, name, "text/html", on_click="ignore", icon=":material/download:")


def canvas(view: str, payload: bytes) -> None:
    """One of bertlab's own views, drawn from bytes; what its reader sets in it goes to the URL."""

    def changed() -> None:
        state = st.session_state[view].get("state")
        if isinstance(state, dict):
            url.keep_picture(url.picture() | state)

    url.keep_picture(url.picture())
    _canvas(view)(key=view, data=payload, on_state_change=changed)
    url.write()

"""Explanations of the values on a page, sentences about the figures of the page, and small tables."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from bertlab.views.passage import escape_html
from bertlab_app.i18n import t
from bertlab_app.widgets.sentences import Quote, Sentence


@dataclass(frozen=True)
class Number:
    """The formula (in KaTeX) and the source of a value that the app shows."""

    formula: str
    source: str
    link: str  # the URL of the source


_TABLE = tomllib.loads(Path(__file__).parents[1].joinpath("explanations.toml").read_text(encoding="utf-8"))
NUMBERS = {key: Number(**row) for key, row in _TABLE.items()}


def explain(*keys: str) -> None:
    """Show the names of some values of the page. A click on a name opens its formula, explanation and source."""
    with st.container(horizontal=True, gap="small"):
        for key in keys:
            with st.popover(t(f"number-{key}"), icon=":material/function:", type="tertiary"):
                number = NUMBERS[key]
                source = f":gray[:small[{t('number-source')}: [{number.source}]({number.link})]]"
                # This is one element instead of three, because a page sends up to ten explanations with every change.
                st.markdown("\n\n".join((f"$$\n{number.formula}\n$$", t(f"number-{key}-explanation"), source)))


def sentence(content: Sentence | None) -> None:
    """Show a sentence about a figure; None shows nothing."""
    if content is None:
        return
    values = {
        name: f"<b>{escape_html(value)}</b>" if isinstance(value, Quote)
        else escape_html(value) if isinstance(value, str) else value
        for name, value in content.values.items()
    }  # fmt: skip
    st.html(f'<p class="small" dir="auto">{t(content.id, **values)}</p>')


def format_or_dash(number: float | None, spec: str) -> str:
    """Format a number by a format specification such as ".1f", or return a dash if it is None."""
    return "–" if number is None else format(number, spec)


def table(columns: dict[str, list[str]]) -> None:
    """Draw a small table that does not scroll. On a narrow screen each row becomes a block below its first cell."""
    names = [_make_breakable(name) for name in columns]
    rows = [[_make_breakable(text) for text in row] for row in zip(*columns.values(), strict=True)]
    header = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row" dir="auto">{first_cell}</th>'
        + "".join(f"<td><span>{name}</span>{text}</td>" for name, text in zip(names[1:], other_cells, strict=True))
        + "</tr>"
        for first_cell, *other_cells in rows
    )
    markup = f'<table class="rows"><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>'
    st.html(f'<div class="rows-frame">{markup}</div>')


def _make_breakable(text: str) -> str:
    """Escape a text, and allow line breaks after the "/" of a path and the "_" of a name."""
    return re.sub(r"(?<=\w[/_])(?=\w\w)", "<wbr>", escape_html(text))


def escape_markdown(text: str) -> str:
    """Escape the characters that have a meaning in Markdown, for the label of a button."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>()#+-.!|~$:" else letter for letter in text)

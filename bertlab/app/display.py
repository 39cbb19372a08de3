"""Numbers with their explanation, and small tables."""

import re

import streamlit as st

from bertlab.app.i18n import t
from bertlab.app.numbers import NUMBERS
from bertlab.views.passage import escape_html


def explain(*keys: str) -> None:
    """Show the names of numbers; a click on one opens its formula, its interpretation and its source.

    Args:
        keys: keys of `bertlab.app.numbers.NUMBERS`.
    """
    with st.container(horizontal=True, gap="small"):
        for key in keys:
            number(t(f"number-{key}"), key)


def number(label: str, key: str) -> None:
    """Show a number, or its name, that opens its explanation.

    Args:
        label: text of ours; Markdown is rendered, so nothing that a user typed.
        key: key of `bertlab.app.numbers.NUMBERS`.
    """
    with st.popover(label, icon=":material/function:", type="tertiary"):
        row = NUMBERS[key]
        st.latex(row.formula)
        st.markdown(t(f"number-{key}-explanation"))
        st.caption(f"{t('number-source')}: [{row.source}]({row.link})")


def format_or_dash(number: float | None, spec: str) -> str:
    """Format a number for a table; a dash for None."""
    return "–" if number is None else format(number, spec)


def table(columns: dict[str, list[str]]) -> None:
    """Show a few rows without scrolling. On a telephone each row is a block below its first column.

    Args:
        columns: {name: one text per row}.
    """
    names = [_breakable(name) for name in columns]
    rows = [[_breakable(text) for text in row] for row in zip(*columns.values(), strict=True)]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row" dir="auto">{first}</th>'
        + "".join(f"<td><span>{name}</span>{text}</td>" for name, text in zip(names[1:], rest, strict=True))
        + "</tr>"
        for first, *rest in rows
    )
    markup = f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    st.html(f'<div class="rows-frame">{markup}</div>')


def _breakable(text: str) -> str:
    """Escape a text and allow a line break after the "/" of a path and the "_" of a name."""
    return re.sub(r"(?<=\w[/_])(?=\w\w)", "<wbr>", escape_html(text))

"""Plotly figures on a page, each with a menu that saves it and with the Python lines that draw it again."""

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from bertlab.app import components
from bertlab.app.data import sessions
from bertlab.views import export

# Plotly's own theme sets another font. This is Streamlit's, then fonts that have Hangul.
FONT = "'Source Sans', 'Noto Sans KR', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"


def show(
    figure: go.Figure,
    key: str,
    *,
    code: str = "",
    data: export.Columns | None = None,
    subject: dict[str, str] | None = None,
    on_click: Callable[[list], None] | None = None,
) -> None:
    """Draw a Plotly figure in the app's font; `static/app.css` sets its colours. A menu below it saves it as SVG, PNG,
    CSV, Python lines or one offline page.

    Args:
        code: what `python_lines` gives; it has to run and to draw this figure (tests/test_export.py runs it).
        data: the columns of the CSV file; without them the browser takes what Plotly drew.
        subject: columns that every row of the CSV file gets; None for the checkpoint and texts of the latest query.
        on_click: is called with the customdata of a mark that is clicked.
    """

    def clicked() -> None:
        for point in st.session_state[key].selection.points[:1]:
            on_click(point["customdata"])

    figure.update_layout(font={"family": FONT, "size": 15})
    with components.save_menu(key, data=data, code=code, subject=subject):
        listening = {"on_select": clicked, "selection_mode": "points"} if on_click else {}
        st.plotly_chart(figure, key=key, theme=None, config={"displayModeBar": False}, **listening)


def python_lines(checkpoint: sessions.Checkpoint | None, *steps: str) -> str:
    """Python lines that draw a figure again: `session` and `figures` are there, the last step says `figure = ...`.

    Write what a user typed with `!r`. Steps that begin with "import" or "from" go to the top.

    Args:
        checkpoint: None where no session is needed.
    """
    return export.python_lines(sessions.short_name(checkpoint) if checkpoint else "", steps)

"""Plotly figures on a page, each with a menu to save it or to copy the Python code that draws it."""

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from bertlab.app import calls, components
from bertlab.views import export

# Plotly's own theme sets another font. This is Streamlit's, followed by fonts that contain Hangul.
FONT = "'Source Sans', 'Noto Sans KR', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"


def draw(
    key: str,
    function: Callable[..., go.Figure],
    /,
    *arguments,
    data: export.Columns | None = None,
    subject: dict[str, str] | None = None,
    on_click: Callable[[list], None] | None = None,
    layout: dict | None = None,
    **options,
) -> None:
    """Draw the figure that a function returns, in the app's font; `static/app.css` sets its colours.

    A menu below the figure saves it as SVG, PNG, CSV, an offline page, or the Python code that draws it.

    Args:
        key: the key of the chart, unique on its page.
        function: a function of the library that returns a figure.
        arguments: its positional arguments. Pass an `Expression` of `calls` for whatever the code must compute.
        data: the columns of the CSV file; by default the browser takes the values that Plotly drew.
        subject: columns that every row of the CSV file gets; None for the checkpoint and texts of the latest query.
        on_click: called with the customdata of the point that the user clicks.
        layout: changes to the layout of the figure.
        options: the keyword arguments of the function.
    """

    def report_click() -> None:
        for point in st.session_state[key].selection.points[:1]:
            on_click(point["customdata"])

    call = calls.function_call(function, *arguments, **options)
    changes = ", ".join(f"{name}={value!r}" for name, value in (layout or {}).items())
    code = call.script(f"figure = {call.code}" + f".update_layout({changes})" * bool(layout))
    figure = call.result.update_layout(**(layout or {}), font={"family": FONT, "size": 15})
    with components.save_menu(key, data=data, code=code, subject=subject):
        click = {"on_select": report_click, "selection_mode": "points"} if on_click else {}
        st.plotly_chart(figure, key=key, theme=None, config={"displayModeBar": False}, **click)

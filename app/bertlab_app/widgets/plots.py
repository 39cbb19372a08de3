"""Plotly figures on a page, each with a menu that saves it or copies the Python code that draws it."""

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from bertlab.views import export
from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.widgets import components

# The font of Streamlit, followed by fonts that contain Hangul. By default, Plotly would use a different font.
FONT = "'Source Sans', 'Noto Sans KR', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"


def draw(
    key: str,
    function: Callable[..., go.Figure],
    /,
    *arguments,
    data: export.Columns | None = None,
    extra_columns: dict[str, str] | None = None,
    on_click: Callable[[list], None] | None = None,
    on_selection: Callable[[list], None] | None = None,
    layout: dict | None = None,
    is_shared: bool = False,
    **options,
) -> None:
    """Draw the figure that a function returns, in the font of the app.

    A menu below the figure saves it as SVG, PNG, CSV or an offline HTML file, or copies the Python code that draws it.
    The colour of the figure's text is set in `static/app.css`.
    """

    call = calls.describe_call(function, *arguments, **options)
    changes = ", ".join(f"{name}={value!r}" for name, value in (layout or {}).items())
    code = call.script(f"figure = {call.code}" + f".update_layout({changes})" * bool(layout))

    def make() -> tuple[str, export.Columns | None]:
        figure = calls.call_function(function, *arguments, **options).result
        figure.update_layout(**(layout or {}), font={"family": FONT, "size": 15})
        return figure.to_json(), data and export.tidy(data)

    figure, columns = _make_once(call.checkpoint, code, make) if is_shared else make()
    with components.menu_for_saving(key, data=columns, code=code, extra_columns=extra_columns):
        components.draw_plot(key, figure, on_click, on_selection)


@st.cache_resource(max_entries=64, show_spinner=False)
def _make_once(
    checkpoint: sessions.CheckpointKey | None, code: str, _make: Callable[[], tuple[str, export.Columns | None]]
) -> tuple[str, export.Columns | None]:
    """Make a figure as JSON, and the columns of its CSV file."""
    return _make()

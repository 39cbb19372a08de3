"""Figures that a page offers for download: the data of its save menus, and the figure that their Python code draws."""

import base64
import json

import numpy as np
import plotly.graph_objects as go


def read_charts(app) -> list[dict]:
    """The Plotly figures of a page, as dictionaries with "data" and "layout"."""
    drawn = [element.proto for element in app.get("bidi_component") if element.proto.component_name == "bertlab_plot"]
    return [json.loads(plot.json)["figure"] for plot in drawn]


def saved_figures(app) -> list[dict]:
    """The data of a page's save menus, one dictionary for each figure."""
    menus = [element.proto for element in app.get("bidi_component") if element.proto.component_name == "bertlab_figure"]
    return [json.loads(menu.json) for menu in menus]


def draw_from_code(code: str, monkeypatch) -> go.Figure:
    """Run the Python code of a save menu and return the figure that it shows."""
    shown = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: shown.append(figure))
    exec(compile(code, "figure.py", "exec"), {"__name__": "__main__"})
    assert len(shown) == 1
    return shown[0]


def trace_values(spec: dict) -> list[dict]:
    """The traces of a figure without their style: names, coordinates and values."""
    keys = ("name", "type", "x", "y", "z", "text", "customdata")
    return [{name: _plain(trace[name]) for name in keys if name in trace} for trace in spec["data"]]


def _plain(value):
    if isinstance(value, dict):  # an array as plotly packs it
        value = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    return array.ravel().astype(float).round(4).tolist() if array.dtype.kind in "fiu" else array.ravel().tolist()

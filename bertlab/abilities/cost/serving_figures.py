"""The figure of `bertlab bench serve`: a bar for each step of the benchmark."""

from collections.abc import Mapping

import plotly.graph_objects as go

from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import COLOURS, GREY, empty_figure, escape_markup


def step_bars(values: Mapping[str, float], unit: str = "texts/s", *, lang: str = DEFAULT) -> go.Figure:
    """Draw the speed or the latency of every step as a horizontal bar, the first step on top; peers have grey bars.

    Every step after the first adds one optimisation to the step before. A peer is another library that was measured for
    comparison.

    Args:
        values: {name of a step or peer: its value}; a peer's name begins with "peer-".
        unit: "texts/s" or "ms". With "texts/s", a bar also shows its value divided by that of the first step.
        lang: the language.
    """
    names = list(values)
    first = values[names[0]]
    figure = empty_figure(height=30 + 38 * len(names))
    if unit == "ms":
        texts = [f"{value:,.1f} ms" for value in values.values()]
    else:
        speeds = [render("figure-serving-speed", lang, number=format_speed(value)) for value in values.values()]
        texts = [
            f"{speed} · {format_times(value / first)}" for speed, value in zip(speeds, values.values(), strict=True)
        ]
    labels = [escape_markup(name_step(name, lang)) for name in names]
    figure.add_bar(
        x=list(values.values()),
        y=list(range(len(names))),
        orientation="h",
        marker={"color": [GREY if name.startswith("peer-") else COLOURS[0] for name in names], "cornerradius": 4},
        text=texts,
        textposition="outside",
        cliponaxis=False,
        customdata=labels,
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )
    figure.update_yaxes(autorange="reversed", tickvals=list(range(len(names))), ticktext=labels, ticklabelstandoff=6)
    return figure.update_xaxes(range=[0, 1.9 * max(values.values())], visible=False)


def name_step(name: str, lang: str = DEFAULT) -> str:
    """Return the short name of a step or peer in a language."""
    return render(f"figure-serving-{name}", lang)


def format_times(factor: float) -> str:
    """Format a factor: how many times as fast as the first step of the benchmark another step is.

    >>> format_times(1.0), format_times(9.96), format_times(212.6)
    ('1×', '10×', '213×')
    """
    return f"{factor:.0f}×" if factor >= 9.95 or factor == 1 else f"{factor:.1f}×"


def format_speed(speed: float) -> str:
    """Format a number of texts per second; a small one with one decimal.

    >>> format_speed(6.93), format_speed(1450.2)
    ('6.9', '1,450')
    """
    return f"{speed:,.1f}" if speed < 99.95 else f"{speed:,.0f}"

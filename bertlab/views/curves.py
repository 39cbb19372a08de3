"""Curves of training runs, several runs in one figure: training steps as lines, evaluations as diamonds."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bertlab.config.tasks import TASKS
from bertlab.views.figures import COLOURS, GREY, GRID, PERCENT_TICKS, TEMPLATE, safe

# beyond the colours a line is dashed as well
DASHES = ["solid", "dash", "dot", "dashdot"]


@dataclass(frozen=True)
class Metric:
    """What a curve shows: the name in a step's row, "" where steps have none, and those in a measurement that add up to
    the same. noisy: drawn faint, under its mean. hundredths: a measurement is written in percent, unlike a step."""

    step: str
    measured: tuple[str, ...] = ()
    percent: bool = False
    noisy: bool = True
    hundredths: bool = False


# what a step of fine-tuning tells of a measure
_STEPS = {"accuracy": "accuracy", "exact_match": "exact"}
# the measures of fine-tuning, by the names that evaluation gives them
MEASURES = {
    name: Metric(_STEPS.get(name, ""), (name,), percent=True, hundredths=True)
    for name in dict.fromkeys(name for task in TASKS.values() for name in task.metrics)
}
METRICS = {
    "loss": Metric("loss", ("mlm_loss", "nsp_loss", "order_loss")),
    "masked_accuracy": Metric("mlm_accuracy", ("masked_accuracy",), percent=True),
    "nsp_accuracy": Metric("nsp_accuracy", ("nsp_accuracy",), percent=True),
    "order_accuracy": Metric("order_accuracy", ("order_accuracy",), percent=True),
    "bits_per_character": Metric("", ("bits_per_character",)),
    **MEASURES,
    "tag_accuracy": Metric("tag_accuracy", percent=True),
    "error": Metric("error"),
    "learning_rate": Metric("learning_rate", noisy=False),
}
PLACES = ("tokens", "step", "seconds")
# pixels: of a figure, and of its legend a line, a mark with the room around it, a letter, and how wide it is
HEIGHT, LINE, MARK, LETTER, WIDE = 300, 26, 52, 8, 440


def has(rows: Iterable[Mapping], metric: str) -> bool:
    """Whether any row has a value of this metric."""
    shown = METRICS.get(metric)
    return shown is not None and any(
        row.get(shown.step) is not None or _measurement(row, shown) is not None for row in rows
    )


def run_curves(
    runs: Mapping[str, Iterable[Mapping]],
    metric: str,
    *,
    x: str = "tokens",
    log: bool = False,
    held_out: str = "held-out text",
    axes: tuple[str, str] = ("tokens", ""),
) -> go.Figure:
    """One metric of those of several runs that have it.

    Args:
        runs: the rows of each run's log, by its name.
        metric: of `METRICS`; x: of `PLACES`.
        log: a logarithmic x axis.
        held_out: what the diamonds are called; axes: the words at x and y.
    """
    figure = go.Figure(layout={"template": TEMPLATE})
    shown = METRICS[metric]
    form = ".1%" if shown.percent else ".4g"
    for number, (name, rows) in enumerate(runs.items()):
        rows = list(rows)
        steps = [row for row in rows if _number(row.get(shown.step)) and _number(row.get(x))]
        line = {
            "color": COLOURS[number % len(COLOURS)], "width": 2, "dash": DASHES[number // len(COLOURS) % len(DASHES)]
        }  # fmt: skip
        places, values = [row[x] for row in steps], [row[shown.step] for row in steps]
        if steps and shown.noisy:
            figure.add_scatter(
                x=places, y=values, legendgroup=name, showlegend=False, mode="lines", line={**line, "width": 1},
                opacity=0.25, hoverinfo="skip",
            )  # fmt: skip
            values = smooth(values)
        if steps:
            figure.add_scatter(
                x=places, y=values, name=safe(name), legendgroup=name, mode="lines" if len(steps) > 1 else "markers",
                line=line, hovertemplate=f"{safe(name)}: %{{y:{form}}}",
            )  # fmt: skip
        measured = [
            (place, value)
            for row, place in zip(rows, _places(rows, x), strict=True)
            if place is not None and (value := _measurement(row, shown)) is not None
        ]
        if measured:
            # a line leads from one to the next where no steps do
            figure.add_scatter(
                x=[place for place, _ in measured], y=[value for _, value in measured], legendgroup=name,
                name=safe(name if not steps else f"{name}, {held_out}"), mode="markers" if steps else "lines+markers",
                showlegend=not steps, line=line,
                marker={"symbol": "diamond", "size": 9, "color": line["color"], "line": {"width": 1, "color": GREY}},
                hovertemplate=f"{safe(name)}, {safe(held_out)}: %{{y:{form}}}",
            )  # fmt: skip
    figure.update_traces(hoverlabel={"namelength": 0})
    figure.update_xaxes(
        title={"text": safe(axes[0]), "font": {"size": 13}}, showgrid=True, gridcolor=GRID,
        type="log" if log else "linear", nticks=6, tickformat=".3~s", hoverformat=",.0f",
        dtick=_between(figure) if log else None,
    )  # fmt: skip
    figure.update_yaxes(title={"text": safe(axes[1]), "font": {"size": 13}}, showgrid=True, gridcolor=GRID, nticks=6)
    figure.update_yaxes(exponentformat="power")  # a rate of 0.00015 is not read as 150µ
    if shown.percent:
        figure.update_yaxes(tickformat=PERCENT_TICKS, rangemode="tozero")
    # a legend of many lines makes the figure higher, and leaves the curves their room
    figure.update_layout(height=HEIGHT + LINE * (_lines(figure) - 1), legend={"maxheight": 0.9})
    figure.update_layout(hovermode="x unified", margin={"t": 36}, showlegend=True)
    return figure


def held_out(rows: Iterable[Mapping]) -> tuple[str, float] | None:
    """The first metric after the loss that a run was measured by on held-out text, and its last value; None if it was
    not measured."""
    rows = list(rows)
    for name, metric in METRICS.items():
        found = [value for row in rows if (value := _measurement(row, metric)) is not None]
        if found and name != "loss":
            return name, found[-1]
    return None


def _lines(figure: go.Figure) -> int:
    """About how many lines the legend of a figure half a page wide has."""
    names = [trace.name for trace in figure.data if trace.showlegend is not False]
    beside = max(1, WIDE // (MARK + LETTER * max(map(len, names), default=0)))
    return max(1, math.ceil(len(names) / beside))


def smooth(values: list[float], reach: int = 10) -> list[float]:
    """Each value's mean with those up to `reach` places away, fewer at the ends.

    >>> smooth([1.0, 2.0, 6.0], 1)
    [1.5, 3.0, 4.0]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    starts = np.maximum(np.arange(len(values)) - reach, 0)
    ends = np.minimum(np.arange(len(values)) + reach + 1, len(values))
    return ((sums[ends] - sums[starts]) / (ends - starts)).tolist()


def _places(rows: list[Mapping], x: str) -> list[float | None]:
    """Where each row stands on the x axis; a measurement has no time of its own, so it gets its step's."""
    known = [(row["step"], row[x]) for row in rows if _number(row.get("step")) and _number(row.get(x))]
    if not known:
        return [None] * len(rows)
    steps, places = zip(*sorted(known), strict=True)
    return [
        row[x] if _number(row.get(x)) else float(np.interp(row["step"], steps, places)) if _number(row.get("step"))
        else None
        for row in rows
    ]  # fmt: skip


def _measurement(row: Mapping, metric: Metric) -> float | None:
    """What a row measured of a metric; None if it did not."""
    told = row.get("validation")
    found = [told[key] for key in metric.measured if _number(told.get(key))] if isinstance(told, Mapping) else []
    return sum(found) / (100 if metric.hundredths else 1) if found else None


def _between(figure: go.Figure) -> int | str | None:
    """Which ticks a logarithmic axis has: powers of ten alone where these are several, else 2 and 5 between them, which
    stand there bare; over less than one it is left to Plotly."""
    places = [place for trace in figure.data for place in trace.x if place and place > 0]
    decades = math.log10(max(places) / min(places)) if places else 0.0
    return 1 if decades >= 2 else "D2" if decades >= 1 else None


def _number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))

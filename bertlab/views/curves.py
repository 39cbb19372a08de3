"""Training curves of several runs as one figure: lines for training steps, diamonds for held-out text."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bertlab.checkpoints.history import is_number
from bertlab.config.languages import DEFAULT, render
from bertlab.config.tasks import TASKS
from bertlab.views.export import Columns
from bertlab.views.figures import COLOURS, GREY, GRID, PERCENT_TICKS, TEMPLATE, escape_markup

# The line styles. If there are more lines than colours, the colours are used again with the next style.
DASHES = ["solid", "dash", "dot", "dashdot"]


@dataclass(frozen=True)
class Metric:
    """Where the values of a curve are in the log of a run, and how they are drawn."""

    step_key: str  # key in the row of a training step; "" if such rows lack it
    held_out_keys: tuple[str, ...] = ()  # keys in a measurement on held-out text, whose values are added
    is_percent: bool = False  # whether the y axis shows percentages
    is_noisy: bool = True  # drawn as a running mean, with the values faintly behind it
    is_logged_in_percent: bool = False  # on held-out text; steps are logged as shares
    is_lower_better: bool = False


# fine-tuning metric -> its key in the row of a step
_STEP_KEYS = {"accuracy": "accuracy", "exact_match": "exact"}
# fine-tuning metrics, by the names that `bertlab evaluate` uses
TASK_METRICS = {
    name: Metric(_STEP_KEYS.get(name, ""), (name,), is_percent=True, is_logged_in_percent=True)
    for name in dict.fromkeys(name for task in TASKS.values() for name in task.metrics)
}
# all metrics that `run_curves` can draw, by name
METRICS = {
    "loss": Metric("loss", ("mlm_loss", "nsp_loss", "order_loss", "replaced_weighted_loss"), is_lower_better=True),
    "masked_accuracy": Metric("mlm_accuracy", ("masked_accuracy",), is_percent=True),
    "nsp_accuracy": Metric("nsp_accuracy", ("nsp_accuracy",), is_percent=True),
    "order_accuracy": Metric("order_accuracy", ("order_accuracy",), is_percent=True),
    "replaced_precision": Metric("replaced_precision", ("replaced_precision",), is_percent=True),
    "replaced_recall": Metric("replaced_recall", ("replaced_recall",), is_percent=True),
    "bits_per_character": Metric("", ("bits_per_character",), is_lower_better=True),
    **TASK_METRICS,
    "tag_accuracy": Metric("tag_accuracy", is_percent=True),
    "error": Metric("error", is_lower_better=True),
    "learning_rate": Metric("learning_rate", is_noisy=False),
}
X_AXES = ("tokens", "step", "seconds")  # keys of a row that can be the x axis
BASE_HEIGHT, LEGEND_LINE_HEIGHT = 300, 26  # pixels; the height is that of a figure whose legend has one line
# Pixels: the whole legend, in a figure that is half a page wide; the piece of a line before a name; a letter.
LEGEND_WIDTH, LEGEND_MARK_WIDTH, LEGEND_LETTER_WIDTH = 440, 52, 8


def has_metric(rows: Iterable[Mapping], metric: str) -> bool:
    spec = METRICS.get(metric)
    return spec is not None and any(
        row.get(spec.step_key) is not None or _read_held_out(row, spec) is not None for row in rows
    )


def run_curves(
    runs: Mapping[str, Iterable[Mapping]],
    metric: str,
    *,
    x: str = "tokens",
    log: bool = False,
    axes: tuple[str, str] | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw one metric of several runs, given as {name: rows of its log}; runs without it are left out.

    `x` is one of `X_AXES`, `axes` are the titles of x and y.
    """
    held_out = render("figure-held-out", lang)
    axes = axes or (render(f"figure-x-{x}", lang), "")
    figure = go.Figure(layout={"template": TEMPLATE})
    spec = METRICS[metric]
    number_format = ".1%" if spec.is_percent else ".4g"
    for index, (name, rows) in enumerate(runs.items()):
        rows = list(rows)
        step_points = _find_step_points(rows, spec, x)
        line = {
            "color": COLOURS[index % len(COLOURS)], "width": 2, "dash": DASHES[index // len(COLOURS) % len(DASHES)]
        }  # fmt: skip
        positions, values = [position for position, _ in step_points], [value for _, value in step_points]
        if step_points and spec.is_noisy:
            figure.add_scatter(
                x=positions, y=values, legendgroup=name, showlegend=False, mode="lines", line={**line, "width": 1},
                opacity=0.25, hoverinfo="skip",
            )  # fmt: skip
            values = smooth(values)
        if step_points:
            figure.add_scatter(
                x=positions, y=values, name=escape_markup(name), legendgroup=name,
                mode="lines" if len(step_points) > 1 else "markers",
                line=line, hovertemplate=f"{escape_markup(name)}: %{{y:{number_format}}}",
            )  # fmt: skip
        held_out_points = _find_held_out_points(rows, spec, x)
        if held_out_points:
            # if no training step has the metric, a line connects the measurements
            figure.add_scatter(
                x=[position for position, _ in held_out_points], y=[value for _, value in held_out_points],
                legendgroup=name,
                name=escape_markup(name if not step_points else f"{name}, {held_out}"),
                mode="markers" if step_points else "lines+markers",
                showlegend=not step_points, line=line,
                marker={"symbol": "diamond", "size": 9, "color": line["color"], "line": {"width": 1, "color": GREY}},
                hovertemplate=f"{escape_markup(name)}, {escape_markup(held_out)}: %{{y:{number_format}}}",
            )  # fmt: skip
    figure.update_traces(hoverlabel={"namelength": 0})
    figure.update_xaxes(
        title=escape_markup(axes[0]), showgrid=True, gridcolor=GRID,
        type="log" if log else "linear", nticks=6, tickformat=".3~s", hoverformat=",.0f",
        dtick=_choose_log_ticks(figure) if log else None,
    )  # fmt: skip
    figure.update_yaxes(
        title=escape_markup(axes[1]),
        showgrid=True,
        gridcolor=GRID,
        nticks=6,
        exponentformat="power",  # otherwise Plotly writes 150µ for 0.00015
    )
    if spec.is_percent:
        figure.update_yaxes(tickformat=PERCENT_TICKS, rangemode="tozero")
    # A figure with more lines in the legend is taller, so that the height of the curves stays the same.
    names = [trace.name for trace in figure.data if trace.showlegend is not False]
    names_per_line = max(1, LEGEND_WIDTH // (LEGEND_MARK_WIDTH + LEGEND_LETTER_WIDTH * max(map(len, names), default=0)))
    legend_lines = max(1, math.ceil(len(names) / names_per_line))
    return figure.update_layout(
        height=BASE_HEIGHT + LEGEND_LINE_HEIGHT * (legend_lines - 1),
        legend={"maxheight": 0.9},
        hovermode="x unified",
        margin={"t": 36},
        showlegend=True,
    )


def curve_points(runs: Mapping[str, Iterable[Mapping]], metric: str, x: str = "tokens") -> Columns:
    """Return the points of `run_curves` as columns: run, split (training or held-out), x, and value.

    >>> rows = [{"step": 1, "tokens": 64, "loss": 8.5}, {"step": 1, "tokens": 64, "validation": {"mlm_loss": 8.0}}]
    >>> curve_points({"tiny": rows}, "loss")
    {'run': ['tiny', 'tiny'], 'split': ['training', 'held-out'], 'tokens': [64, 64], 'loss': [8.5, 8.0]}
    """
    spec = METRICS[metric]
    points = []
    for name, rows in runs.items():
        rows = list(rows)
        points += [(name, "training", *point) for point in _find_step_points(rows, spec, x)]
        points += [(name, "held-out", *point) for point in _find_held_out_points(rows, spec, x)]
    columns = zip(*points, strict=True) if points else ((), (), (), ())
    return {title: list(values) for title, values in zip(("run", "split", x, metric), columns, strict=True)}


def find_main_held_out_value(rows: Iterable[Mapping]) -> tuple[str, float] | None:
    """Find the first metric of `METRICS`, other than the loss, on held-out text -> name, latest value."""
    rows = list(rows)
    for name, metric in METRICS.items():
        values = [value for row in rows if (value := _read_held_out(row, metric)) is not None]
        if values and name != "loss":
            return name, values[-1]
    return None


def smooth(values: list[float], reach: int = 10) -> list[float]:
    """Compute the centred running mean over `2 * reach + 1` values, and over fewer at both ends.

    >>> smooth([1.0, 2.0, 6.0], 1)
    [1.5, 3.0, 4.0]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    starts = np.maximum(np.arange(len(values)) - reach, 0)
    ends = np.minimum(np.arange(len(values)) + reach + 1, len(values))
    return ((sums[ends] - sums[starts]) / (ends - starts)).tolist()


def _find_step_points(rows: list[Mapping], metric: Metric, x: str) -> list[tuple[float, float]]:
    return [
        (row[x], row[metric.step_key]) for row in rows if is_number(row.get(metric.step_key)) and is_number(row.get(x))
    ]


def _find_held_out_points(rows: list[Mapping], metric: Metric, x: str) -> list[tuple[float, float]]:
    return [
        (position, value)
        for row, position in zip(rows, _find_x_values(rows, x), strict=True)
        if position is not None and (value := _read_held_out(row, metric)) is not None
    ]


def _find_x_values(rows: list[Mapping], x: str) -> list[float | None]:
    """Rows without an x value, such as evaluations, get an interpolated one."""
    logged = [(row["step"], row[x]) for row in rows if is_number(row.get("step")) and is_number(row.get(x))]
    if not logged:
        return [None] * len(rows)
    steps, positions = zip(*sorted(logged), strict=True)

    def find_x_of_row(row: Mapping) -> float | None:
        if is_number(row.get(x)):
            return row[x]
        return float(np.interp(row["step"], steps, positions)) if is_number(row.get("step")) else None

    return list(map(find_x_of_row, rows))


def _read_held_out(row: Mapping, metric: Metric) -> float | None:
    measurement = row.get("validation")
    if not isinstance(measurement, Mapping):
        return None
    values = [measurement[key] for key in metric.held_out_keys if is_number(measurement.get(key))]
    return sum(values) / (100 if metric.is_logged_in_percent else 1) if values else None


def _choose_log_ticks(figure: go.Figure) -> int | str | None:
    """Return `dtick`: powers of ten for two decades or more, with 2 and 5 for one; Plotly chooses for less."""
    positions = [position for trace in figure.data for position in trace.x if position and position > 0]
    decades = math.log10(max(positions) / min(positions)) if positions else 0.0
    return 1 if decades >= 2 else "D2" if decades >= 1 else None

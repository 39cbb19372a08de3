"""Figures of an error analysis; the customdata of every mark says its cell, row or group, to react to a click.

Shape legend: G labels of the data (gold), P predictions.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from bertlab.config.languages import DEFAULT, render, render_all
from bertlab.tasks.error_analysis import ConfusionMatrix, QuestionGroup, ScoredRow
from bertlab.views.figures import BLUE, GREY, GRID, ORANGE, empty_figure, escape_markup
from bertlab.views.numbers import percent
from bertlab.views.palette import transparent
from bertlab.views.passage import escape_html
from bertlab.views.shortening import shorten

MAX_LABELS_WITH_COUNTS = 14  # with more labels, cells are too small to contain their counts
# (place on the scale, colour): wrong predictions are orange, correct ones blue, both faint enough for text in any theme
_SHARE_COLOURS = [
    [0, transparent(ORANGE, 0.62)],
    [0.5, transparent(ORANGE, 0.03)],
    [0.5, transparent(BLUE, 0.03)],
    [1, transparent(BLUE, 0.62)],
]


def confusion_map(
    confusion: ConfusionMatrix,
    chosen: tuple[int, int] | None = None,
    *,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw how often each label (row) received each prediction (column), as a count and as a share of the row.

    Correct predictions are blue, wrong ones orange. `chosen` is the (row, column) of the cell to frame, and the
    customdata of a cell.
    """
    ids = ("figure-prediction", "figure-label", "figure-none", "figure-share-of-label")
    prediction_title, label_title, none, share_of_label = map(escape_markup, render_all(lang, *ids))
    names = [escape_markup(shorten(name, 18)) or none for name in confusion.names]
    size, positions = len(names), list(range(len(names)))
    counts_GP, shares_GP = confusion.counts_GP, confusion.shares_GP
    cell_size = 62 if size <= 6 else 46 if size <= MAX_LABELS_WITH_COUNTS else 22
    figure = empty_figure(height=110 + cell_size * size)
    strength_GP = np.sqrt(shares_GP)  # the square root makes small shares visible
    signed_GP = np.where(np.eye(size, dtype=bool), strength_GP, -strength_GP)
    colours = {"zmin": -1, "zmax": 1, "colorscale": _SHARE_COLOURS, "showscale": False}
    figure.add_heatmap(z=signed_GP.round(4), xgap=3, ygap=3, hoverinfo="skip", **colours)
    # Each cell is covered by a transparent mark, which contains the text of the cell.
    cells = [(label, prediction) for label in positions for prediction in positions]
    texts = [f"{counts_GP[cell]:,}<br>{shares_GP[cell]:.0%}" if counts_GP[cell] else "" for cell in cells]
    figure.add_scatter(
        x=[prediction for _, prediction in cells],
        y=[label for label, _ in cells],
        mode="markers+text" if size <= MAX_LABELS_WITH_COUNTS else "markers",
        marker={"symbol": "square", "size": 0.8 * cell_size, "color": "rgba(0, 0, 0, 0)"},
        text=texts,
        textfont={"size": 14 if size <= 6 else 11},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=[list(cell) for cell in cells],
        hovertext=[
            f"{label_title}: {names[label]}<br>{prediction_title}: {names[prediction]}<br>"
            f"{counts_GP[label, prediction]:,} · {percent(float(shares_GP[label, prediction]))} {share_of_label}"
            for label, prediction in cells
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    if chosen is not None:
        row, column = chosen
        figure.add_shape(
            type="rect", x0=column - 0.5, x1=column + 0.5, y0=row - 0.5, y1=row + 0.5, line={"color": GREY, "width": 3}
        )
    ticks = {"tickvals": positions, "ticktext": names}
    slant = -40 if max(map(len, names)) * size > 60 else 0
    figure.update_xaxes(side="top", range=[-0.5, size - 0.5], tickangle=slant, title=prediction_title, **ticks)
    figure.update_yaxes(range=[size - 0.5, -0.5], title=label_title, ticklabelstandoff=6, **ticks)
    return figure


def value_scatter(rows: Sequence[ScoredRow], *, lang: str = DEFAULT) -> go.Figure:
    """Draw the label (x) and the prediction (y) of every row of a regression, with its index as customdata."""
    gold_values, predicted_values = ([row.values[index] for row in rows] for index in (0, 1))
    ends = [min([*gold_values, *predicted_values]), max([*gold_values, *predicted_values])]
    figure = empty_figure(height=420)
    figure.add_scatter(
        x=ends, y=ends, mode="lines", line={"color": GREY, "width": 1.5, "dash": "dot"}, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=gold_values, y=[round(value, 4) for value in predicted_values], mode="markers", showlegend=False,
        marker={"color": BLUE, "size": 9, "opacity": 0.55},
        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 0.55}},
        customdata=[[index] for index in range(len(rows))],
        text=[escape_markup(shorten(" · ".join(row.texts), 70)) for row in rows],
        hovertemplate="%{text}<br>%{x:.2f} → %{y:.2f}<extra></extra>",
    )  # fmt: skip
    label_title, prediction_title = map(escape_markup, render_all(lang, "figure-label", "figure-prediction"))
    figure.update_xaxes(title=label_title, showgrid=True, gridcolor=GRID)
    figure.update_yaxes(title=prediction_title, showgrid=True, gridcolor=GRID)
    return figure


def group_bars(groups: Sequence[QuestionGroup], *, lang: str = DEFAULT) -> go.Figure:
    """Draw F1 and exact match, in percent, of groups of questions; a bar's customdata is the index of its group."""
    other, axis = render_all(lang, "figure-other", "figure-percent")
    positions = list(range(len(groups)))
    figure = empty_figure(height=90 + 52 * len(groups))
    for metric, colour, pattern in (("f1", BLUE, ""), ("exact_match", ORANGE, "/")):
        name, values = escape_markup(render(f"metric-{metric}", lang)), [getattr(group, metric) for group in groups]
        figure.add_bar(
            x=[round(value, 3) for value in values], y=positions, orientation="h", name=name,
            marker={"color": colour, "pattern": {"shape": pattern, "size": 5}, "cornerradius": 3},
            text=[f"{value:.0f}" for value in values], textposition="outside", cliponaxis=False,
            customdata=[[position] for position in positions],
            hovertemplate=f"{name}: %{{x:.1f}}<extra></extra>",
            selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        )  # fmt: skip
    names = [f"{escape_markup(group.name or other)} ({len(group.rows):,})" for group in groups]
    figure.update_yaxes(tickvals=positions, ticktext=names, autorange="reversed", ticklabelstandoff=6)
    figure.update_xaxes(
        range=[0, 108], tickvals=[0, 25, 50, 75, 100], showgrid=True, gridcolor=GRID, title=escape_markup(axis)
    )
    figure.update_layout(bargap=0.3, margin={"t": 40})
    return figure


def row_html(row: ScoredRow, names: Mapping[str, str], separator: str = " ") -> str:
    """Write one row as HTML: its text, its label, the prediction, and the probability of the label.

    Args:
        names: the words for "label", "prediction", "probability" and "nothing" (an empty answer, no entity).
        separator: the text between two words of a row that is split into words.
    """
    texts = row.texts if len(row.texts) <= 2 else (separator.join(row.texts),)
    cells = "".join(
        f'<p style="margin: 0 0 0.2rem; overflow-wrap: anywhere">{escape_html(shorten(text, 420))}</p>'
        for text in texts
    )
    parts = [
        f"{escape_html(names[name])}: <b>{escape_html(value or names['nothing'])}</b>"
        for name, value in (("label", row.gold), ("prediction", row.prediction))
    ]
    if row.probability is not None:
        parts.append(f"{escape_html(names['probability'])}: {percent(row.probability)}")
    return f'<div dir="auto">{cells}<p class="small">{" · ".join(parts)}</p></div>'


def table(rows: Sequence[ScoredRow], separator: str = " ") -> list[dict[str, str | float]]:
    """Make a table: id, text, label, prediction and score of each row, and the probability of its label (or "")."""
    return [
        {
            "id": row.id, "text": (separator if len(row.texts) > 2 else " | ").join(row.texts), "label": row.gold,
            "prediction": row.prediction, "score": row.score,
            "probability": "" if row.probability is None else row.probability,
        }
        for row in rows
    ]  # fmt: skip

"""Figures of interventions and of the logit lens.

Shape legend: T tokens, N heads, L layers.
"""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from rich.cells import cell_len

from bertlab.abilities.results import HeadEffects, Lens, PredictionChange
from bertlab.config.languages import DEFAULT, render, render_all
from bertlab.views.figures import (
    BLUE,
    DIVERGING,
    FAINT_TO_BLUE,
    GREY,
    GRID,
    ORANGE,
    PERCENT_TICKS,
    bar_range,
    empty_figure,
    escape_markup,
    insert_number,
    name_layer_and_head,
    name_rows,
)
from bertlab.views.numbers import percent, signed
from bertlab.views.shortening import shorten, shorten_to_width
from bertlab.views.token_labels import token_labels

MAX_LABELLED_POSITIONS = 48  # with more positions the cells are too narrow for text
# The default `top_k` of `Session.intervene`, which returns this number of the most probable outcomes before the change,
# and the same number of those after it.
NUM_BEST = 5
MIN_ROWS = 2 * NUM_BEST  # enough rows for all of these outcomes
MAX_TITLE_WIDTH = 15  # an outcome's title is at most as wide as this number of Latin letters
MIN_COLOUR_LIMIT = 0.5  # the full colour of a head map stands for at least this change in log-odds


def before_after(
    change: PredictionChange,
    *,
    labels: tuple[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    zoom: bool = False,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw two bars for every outcome, its probability before and after, with the change in its log-odds.

    Args:
        change: from `Session.intervene`.
        labels: the words for before and after.
        names: names to show instead of labels such as "IsNext" or "" (no answer), by label.
        zoom: end the axis at the longest bar instead of 100 %.
        lang: language of the default labels.
    """
    labels = labels or render_all(lang, "figure-before", "figure-after")
    outcomes = change.outcomes[::-1]
    titles = [(names or {}).get(outcome.label, outcome.label) for outcome in outcomes]
    # The figure has a minimum height, so that the text below it does not move when the number of outcomes changes. A
    # prediction with fewer than NUM_BEST outcomes does not need it, because their number is always the same.
    row_count = max(len(outcomes), MIN_ROWS) if len(outcomes) >= NUM_BEST else len(outcomes)
    figure = empty_figure(height=70 + 44 * row_count)
    parts = ((labels[1], BLUE, [o.after for o in outcomes]), (labels[0], GREY, [o.before for o in outcomes]))
    after_texts = [f"{percent(o.after)}  ({signed(o.log_odds_after - o.log_odds_before, 2)})" for o in outcomes]
    before_texts = [percent(o.before) for o in outcomes]
    for (label, colour, values), texts in zip(parts, (after_texts, before_texts), strict=True):
        figure.add_bar(
            x=values, y=list(range(len(outcomes))), orientation="h", name=escape_markup(label), text=texts,
            marker={"color": colour, "cornerradius": 3}, textposition="outside", cliponaxis=False,
            customdata=[escape_markup(shorten(title, 60)) for title in titles],
            hovertemplate=f"%{{customdata}}<br>{escape_markup(label)}: %{{text}}<extra></extra>",
        )  # fmt: skip
    ticks = [_break_title(title) for title in titles]
    figure.update_yaxes(
        tickvals=list(range(len(outcomes))), ticktext=ticks, ticklabelstandoff=6,
        range=[len(outcomes) - row_count - 0.5, len(outcomes) - 0.5],
    )  # fmt: skip
    probabilities = [probability for outcome in outcomes for probability in (outcome.before, outcome.after)]
    figure.update_xaxes(range=bar_range(probabilities, zoom, space=2.0), visible=False)
    figure.update_layout(barmode="group", bargap=0.25, bargroupgap=0.08, legend={"traceorder": "reversed"})
    return figure


def _break_title(title: str) -> str:
    """Escape a title, and break it before a bracket or shorten it if it is too long for one line."""
    name, bracket, rest = title.partition("(")
    lines = [name, bracket + rest] if name and bracket and cell_len(title) > MAX_TITLE_WIDTH else [title]
    return "<br>".join(escape_markup(shorten_to_width(line, MAX_TITLE_WIDTH, tail=6)) for line in lines)


def head_map(
    effects: HeadEffects, *, axes: tuple[str, str] | None = None, odds: str | None = None, lang: str = DEFAULT
) -> go.Figure:
    """Draw a map of heads (rows: layers): the change in the prediction's log-odds if only this head is ablated.

    Blue heads help (the log-odds fall without them), orange heads hurt.

    Args:
        effects: from `Session.head_effects`.
        axes: titles of the columns and the rows.
        odds: title of the colour bar, which shows the change in log-odds.
        lang: language of the default titles.
    """
    layer_name, head_name = name_layer_and_head(axes, lang)
    axes = axes or render_all(lang, "figure-head", "figure-layer")
    odds = odds or render("figure-log-odds", lang)
    limit = max(float(np.abs(effects.effects_LN).max(initial=0)), MIN_COLOUR_LIMIT)
    head_count = effects.effects_LN.shape[1]
    figure = empty_figure(height=130 + 34 * len(effects.layers))
    texts = [
        ["" if round(value, 1) == 0 else signed(value, 1) for value in row]
        for row in effects.effects_LN.astype(float).tolist()
    ]
    figure.add_heatmap(
        z=effects.effects_LN.astype(float).round(4), y=list(range(len(effects.layers))), zmin=-limit, zmax=limit,
        colorscale=[[1 - position, colour] for position, colour in reversed(DIVERGING)], xgap=2, ygap=2,
        text=texts, texttemplate="%{text}",
        textfont={"size": 13 if head_count <= 8 else 10}, customdata=np.round(effects.probabilities_LN, 4),
        colorbar={
            "orientation": "h", "y": -0.02, "yanchor": "top", "len": 0.7, "thickness": 10, "nticks": 5,
            "title": {"text": escape_markup(odds), "side": "bottom", "font": {"size": 12}},
        },
        hovertemplate=f"%{{y}}, {insert_number(head_name, '%{x}')}: %{{z:+.2f}} (%{{customdata:.1%}})<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(
        title={"text": escape_markup(axes[0]), "standoff": 4}, tickvals=list(range(head_count)), side="top"
    )
    name_rows(figure, layer_name, effects.layers)
    return figure


def lens_grid(
    lens: Lens,
    *,
    chosen: int | None = None,
    first: int = 0,
    count: int | None = None,
    rows: tuple[str, str] | None = None,
    labels: tuple[str, str, str] | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw the most probable token of every layer (rows, the last at the top) at every position.

    Darker cells are more probable.

    Args:
        lens: from `Session.lens`.
        chosen: a position to frame.
        first: the first position that is drawn.
        count: how many positions are drawn; all if None.
        rows: name of a layer, with {} for its number, and name of the embeddings below the first layer.
        labels: names of the prediction, its probability, and the rank of the last layer's prediction.
        lang: language of the default names.
    """
    rows = rows or (render("figure-layer-number", lang, layer="{}"), render("figure-embeddings", lang))
    labels = labels or render_all(lang, "figure-prediction", "figure-probability", "figure-final-rank")
    row_count = len(lens.probs_LT)
    positions = list(range(len(lens.tokens)))[first:][:count]
    tokens = [escape_markup(token) for token in token_labels(lens.tokens)]
    predicted = [
        [escape_markup(shorten_to_width(row[position], 8)) for position in positions] for row in lens.tokens_LT
    ]
    hover = [
        [
            f"{tokens[position]}<br>{escape_markup(labels[0])}: {escape_markup(row[position])}<br>"
            f"{escape_markup(labels[1])}: {percent(float(lens.probs_LT[layer, position]))}<br>"
            f"{escape_markup(labels[2])} ({escape_markup(lens.final_T[position])}): "
            f"{int(lens.rank_LT[layer, position])}"
            for position in positions
        ]
        for layer, row in enumerate(lens.tokens_LT)
    ]
    figure = empty_figure(height=150 + 38 * row_count)
    figure.add_heatmap(
        z=lens.probs_LT[:, positions].astype(float).round(4), x=positions, y=list(range(row_count)), zmin=0, zmax=1,
        text=predicted, textfont={"size": 12},
        texttemplate="%{text}" if len(positions) <= MAX_LABELLED_POSITIONS else None,
        colorscale=FAINT_TO_BLUE, xgap=2, ygap=2, customdata=hover, hovertemplate="%{customdata}<extra></extra>",
        colorbar={
            "orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom",
            "len": 190, "lenmode": "pixels", "thickness": 10, "tickformat": PERCENT_TICKS, "tickvals": [0, 0.5, 1],
            "outlinewidth": 0, "title": {"text": escape_markup(labels[1]), "side": "top"},
        },
    )  # fmt: skip
    figure.update_xaxes(tickvals=positions, ticktext=[tokens[position] for position in positions], tickangle=-45)
    figure.update_yaxes(
        tickvals=list(range(row_count)), ticklabelstandoff=6,
        ticktext=[escape_markup(rows[1]), *(escape_markup(rows[0].format(n)) for n in range(row_count - 1))],
    )  # fmt: skip
    if chosen in positions:
        figure.add_shape(
            type="rect",
            x0=chosen - 0.5,
            x1=chosen + 0.5,
            y0=-0.5,
            y1=row_count - 0.5,
            line={"color": ORANGE, "width": 2},
        )
    return figure


def lens_rank(
    lens: Lens,
    position: int,
    *,
    labels: tuple[str, str] | None = None,
    rows: tuple[str, str] | None = None,
    axis: str | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw the probability and the rank that every layer gives to the last layer's prediction at one position.

    The left axis shows the probability, the right one the rank (logarithmic, 1 at the top).

    Args:
        lens: from `Session.lens`.
        position: the position, from 0.
        labels: names of probability and rank.
        rows: names on the x axis: a layer, with {} for its number, and the embeddings.
        axis: title of the x axis.
        lang: language of the default texts.
    """
    labels = labels or render_all(lang, "figure-probability", "figure-rank")
    rows = rows or ("{}", render("figure-embeddings", lang))
    indices = list(range(len(lens.probs_LT)))
    figure = empty_figure(height=300)
    # Legend entries with arrows name the two axes, because Plotly would rotate axis titles.
    for label, values_LT, colour, symbol, dash, yaxis in (
        (f"← {labels[0]}", lens.probs_of_final_LT, BLUE, "circle", "solid", "y"),
        (f"{labels[1]} →", lens.rank_LT, ORANGE, "diamond", "dot", "y2"),
    ):
        figure.add_scatter(
            x=indices, y=values_LT[:, position].astype(float).tolist(), name=escape_markup(label), yaxis=yaxis,
            mode="lines+markers", line={"color": colour, "width": 2.5, "dash": dash},
            marker={"size": 8, "symbol": symbol}, hovertemplate="%{y:.1%}" if yaxis == "y" else "%{y}",
        )  # fmt: skip
    figure.update_xaxes(
        tickvals=indices,
        ticktext=[escape_markup(rows[1]), *(escape_markup(rows[0].format(n)) for n in indices[:-1])],
        title=escape_markup(axis or render("figure-layer-axis", lang)),
        range=[-0.5, len(indices) - 0.5],
    )
    largest_log_rank = float(np.log10(max(lens.rank_LT[:, position].max(), 10)))
    figure.update_layout(
        yaxis={"range": [-0.04, 1.05], "tickformat": PERCENT_TICKS, "showgrid": True, "gridcolor": GRID},
        yaxis2={
            "overlaying": "y", "side": "right", "type": "log", "showgrid": False, "dtick": 1,
            "range": [largest_log_rank * 1.05, -largest_log_rank * 0.05],
        },
        hovermode="x unified", margin={"t": 40, "r": 48},
    )  # fmt: skip
    return figure

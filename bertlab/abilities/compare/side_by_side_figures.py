"""A figure of several models on one sentence: the attention of one layer of each, side by side."""

from collections.abc import Sequence

import numpy as np
from plotly.subplots import make_subplots

from bertlab.abilities.compare.side_by_side import ModelView
from bertlab.config.languages import DEFAULT, render
from bertlab.views.export import Columns
from bertlab.views.figures import TEMPLATE, escape_markup
from bertlab.views.palette import PALETTE
from bertlab.views.token_labels import token_labels

MAX_LABELLED_TOKENS = 24  # with more tokens, only every second or third one is labelled; a narrow map has fewer labels
MAX_COLUMNS = 3  # maximum number of maps in a row
ROW_HEIGHT = 330  # height of a row of maps, in pixels
TICKS = (0, 0.1, 0.25, 0.5, 1)  # the attention values that label the colour scale


def attention_maps(views: Sequence[ModelView], depth: float = 1.0, *, lang: str = DEFAULT):
    """Draw a heat map for each model: how much attention each token (row) gives to each token (column).

    The attention is the mean over the heads of one layer; the colour shows its square root.

    Args:
        views: from `explore.side_by_side.view_models`.
        depth: which layer, from 0 (the first one of each model) to 1 (the last one).
        lang: language of the texts.
    """
    columns = min(MAX_COLUMNS, len(views))
    rows = -(-len(views) // columns)
    titles = [
        f"{escape_markup(view.name)}<br>{render('figure-layer-number', lang, layer=view.layer_at(depth))}"
        for view in views
    ]
    # the space between two rows contains the labels of the upper one and the titles of the lower one
    spacing = {"horizontal_spacing": 0.1, "vertical_spacing": 0.36 / rows}
    figure = make_subplots(rows, columns, subplot_titles=titles, **spacing)
    for index, view in enumerate(views):
        place = {"row": index // columns + 1, "col": index % columns + 1}
        probs_TT = view.attention_at(depth).astype(float)
        tokens = [escape_markup(token) for token in token_labels(view.tokens)]
        figure.add_heatmap(
            z=np.sqrt(probs_TT).round(4), customdata=probs_TT.round(4), coloraxis="coloraxis", name="", **place,
            text=[[f"{query} → {key}" for key in tokens] for query in tokens],
            hovertemplate="%{text}: %{customdata:.3f}",
        )  # fmt: skip
        figure.update_xaxes(tickangle=-60, **_choose_labels(tokens, MAX_LABELLED_TOKENS // columns), **place)
        figure.update_yaxes(autorange="reversed", **_choose_labels(tokens, MAX_LABELLED_TOKENS), **place)
    figure.update_annotations(font_size=13)  # the titles, which stand side by side on a phone
    figure.update_layout(
        template=TEMPLATE, height=144 + ROW_HEIGHT * rows, margin={"t": 64},
        coloraxis={
            "colorscale": PALETTE["sequential"], "cmin": 0, "cmax": 1,
            "colorbar": {"tickvals": np.sqrt(TICKS).tolist(), "ticktext": [f"{tick:g}" for tick in TICKS],
                         "thickness": 12},
        },
    )  # fmt: skip
    return figure


def _choose_labels(tokens: Sequence[str], max_labels: int) -> dict:
    """Choose evenly spaced tokens, at most `max_labels`, that label an axis."""
    step = max(1, -(-len(tokens) // max_labels))
    return {"tickvals": list(range(len(tokens)))[::step], "ticktext": tokens[::step], "tickfont": {"size": 11}}


def attention_columns(views: Sequence[ModelView], depth: float = 1.0) -> Columns:
    """Make the columns of a CSV file: a row for each pair of tokens of each model."""
    columns: Columns = {"model": [], "layer": [], "query": [], "key": [], "attention": []}
    for view in views:
        labels, probs_TT = token_labels(view.tokens), view.attention_at(depth)
        for query, row in zip(labels, probs_TT, strict=True):
            for key, probability in zip(labels, row, strict=True):
                values = (view.name, view.layer_at(depth), query, key, float(probability))
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
    return columns

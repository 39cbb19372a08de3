"""Figures of a comparison of two models or two texts; one is the first side of the comparison, the other the second.

A dark blue cell with + means a larger value on the second side, a light orange cell with − a smaller one; zero is
transparent.

Shape legend: U units, N heads, L layers (of the first side), M layers (of the second side).
"""

import numpy as np
import plotly.graph_objects as go

from bertlab.abilities.compare.compute import Comparison
from bertlab.config.errors import BertlabError
from bertlab.config.languages import DEFAULT, render, render_all
from bertlab.views.figures import (
    BLUE,
    DIVERGING,
    FAINT_TO_BLUE,
    GREY,
    GRID,
    ORANGE,
    empty_figure,
    escape_markup,
    insert_number,
    name_layer_and_head,
    name_rows,
    signs,
)

MAX_NAMED_UNITS = 64  # with more units, a matrix has no tick labels
MAX_SIGNED_UNITS = 40  # with more units, cells are too small for a sign


def head_differences(
    comparison: Comparison,
    *,
    chosen: tuple[int, int] | None = None,
    labels: tuple[str, str, str] | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw a map of heads, one row for each layer: the Jensen-Shannon distance of the two sides.

    A number is negative where the second side attends to nearer tokens than the first.

    Args:
        comparison: from `explore.compare`.
        chosen: (layer, head) to frame.
        labels: names of a layer and of a head, and the title of the scale.
        lang: language of the default texts.
    """
    layer_name, head_name = name_layer_and_head(labels and (labels[1], labels[0]), lang)
    labels = labels or render_all(lang, "figure-layer", "figure-head", "figure-farther")
    signed_js_LN = comparison.signed_js_LN
    layers = len(signed_js_LN)
    heads_LN = [[(layer, head) for head in range(signed_js_LN.shape[1])] for layer in range(layers)]
    limit = float(np.abs(signed_js_LN).max()) or 1.0
    hover_title = f"%{{y}} · {insert_number(head_name, '%{x}')}"
    figure = empty_figure(130 + min(46, max(22, 560 // layers)) * layers)
    figure.add_heatmap(
        z=signed_js_LN.round(4), zmin=-limit, zmax=limit, colorscale=DIVERGING, xgap=3, ygap=3,
        customdata=np.dstack([heads_LN, comparison.distance_difference_LN.round(2)]), colorbar=_colour_bar(labels[2]),
        text=signs(signed_js_LN, limit), texttemplate="%{text}",
        hovertemplate=f"{hover_title}: %{{z:+.3f}} (%{{customdata[2]:+.2f}})<extra></extra>",
    )  # fmt: skip
    if chosen:
        layer, head = chosen
        figure.add_shape(
            type="rect", x0=head - 0.5, x1=head + 0.5, y0=layer - 0.5, y1=layer + 0.5, line={"color": GREY, "width": 3}
        )
    figure.update_xaxes(title={"text": escape_markup(labels[1]), "font": {"size": 13}}, dtick=1, side="top")
    name_rows(figure, layer_name, range(layers))
    return figure


def head_difference(
    comparison: Comparison, layer: int, head: int, *, label: str | None = None, lang: str = DEFAULT
) -> go.Figure:
    """Draw one head's attention on the second side minus that on the first; rows attend to columns.

    Args:
        comparison: from `explore.compare`.
        layer: the layer, from 0.
        head: the head, from 0.
        label: title of the scale.
        lang: language of the default title.
    """
    label = render("figure-less-more", lang) if label is None else label
    difference_UU = comparison.difference_UU(layer, head)
    limit = float(np.abs(difference_UU).max()) or 1.0
    names = [escape_markup(unit.label) for unit in comparison.units]
    positions = list(range(len(names)))
    # The height is the same for all texts of up to 88 units, so that the part of the page below it does not move.
    figure = empty_figure(190 + max(440, 5 * len(names)))
    figure.add_heatmap(
        z=difference_UU.round(4), zmin=-limit, zmax=limit, colorscale=DIVERGING, xgap=1, ygap=1,
        colorbar=_colour_bar(label),
        customdata=[[f"{query} → {key}" for key in names] for query in names],
        hovertemplate="%{customdata}: %{z:+.3f}<extra></extra>",
    )  # fmt: skip
    if len(names) <= MAX_SIGNED_UNITS:
        figure.update_traces(text=signs(difference_UU, limit, 0.2), texttemplate="%{text}", textfont={"size": 11})
    tick_labels = (
        {"tickvals": positions, "ticktext": names} if len(names) <= MAX_NAMED_UNITS else {"showticklabels": False}
    )
    figure.update_xaxes(side="top", tickangle=-90, tickfont={"size": 11}, **tick_labels)
    figure.update_yaxes(autorange="reversed", tickfont={"size": 11}, **tick_labels)
    return figure


def layer_differences(
    comparison: Comparison,
    *,
    labels: tuple[str, str] | None = None,
    axis: str | None = None,
    embeddings: str | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw linear CKA and mean cosine distance between the two sides, for the embeddings and every layer.

    Args:
        comparison: from `explore.compare`.
        labels: names of the two curves.
        axis: title of the x axis.
        embeddings: name of the embeddings, which come before layer 0.
        lang: language of the default texts.

    Raises:
        BertlabError: the numbers of layers or the hidden sizes differ; use `layer_similarity` for such sides.
    """
    if comparison.cosine_distance_LU is None:
        raise BertlabError("compare-layers-differ")
    labels = labels or render_all(lang, "figure-cka", "figure-cosine-distance")
    axis, embeddings = axis or render("figure-layer-axis", lang), embeddings or render("figure-embeddings", lang)
    layers = list(range(len(comparison.cosine_distance_LU)))
    figure = empty_figure(300)
    values = (np.diagonal(comparison.cka_LM), comparison.cosine_distance_LU.mean(1))
    for name, value_L, colour, dash in zip(labels, values, (BLUE, ORANGE), ("solid", "dot"), strict=True):
        figure.add_scatter(
            x=layers, y=value_L.round(4).tolist(), name=escape_markup(name), mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash}, hovertemplate="%{y:.3f}",
            marker={"size": 7, "symbol": "circle" if dash == "solid" else "diamond"},
        )  # fmt: skip
    figure.update_xaxes(
        title={"text": escape_markup(axis), "font": {"size": 13}}, **_label_hidden_states(len(layers), embeddings)
    )
    figure.update_yaxes(showgrid=True, gridcolor=GRID, rangemode="tozero", nticks=6)
    figure.update_layout(hovermode="x unified", margin={"t": 40})
    return figure


def layer_similarity(
    comparison: Comparison,
    *,
    axes: tuple[str, str] | None = None,
    embeddings: str | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw the linear CKA of every layer of the first side with every layer of the second.

    Args:
        comparison: from `explore.compare`.
        axes: titles of the columns and the rows.
        embeddings: name of the embeddings, which come before layer 0.
        lang: language of the default texts.
    """
    axes = axes or render_all(lang, "figure-layer-second", "figure-layer-first")
    embeddings = embeddings or render("figure-embeddings", lang)
    figure = empty_figure(150 + 26 * len(comparison.cka_LM))
    figure.add_heatmap(
        z=comparison.cka_LM.round(4), zmin=0, zmax=1, colorscale=FAINT_TO_BLUE, xgap=2, ygap=2,
        colorbar=_colour_bar("CKA"),
        hovertemplate="%{y} · %{x}: %{z:.3f}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(
        title={"text": escape_markup(axes[0]), "font": {"size": 13}},
        side="top",
        **_label_hidden_states(comparison.cka_LM.shape[1], embeddings),
    )
    figure.update_yaxes(
        title={"text": escape_markup(axes[1]), "font": {"size": 13}},
        autorange="reversed",
        **_label_hidden_states(len(comparison.cka_LM), embeddings),
    )
    return figure


def most_changed_tokens(
    comparison: Comparison, index: int = -1, *, top: int = 12, axis: str | None = None, lang: str = DEFAULT
) -> go.Figure:
    """Draw the `top` tokens that have the largest cosine distance in one hidden state, largest first.

    Args:
        comparison: from `explore.compare`.
        index: the hidden state: 0 for the embeddings, n + 1 for the output of layer n, -1 for the last.
        top: how many tokens to draw.
        axis: title of the x axis.
        lang: language of the default title.
    """
    axis = axis or render("figure-cosine-distance", lang)
    distance_U = comparison.cosine_distance_LU[index]
    order = np.argsort(-distance_U, kind="stable")[:top][::-1]
    figure = empty_figure(70 + 30 * top)
    figure.add_bar(
        x=distance_U[order].round(4).tolist(), y=list(range(len(order))), orientation="h",
        marker={"color": BLUE, "cornerradius": 4}, text=[f"{distance_U[unit_index]:.3f}" for unit_index in order],
        textposition="outside", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip
    names = [escape_markup(comparison.units[unit_index].label) for unit_index in order]
    # With fewer tokens, the figure has the same height, so that the part of the page below it does not move.
    figure.update_yaxes(
        tickvals=list(range(len(order))), ticktext=names, ticklabelstandoff=6,
        range=[len(order) - top - 0.5, len(order) - 0.5],
    )  # fmt: skip
    figure.update_xaxes(
        range=[0, max(float(distance_U.max()) * 1.18, 1e-6)], title={"text": escape_markup(axis), "font": {"size": 13}},
        showgrid=True, gridcolor=GRID, nticks=6,
    )  # fmt: skip
    return figure


def _label_hidden_states(count: int, embeddings: str) -> dict:
    """Return the labels of an axis of hidden states: the embeddings, then the outputs of layers 0, 1 and so on."""
    return {"tickvals": list(range(count)), "ticktext": [escape_markup(embeddings), *map(str, range(count - 1))]}


def _colour_bar(title: str) -> dict:
    """Return the settings of a horizontal colour scale below a heat map."""
    return {
        "title": {"text": escape_markup(title), "side": "bottom", "font": {"size": 12}}, "thickness": 10, "nticks": 5,
        "orientation": "h", "y": -0.02, "yanchor": "top", "len": 0.8,
    }  # fmt: skip

"""Figures of the steps of a layer after the softmax, of what every layer adds to its input, and of attention rollout.

A vector is a strip of cells, folded into several rows if it is long. Blue is positive, orange negative. Vectors that
are added up have the same colour scale.

Shape legend: T tokens, H hidden, D head size, I feed-forward neurons, L layers.
"""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bertlab.abilities.attention.block import BlockMap
from bertlab.abilities.attention.rollout import Rollout
from bertlab.config.languages import DEFAULT, render, render_all
from bertlab.views.figures import BLUE, COLOURS, DIVERGING, GREY, GRID, ORANGE, empty_figure, escape_markup
from bertlab.views.numbers import percent, signed
from bertlab.views.palette import PALETTE
from bertlab.views.shortening import shorten, shorten_to_width
from bertlab.views.token_labels import token_labels

MAX_TOKENS = 10  # how many tokens, those that receive the most attention, have their own row; the others share one
MAX_NEURONS = 10  # how many neurons, those with the strongest activations, have a bar
MAX_TOKEN_NAMES = 40  # with more tokens, the rollout figure labels only every second or third one, and so on
FOLD = 128  # a longer vector is folded into rows of about this many cells, so that cells stay visible on a phone
_LEFT, _RIGHT, _TOP = 104, 8, 8  # margins in pixels; the left one contains the shapes and the norms of the vectors
# Heights in pixels: a caption, a row of a folded vector, the minimum of a strip, the row of a token, the bars of
# neurons, and the gap below a panel.
_CAPTION, _ROW, _MIN_STRIP, _TOKEN_ROW, _BARS, _GAP = 24, 10, 30, 18, 112, 16


@dataclass(frozen=True)
class _Panel:
    """A part of the figure below a caption."""

    caption: str
    """The caption."""
    label: str
    """The text beside the panel: the shape and the norm of its vector."""
    height: int
    """The height in pixels, without the caption."""
    top: float
    """The distance of the panel's upper edge from the top of the figure, in pixels."""


class _Column:
    """Panels below one another; each drawing in a panel has its own x axis and y axis."""

    def __init__(self, height: int):
        self.figure = empty_figure(height=height)
        self.height = height - _TOP - 8  # pixels, without the margins
        self.axes_count = 0  # how many pairs of axes there are

    def add_axes(self, panel: _Panel, left: float = 0.0, right: float = 1.0) -> tuple[str, dict]:
        """Add a pair of axes where a panel is drawn; return their suffix and the arguments that select them.

        Args:
            panel: the panel.
            left: the left edge of the axes, as a share of the width of the figure.
            right: the right edge, as a share of the width.
        """
        self.axes_count += 1
        suffix = str(self.axes_count) if self.axes_count > 1 else ""
        top, bottom = 1 - panel.top / self.height, 1 - (panel.top + panel.height) / self.height
        self.figure.update_layout({
            f"xaxis{suffix}": {"domain": [left, right], "anchor": f"y{suffix}", "showticklabels": False},
            f"yaxis{suffix}": {
                "domain": [max(bottom, 0), min(top, 1)], "anchor": f"x{suffix}", "automargin": False,
                "autorange": "reversed", "showticklabels": False,
            },
        })  # fmt: skip
        return suffix, {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}

    def add_text(self, panel: _Panel) -> None:
        """Write the caption above a panel, and its label beside it."""
        placement = {"xref": "paper", "yref": "paper", "x": 0, "xanchor": "left", "showarrow": False, "align": "left"}
        self.figure.add_annotation(
            **placement, y=1 - panel.top / self.height, yanchor="bottom", xshift=4 - _LEFT, yshift=2,
            text=panel.caption, font={"size": 13},
        )  # fmt: skip
        if panel.label:
            self.figure.add_annotation(
                **placement, y=1 - (panel.top + panel.height / 2) / self.height, yanchor="middle", xshift=4 - _LEFT,
                text=panel.label, font={"size": 12}, opacity=0.75,
            )  # fmt: skip

    def add_strip(self, panel: _Panel, values: np.ndarray, limit: float, head_size: int) -> str:
        """Draw a vector, and return the suffix of its axes.

        Args:
            panel: where to draw it.
            values: the vector.
            limit: the absolute value that has the full colour.
            head_size: how many dimensions a head has; a row of a folded vector consists of whole heads.
        """
        suffix, axes = self.add_axes(panel)
        cells, index = _fold(values, head_size)
        self._add_cells(cells, index, limit, axes, panel.caption)
        return suffix

    def add_matrix(
        self, panel: _Panel, values: np.ndarray, limit: float, side: tuple[float, float], names: list[str] | None
    ) -> None:
        """Draw one vector for each row, on the left or the right side of a panel.

        Args:
            panel: where to draw them.
            values: the vectors, one for each row.
            limit: the absolute value that has the full colour.
            side: the left and the right edge, as shares of the width of the figure.
            names: the labels of the rows; None for no labels.
        """
        suffix, axes = self.add_axes(panel, *side)
        index = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        self._add_cells(values, index, limit, axes, panel.caption, ygap=3)
        if names:
            ticks = {"showticklabels": True, "tickvals": list(range(len(names))), "ticktext": names}
            self.figure.update_layout({f"yaxis{suffix}": ticks | {"tickfont": {"size": 12}, "ticklabelstandoff": 4}})

    def _add_cells(self, cells: np.ndarray, index: np.ndarray, limit: float, axes: dict, name: str, **options) -> None:
        """Draw numbers as coloured cells; `index` has the index of each number in its vector, for the tooltip."""
        self.figure.add_heatmap(
            z=np.where(np.isnan(cells), None, cells.astype(float).round(5)), customdata=index, zmin=-limit, zmax=limit,
            colorscale=DIVERGING, showscale=False, name=name, hoverongaps=False,
            hovertemplate="[%{customdata}] %{z:.4f}<extra></extra>", **axes, **options,
        )  # fmt: skip


def block_steps(block: BlockMap, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the steps of a layer from the values of one head to the layer's output, from top to bottom.

    Args:
        block: from `Session.block`.
        lang: language of the captions.
    """
    names, values, weighted = _collect_most_attended(block, lang)
    head_size = len(block.head_output_D)
    strip_height = max(_ROW * len(_fold(block.heads_H, head_size)[0]), _MIN_STRIP)
    heights = [_TOKEN_ROW * len(names), _MIN_STRIP, *[strip_height] * 5, _BARS, *[strip_height] * 3]
    column = _Column(_TOP + 8 + sum(heights) + len(heights) * (_CAPTION + _GAP) + _GAP)
    panels = _lay_out(block, heights, lang)
    for panel in panels:
        column.add_text(panel)
    value_limit = _choose_limit(values, weighted, block.head_output_D)
    column.add_matrix(panels[0], values, value_limit, (0, 0.48), names)
    column.add_matrix(panels[0], weighted, value_limit, (0.52, 1), None)
    column.add_matrix(panels[1], block.head_output_D[None], value_limit, (0.52, 1), None)
    suffix = column.add_strip(panels[2], block.heads_H, _choose_limit(block.heads_H), head_size)
    _frame_head(column.figure, suffix, block)
    attention_limit = _choose_limit(block.attention_H, block.input_H, block.attention_sum_H)
    for panel, vector_H in zip(panels[3:6], (block.attention_H, block.input_H, block.attention_sum_H), strict=True):
        column.add_strip(panel, vector_H, attention_limit, head_size)
    feed_forward_limit = _choose_limit(block.attended_H, block.feed_forward_H, block.feed_forward_sum_H)
    column.add_strip(panels[6], block.attended_H, feed_forward_limit, head_size)
    _add_neurons(column, panels[7], block)
    column.add_strip(panels[8], block.feed_forward_H, feed_forward_limit, head_size)
    column.add_strip(panels[9], block.feed_forward_sum_H, feed_forward_limit, head_size)
    column.add_strip(panels[10], block.output_H, _choose_limit(block.output_H), head_size)
    column.figure.update_layout(margin={"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": 8}, showlegend=False)
    return column.figure


def layer_norms(block: BlockMap, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the norms at one position after every layer: of the residual stream, and of what the layer adds to it.

    The tokens on the right are those that the MLM output layer would predict after the layer (logit lens).

    Args:
        block: from `Session.block`.
        lang: language of the names.
    """
    layers = block.layers
    names = render_all(lang, "figure-residual-stream", "figure-attention-output", "figure-feed-forward-output")
    norms = (
        [summary.output_norm for summary in layers],
        [summary.attention_norm for summary in layers],
        [summary.feed_forward_norm for summary in layers],
    )
    figure = empty_figure(height=110 + 30 * len(layers))
    rows = list(range(len(layers)))
    for name, values, colour, symbol in zip(
        names, norms, (GREY, BLUE, ORANGE), ("circle", "diamond", "square"), strict=True
    ):
        figure.add_scatter(
            x=values, y=rows, name=escape_markup(name), mode="lines+markers", line={"color": colour, "width": 2},
            marker={"size": 9, "symbol": symbol}, hovertemplate=f"{escape_markup(name)}: %{{x:.3f}}<extra></extra>",
        )  # fmt: skip
    labels = [render("figure-embeddings", lang)]
    labels += [render("figure-layer-number", lang, layer=summary.layer) for summary in layers[1:]]
    figure.update_yaxes(
        tickvals=rows, ticktext=[escape_markup(label) for label in labels], range=[len(rows) - 0.5, -0.5],
        ticklabelstandoff=6, showgrid=True, gridcolor=GRID,
    )  # fmt: skip
    figure.update_xaxes(
        type="log", dtick="D2", showgrid=True, gridcolor=GRID,  # one layer may add a hundred times what another adds
        title={"text": escape_markup(render("figure-norm", lang)), "font": {"size": 13}},
    )  # fmt: skip
    for row, summary in enumerate(layers):
        if summary.prediction is not None:
            figure.add_annotation(
                x=1, xref="paper", xanchor="left", xshift=8, y=row, showarrow=False, font={"size": 13}, align="left",
                text=f"{escape_markup(shorten_to_width(summary.prediction, 10))} {percent(summary.probability)}",
            )  # fmt: skip
    right = 128 if layers[0].prediction is not None else 16
    figure.update_layout(margin={"r": right, "t": 56}, hovermode="closest")
    return figure


def rollout_map(rollout: Rollout, position: int, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the share of each input token in the hidden state of one position after every layer.

    The colour shows the square root of the share.

    Args:
        rollout: from `Session.rollout`.
        position: the position of the hidden state.
        lang: language of the names of the layers.
    """
    shares_LT = rollout.shares_LTT[:, position].astype(float)
    tokens = [escape_markup(shorten(token, 14)) for token in token_labels(rollout.tokens)]
    positions, ticks = list(range(len(tokens))), (0, 0.1, 0.25, 0.5, 1)
    layers = [escape_markup(render("figure-layer-number", lang, layer=layer)) for layer in range(len(shares_LT))]
    figure = empty_figure(height=180 + 30 * len(layers))
    figure.add_heatmap(
        z=np.sqrt(shares_LT).round(4), zmin=0, zmax=1, colorscale=PALETTE["sequential"], xgap=1, ygap=2,
        customdata=shares_LT.round(5), text=[tokens] * len(layers),
        hovertemplate="%{y} · %{text}: %{customdata:.1%}<extra></extra>",
        colorbar={
            "tickvals": np.sqrt(ticks).tolist(), "ticktext": [f"{tick:.0%}" for tick in ticks], "thickness": 10,
            # below the map, because beside it, it would take a quarter of a phone's screen
            "orientation": "h", "y": 0, "yanchor": "top", "len": 0.9,
        },
    )  # fmt: skip
    step = max(1, -(-len(tokens) // MAX_TOKEN_NAMES))
    figure.update_xaxes(
        side="top", tickangle=-90, tickvals=positions[::step], ticktext=tokens[::step], tickfont={"size": 12}
    )
    figure.update_yaxes(
        tickvals=list(range(len(layers))), ticktext=layers, autorange="reversed", ticklabelstandoff=6
    )  # fmt: skip
    return figure


def _lay_out(block: BlockMap, heights: list[int], lang: str) -> list[_Panel]:
    """Make the panels of `block_steps`: their captions, and their shapes and norms."""
    head_size, hidden_size = len(block.head_output_D), len(block.heads_H)
    captions = [
        render(f"figure-block-{name}", lang, **values)
        for name, values in (
            ("values", {"tokens": len(block.probs_T), "size": head_size}),
            ("head", {"head": block.head}),
            ("heads", {"heads": block.num_heads, "head": block.head}),
            ("attention", {}),
            ("input", {}),
            ("attention-sum", {}),
            ("attention-norm", {}),
            ("neurons", {"shown": min(MAX_NEURONS, len(block.neurons_I)), "count": len(block.neurons_I)}),
            ("feed-forward", {}),
            ("feed-forward-sum", {}),
            ("output", {"layer": block.layer}),
        )
    ]
    vectors = [
        None, block.head_output_D, block.heads_H, block.attention_H, block.input_H, block.attention_sum_H,
        block.attended_H, None, block.feed_forward_H, block.feed_forward_sum_H, block.output_H,
    ]  # fmt: skip
    shapes = [str(hidden_size)] * len(heights)
    shapes[1], shapes[2] = str(head_size), f"{block.num_heads} × {head_size}"
    panels, top = [], 0.0
    for caption, vector, shape, height in zip(captions, vectors, shapes, heights, strict=True):
        label = ""
        if vector is not None:
            norm = render("figure-block-norm", lang, norm=float(np.linalg.norm(vector.astype(float))))
            label = f"[{shape}]<br>{escape_markup(norm)}"
        top += _CAPTION
        panels.append(_Panel(escape_markup(caption), label, height, top))
        top += height + (2 * _GAP if height == _BARS else _GAP)  # the indices of the neurons stand below the bars
    return panels


def _collect_most_attended(block: BlockMap, lang: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return labels, value vectors and weighted values of the most attended tokens; the last row sums up the others."""
    labels = token_labels(block.tokens)
    shown_positions = sorted(np.argsort(-block.probs_T, kind="stable")[:MAX_TOKENS].tolist())
    names = [
        f"{escape_markup(shorten_to_width(labels[position], 9))} {_round_percent(float(block.probs_T[position]))}"
        for position in shown_positions
    ]
    values, weighted = block.value_TD[shown_positions], block.weighted_TD[shown_positions]
    others = np.setdiff1d(np.arange(len(labels)), shown_positions)
    if len(others):
        others_label = render("figure-block-others", lang, count=len(others))
        names.append(f"{escape_markup(others_label)} {_round_percent(float(block.probs_T[others].sum()))}")
        # NaN, because the other tokens have no common value vector
        values = np.vstack([values, np.full_like(values[:1], np.nan)])
        weighted = np.vstack([weighted, block.weighted_TD[others].sum(0)])
    return names, values, weighted


def _round_percent(share: float) -> str:
    """Format a share in whole percent, as HTML."""
    return f"{share:.0%}" if share >= 0.005 else "&lt; 1%"


def _fold(values: np.ndarray, head_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Fold a vector into rows of whole heads; return its cells, NaN where the last row is empty, and their indices."""
    width = min(head_size * max(1, FOLD // head_size), len(values))
    cells = np.full(-(-len(values) // width) * width, np.nan)
    cells[: len(values)] = values
    return cells.reshape(-1, width), np.arange(len(cells)).reshape(-1, width)


def _choose_limit(*vectors: np.ndarray) -> float:
    """Choose the absolute value that has the full colour: the 99.5 % quantile, so that a single large value does not
    make all others pale."""
    return float(np.nanquantile(np.abs(np.concatenate([vector.ravel() for vector in vectors])), 0.995)) or 1.0


def _frame_head(figure: go.Figure, suffix: str, block: BlockMap) -> None:
    """Frame the part of the concatenated vector that comes from the chosen head."""
    head_size = len(block.head_output_D)
    width = _fold(block.heads_H, head_size)[0].shape[1]
    row, first = divmod(block.head * head_size, width)
    figure.add_shape(
        type="rect", xref=f"x{suffix}", yref=f"y{suffix}", x0=first - 0.5, x1=first + head_size - 0.5,
        y0=row - 0.5, y1=row + 0.5, line={"color": COLOURS[2], "width": 2.5},
    )  # fmt: skip


def _add_neurons(column: _Column, panel: _Panel, block: BlockMap) -> None:
    """Draw the strongest feed-forward neurons as bars."""
    strongest = np.argsort(-np.abs(block.neurons_I), kind="stable")[:MAX_NEURONS]
    activations = block.neurons_I[strongest].astype(float)
    suffix, axes = column.add_axes(panel)
    column.figure.add_bar(
        x=list(range(len(strongest))), y=activations.round(4).tolist(), **axes, name=panel.caption,
        marker={"color": [BLUE if value >= 0 else ORANGE for value in activations], "cornerradius": 3},
        text=[signed(value, 1) for value in activations], textposition="outside", cliponaxis=False,
        textfont={"size": 11}, customdata=strongest, hovertemplate="[%{customdata}] %{y:.4f}<extra></extra>",
    )  # fmt: skip
    low, high = min(activations.min(), 0), max(activations.max(), 0)
    space = (high - low or 1) * 0.25
    ticks = {"tickvals": list(range(len(strongest))), "ticktext": strongest.astype(str).tolist()}
    column.figure.update_layout({
        f"xaxis{suffix}": ticks | {"showticklabels": True, "tickfont": {"size": 11}, "tickangle": 0},
        f"yaxis{suffix}": {"autorange": False, "range": [low - (space if low < 0 else 0), high + space]},
    })  # fmt: skip

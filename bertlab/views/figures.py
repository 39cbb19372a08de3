"""Plotly figures of results, for light and dark themes.

Backgrounds are transparent, and the host sets the colour of the text. No meaning depends on colour alone. All text is
escaped, because Plotly interprets some HTML.

Shape legend: T tokens, H hidden, L layers, N attention heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from bertlab.config.languages import DEFAULT, render, render_all
from bertlab.tasks.masked_lm import Candidate, MaskFill, Original
from bertlab.tasks.sentence_pair import NextSentence
from bertlab.tasks.span.answer import Answers
from bertlab.views.numbers import percent
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.shortening import shorten
from bertlab.views.token_labels import show_control_characters, token_labels

if TYPE_CHECKING:
    from bertlab.abilities.results import AttentionMap, InputMap, NeuronMap

BLUE, ORANGE, GREY = PALETTE["blue"], PALETTE["orange"], PALETTE["grey"]
COLOURS, GRID = PALETTE["series"], PALETTE["grid"]
# Zero is transparent. Negative values are light and positive ones dark, so that they differ not only in hue; where a
# cell has space, `signs` writes the sign into it.
DIVERGING = PALETTE["diverging"]
# (place on the scale, colour)
FAINT_TO_BLUE = [[0.0, transparent(BLUE, 0.04)], [1.0, transparent(BLUE, 0.9)]]
# the default settings of every axis
_AXIS = {
    "showgrid": False,
    "zeroline": False,
    "linecolor": GRID,
    "automargin": True,
    # The margins grow with the labels. By default Plotly measures each label again, to hide those that do not fit.
    "ticklabeloverflow": "allow",
    "ticks": "",
    "title": {"font": {"size": 13}},
}
TEMPLATE = go.layout.Template(
    layout={
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "colorway": [*COLOURS, GREY],
        "font": {"size": 14},
        "margin": {"l": 8, "r": 16, "t": 16, "b": 8},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "hoverlabel": {"font": {"size": 14}, "align": "left"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "bargap": 0.35,
    }
)
# Tick labels have at most three significant digits, so that close ticks stay distinct: 0.05%, 0.1%, 0.15%.
PERCENT_TICKS = ".3~p"
# "tickmode" is set because a second axis would otherwise use the ticks of the first
_PERCENT_AXIS = {"tickmode": "array", "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".0%"}
_MAX_DIMENSIONS = 96  # how many dimensions of an embedding `embedding_strips` shows


def mask_bars(fill: MaskFill, *, zoom: bool = False, lang: str = DEFAULT) -> go.Figure:
    """Draw the candidates for one mask as horizontal bars, the most probable one on top.

    The token that the mask replaced, if it is known, has an orange frame and its rank. With `zoom`, the axis ends at
    the longest bar instead of 100 %.
    """
    candidates: list[Candidate | Original] = list(fill.candidates)
    original_token = fill.original
    if original_token and original_token.id not in {candidate.id for candidate in candidates}:
        candidates.append(original_token)
    best, candidates = candidates[:1], candidates[::-1]  # Plotly draws the first bar at the bottom
    is_original = [original_token is not None and candidate.id == original_token.id for candidate in candidates]
    probabilities = [candidate.probability for candidate in candidates]
    rank = render("figure-original-rank", lang, rank=f"{original_token.rank:,}") if original_token else ""
    texts = [
        f"{percent(probability)}  {escape_markup(rank)}" if framed else percent(probability)
        for probability, framed in zip(probabilities, is_original, strict=True)
    ]
    figure = empty_figure(height=44 + 34 * len(candidates))
    colours = [BLUE if candidate in best else GREY for candidate in candidates]
    add_bars(figure, probabilities, [candidate.token for candidate in candidates], texts, colours)
    figure.update_traces(marker_line={"color": ORANGE, "width": [3 * framed for framed in is_original]})
    return figure.update_xaxes(
        range=bar_range(probabilities, zoom, space=1.9 if any(is_original) else 1.2), visible=False
    )


def add_bars(
    figure: go.Figure, lengths: Sequence[float], names: Sequence[str], texts: Sequence[str], colours: Sequence[str]
) -> None:
    """Add one horizontal bar for each name, from the bottom to the top, with a text behind it."""
    # The axis has positions instead of names, which may be equal and which Plotly may read as numbers ("2024").
    positions, labels = list(range(len(names))), [escape_markup(name) for name in names]
    figure.add_bar(
        x=lengths,
        y=positions,
        orientation="h",
        marker={"color": colours, "cornerradius": 4},
        text=texts,
        textposition="outside",
        cliponaxis=False,
        customdata=labels,
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )
    figure.update_yaxes(tickvals=positions, ticktext=labels, ticklabelstandoff=6)


def bar_range(probabilities: Sequence[float], zoom: bool, *, space: float) -> list[float]:
    """Return the range of an axis of probabilities, 0 to 100 %, or to the longest bar with `zoom`, times `space`."""
    return [0, (max(probabilities, default=1.0) or 1.0) * space if zoom else space]


def span_curves(answers: Answers, passage: str, *, zoom: bool = False, lang: str = DEFAULT) -> go.Figure:
    """Draw, for every word of the passage, the probability that the answer starts there, and that it ends there."""
    x_title, y_title = render_all(lang, "figure-passage-word", "figure-probability")
    words = [passage[start:end] for start, end in answers.words]
    positions = list(range(len(words)))
    figure = empty_figure(height=300)
    for name, probabilities, colour, dash, symbol in (
        ("start", answers.start_probs, BLUE, "solid", "circle"),
        ("end", answers.end_probs, ORANGE, "dot", "diamond"),
    ):
        figure.add_scatter(
            x=positions,
            y=list(probabilities),
            name=escape_markup(render(f"figure-{name}", lang)),
            mode="lines+markers" if len(positions) <= 120 else "lines",
            line={"color": colour, "width": 2.5, "dash": dash, "shape": "linear"},
            marker={"size": 6, "symbol": symbol},
            fill="tozeroy",
            fillcolor=transparent(colour, 0.12),
            customdata=[escape_markup(shorten(word, 28)) for word in words],
            hovertemplate="%{customdata}: %{y:.3f}",
        )
    step = max(1, -(-len(words) // 12))  # at most twelve words are labelled
    figure.update_xaxes(
        tickvals=positions[::step],
        ticktext=[escape_markup(shorten(word, 14)) for word in words[::step]],
        tickangle=-40,
        tickfont={"size": 12},
        title=escape_markup(x_title),
    )
    figure.update_yaxes(
        range=bar_range((*answers.start_probs, *answers.end_probs), zoom, space=1.05), title=escape_markup(y_title),
        showgrid=True, gridcolor=GRID, tickformat=PERCENT_TICKS, nticks=5,
    )  # fmt: skip
    figure.update_layout(hovermode="x unified", margin={"t": 40})
    for best in answers.answers[:1]:
        answer_words = [i for i, (start, end) in enumerate(answers.words) if start < best.end and end > best.start]
        if answer_words:
            figure.add_vrect(
                answer_words[0] - 0.5, answer_words[-1] + 0.5, fillcolor=BLUE, opacity=0.3, line_width=0,
                layer="below", name=escape_markup(render("figure-answer", lang)), showlegend=True,
            )  # fmt: skip
    return figure


def embedding_strips(embeddings: InputMap, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the embeddings of every token and their normalised sum as heat maps, one row for each token.

    Embeddings that the checkpoint does not have are left out. Each heat map has its own scale and at most 96
    dimensions.
    """
    labels = render_all(lang, "figure-token", "figure-position", "figure-segment", "figure-sum")
    all_parts = (embeddings.token_TH, embeddings.position_TH, embeddings.token_type_TH, embeddings.sum_TH)
    parts = [(values_TH, label) for values_TH, label in zip(all_parts, labels, strict=True) if np.any(values_TH)]
    tokens = [escape_markup(token) for token in token_labels(embeddings.tokens)]
    rows = list(range(len(tokens)))
    # The height has a minimum, so that the part of the page below the figure does not move while a user types.
    figure = empty_figure(height=96 + max(600, 17 * len(tokens)))
    gap = 0.03
    width = (1 - gap * (len(parts) - 1)) / max(1, len(parts))
    for column, (values_TH, label) in enumerate(parts):
        suffix = "" if column == 0 else str(column + 1)
        shown_TH = np.asarray(values_TH, float)[:, :_MAX_DIMENSIONS]
        # the 99 % quantile, so that a single large value does not make all others pale
        limit = float(np.quantile(np.abs(shown_TH), 0.99)) if shown_TH.size else 1.0
        figure.add_heatmap(
            z=shown_TH.round(4),
            y=rows,
            name=escape_markup(label),
            xaxis=f"x{suffix}",
            yaxis="y",
            zmin=-(limit or 1.0),
            zmax=limit or 1.0,
            colorscale=DIVERGING,
            showscale=False,
            ygap=3,
            customdata=np.repeat(np.array(tokens, object)[:, None], shown_TH.shape[1], axis=1),
            hovertemplate=escape_markup(label) + "<br>%{customdata} [%{x}]: %{z:.3f}<extra></extra>",
        )
        left = column * (width + gap)
        figure.layout[f"xaxis{suffix}"] = {
            "domain": [left, left + width],
            "anchor": "y",
            "side": "top",
            "showticklabels": False,
            "title": {"text": escape_markup(label), "standoff": 4},
        }
    figure.update_yaxes(tickvals=rows, ticktext=tokens, autorange="reversed", ticklabelstandoff=6)
    return figure


def attention_map(attention: AttentionMap, layer: int, head: int, *, lang: str = DEFAULT) -> go.Figure:
    """Draw one head as a heat map: the token of a row attends to that of a column with probability p, as sqrt(p)."""
    probs_TT = np.asarray(attention.probs_LNTT[layer, head], float)
    tokens = [escape_markup(token) for token in token_labels(attention.tokens)]
    positions, ticks = list(range(len(tokens))), (0, 0.1, 0.25, 0.5, 1)
    figure = empty_figure(height=140 + 18 * min(len(tokens), 40))
    figure.add_heatmap(
        z=np.sqrt(probs_TT).round(4), zmin=0, zmax=1, colorscale=PALETTE["sequential"],
        name=render("figure-layer-head", lang, layer=layer, head=head),
        customdata=probs_TT.round(5), hovertemplate="%{y} → %{x}: %{customdata:.3f}<extra></extra>",
        colorbar={"tickvals": np.sqrt(ticks).tolist(), "ticktext": [str(tick) for tick in ticks], "thickness": 12},
    )  # fmt: skip
    step = max(1, -(-len(tokens) // 40))
    tick_labels = {"tickvals": positions[::step], "ticktext": tokens[::step], "tickfont": {"size": 11}}
    figure.update_xaxes(side="top", tickangle=-60, **tick_labels)
    figure.update_yaxes(autorange="reversed", **tick_labels)
    return figure


def query_token_figure(neuron: NeuronMap, token: int | None = None, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the attention scores of one token's query for every key, and their softmax."""
    if token is None or not 0 <= token < len(neuron.tokens):
        token = next((row.position for row in neuron.tokens if not row.special), 0)
    tokens = [escape_markup(label) for label in token_labels(neuron.tokens)]
    positions = list(range(len(tokens)))
    figure = empty_figure(height=360)
    figure.add_scatter(
        x=positions, y=neuron.scores_TT[token].astype(float).round(4).tolist(), name="q·k / √D", mode="lines+markers",
        line={"color": ORANGE, "dash": "dot"}, marker={"symbol": "diamond"}, yaxis="y2",
    )  # fmt: skip
    figure.add_bar(
        x=positions, y=neuron.probs_TT[token].astype(float).round(5).tolist(),
        name=render("figure-softmax", lang, token=tokens[token]),
    )  # fmt: skip
    figure.update_traces(customdata=tokens, hovertemplate="%{customdata}: %{y:.3f}")
    step = max(1, -(-len(tokens) // 40))
    figure.update_xaxes(tickvals=positions[::step], ticktext=tokens[::step], tickangle=-60)
    figure.update_layout(
        yaxis={"range": [0, 1], **_PERCENT_AXIS}, yaxis2={**_AXIS, "overlaying": "y", "side": "right"}, margin={"t": 40}
    )
    return figure


def nsp_gauge(answer: NextSentence, *, labels: tuple[str, str] | None = None) -> go.Figure:
    """Draw the probabilities of both outcomes, such as IsNext and NotNext, as one bar of two parts."""
    figure = empty_figure(height=112)
    shares = (answer.probability, 1 - answer.probability)
    for share, label, colour in zip(shares, labels or answer.outcomes, (BLUE, ORANGE), strict=True):
        figure.add_bar(
            x=[share],
            y=[0],
            orientation="h",
            name=f"{escape_markup(label)} {percent(share)}",
            marker={"color": colour},
            hovertemplate=f"{escape_markup(label)}: {percent(share)}<extra></extra>",
        )
    figure.add_vline(0.5, line={"color": PALETTE["themes"]["light"]["ground"], "width": 2, "dash": "dot"})
    figure.update_xaxes(range=[0, 1], **_PERCENT_AXIS)
    figure.update_yaxes(visible=False)
    figure.update_layout(
        barmode="stack", bargap=0.1, margin={"l": 24, "r": 28}, legend={"traceorder": "normal", "font": {"size": 15}}
    )
    return figure


def escape_markup(text: str) -> str:
    """Escape a text for Plotly, which interprets HTML and its own placeholders in labels.

    >>> escape_markup("<b>x</b> %{y}")
    '&lt;b&gt;x&lt;/b&gt; %&#123;y}'
    """
    visible = escape(show_control_characters(text), quote=False)
    return visible.replace("%{", "%&#123;").encode("utf-8", "replace").decode()


def empty_figure(height: int) -> go.Figure:
    """Make an empty figure with the template of all figures; the height is in pixels."""
    return go.Figure(layout={"template": TEMPLATE, "height": height})


def insert_number(name: str, number: object) -> str:
    """Replace the {} of a name by a number.

    >>> insert_number("layer {}", 3), insert_number("{}번 레이어", 3)
    ('layer 3', '3번 레이어')
    """
    return escape_markup(name).replace("{}", str(number))


def name_layer_and_head(axes: tuple[str, str] | None, lang: str) -> tuple[str, str]:
    """Return the names of a layer and of a head, with {} for the number; `axes` are the words for head and layer."""
    if axes:
        return f"{axes[1]} {{}}", f"{axes[0]} {{}}"
    return render("figure-layer-number", lang, layer="{}"), render("figure-head-number", lang, head="{}")


def name_rows(figure: go.Figure, name: str, layers: Sequence[int]) -> None:
    """Label the rows with numbered names, from top to bottom; Plotly would rotate a title, making Hangul unreadable."""
    names = [insert_number(name, layer) for layer in layers]
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, autorange="reversed", ticklabelstandoff=6)


def signs(values: np.ndarray, limit: float, min_share: float = 0.1) -> list[list[str]]:
    """Return the sign of each value, for readers without colour vision; "" below `min_share * limit`.

    >>> signs(np.array([[0.9, -0.5, 0.01]]), 1.0)
    [['+', '−', '']]
    """
    return [["" if abs(v) < min_share * limit else "+" if v > 0 else "−" for v in row] for row in values]

"""Figures of the attention between a question and its answer: a map of all heads, and the tokens one head attends to.

Shape legend: T tokens, N heads, L layers.
"""

import numpy as np
import plotly.graph_objects as go

from bertlab.abilities.results import SpanAttention
from bertlab.config.languages import DEFAULT, render_all
from bertlab.views.figures import (
    BLUE,
    FAINT_TO_BLUE,
    GREY,
    ORANGE,
    PERCENT_TICKS,
    empty_figure,
    escape_markup,
    insert_number,
    name_layer_and_head,
    name_rows,
)
from bertlab.views.numbers import percent
from bertlab.views.palette import transparent
from bertlab.views.passage import escape_html
from bertlab.views.token_labels import token_labels


def heads_map(
    share_LN: np.ndarray,
    uniform_share: float,
    chosen: tuple[int, int] | None = None,
    *,
    axes: tuple[str, str] | None = None,
    labels: tuple[str, str] | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw a square for each head, darker for a larger share of attention from one part of the input to another.

    The customdata of a square begins with layer and head, so that a page can react to a click.

    Args:
        share_LN: for every head, the share of the attention of one part of the input, such as the question, that goes
            to the other part, such as the answer.
        uniform_share: this share for a head that attends to all tokens equally.
        chosen: (layer, head) to frame, counted from 0.
        axes: titles of the columns and the rows.
        labels: the words for the share of attention and for uniform attention; the tooltip shows the share of a head as
            a multiple of `uniform_share`.
        lang: language of the default texts.
    """
    layer_name, head_name = name_layer_and_head(axes, lang)
    axes = axes or render_all(lang, "figure-head", "figure-layer")
    labels = labels or render_all(lang, "figure-attention-share", "figure-uniform-attention")
    layers, heads = share_LN.shape
    layer_heads = [(layer, head) for layer in range(layers) for head in range(heads)]
    figure = empty_figure(height=140 + 34 * layers)
    flat_shares = share_LN.ravel().astype(float)
    figure.add_scatter(
        x=[head for _, head in layer_heads],
        y=[layer for layer, _ in layer_heads],
        mode="markers",
        customdata=[
            [layer, head, share / uniform_share] for (layer, head), share in zip(layer_heads, flat_shares, strict=True)
        ],
        marker={
            "symbol": "square",
            "size": 24 if heads < 9 else 17,  # so that twelve heads fit on a phone
            "color": flat_shares.round(5),
            "colorscale": FAINT_TO_BLUE,
            "cmin": 0,
            "cmax": max(float(flat_shares.max()), 1e-9),
            "line": {
                "width": [3 if layer_head == chosen else 1 for layer_head in layer_heads],
                "color": [ORANGE if layer_head == chosen else transparent(GREY, 0.4) for layer_head in layer_heads],
            },
            "colorbar": {
                "tickformat": PERCENT_TICKS,
                "nticks": 5,
                "thickness": 10,
                "outlinewidth": 0,
                "title": {"text": escape_markup(labels[0]), "side": "bottom", "font": {"size": 13}},
                # beside the map, it would take half of a phone's screen
                "orientation": "h",
                "y": 0,
                "yanchor": "top",
                "len": 0.9,  # so that the last number is not cut off
            },
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate=f"%{{y}} · {insert_number(head_name, '%{x}')}<br>{escape_markup(labels[0])} %{{marker.color:.1%}}"
        f"<br>%{{customdata[2]:.1f}} × {escape_markup(labels[1])}<extra></extra>",
    )
    title = {"text": escape_markup(axes[0]), "font": {"size": 13}}
    figure.update_xaxes(tickvals=list(range(heads)), range=[-0.6, heads - 0.4], title=title, side="top")
    figure.update_layout(margin={"t": 56})
    name_rows(figure, layer_name, range(layers))
    figure.update_yaxes(range=[layers - 0.4, -0.6], autorange=False)  # the same margin as on the x axis
    return figure


def attended_tokens_html(attention: SpanAttention, layer: int, head: int, *, from_answer: bool = False) -> str:
    """Write the question and a part of the passage; the more the question attends to a token, the darker the token.

    The question has a solid underline, the answer a dashed one; the tooltip of a token shows its exact share.

    Args:
        attention: from `Session.span_attention`.
        layer: the layer, from 0.
        head: the head, from 0.
        from_answer: show the attention from the answer instead of the question.
    """
    share_T = (attention.from_answer_LNT if from_answer else attention.from_question_LNT)[layer, head]
    largest = float(share_T.max()) or 1.0
    question, answer, html = set(attention.question), set(attention.answer), []
    for token, label in zip(attention.tokens, token_labels(attention.tokens), strict=True):
        share = float(share_T[token.position])
        line = "solid" if token.position in question else "dashed" if token.position in answer else ""
        underline = f"border-bottom: 3px {line} {BLUE if line == 'solid' else ORANGE};" if line else ""
        style = (
            f"display: inline-block; margin: 0 2px 4px 0; padding: 0 4px; border-radius: 4px; "
            f"background: {transparent(BLUE, round(0.85 * share / largest, 3))}; {underline}"
        )
        html.append(f'<bdi style="{style}" title="{percent(share)}">{escape_html(label)}</bdi>')
    return f'<div class="bl-attended" style="overflow-wrap: anywhere; line-height: 1.6;">{" ".join(html)}</div>'

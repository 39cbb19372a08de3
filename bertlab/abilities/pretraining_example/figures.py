"""Views of one pre-training example: its tokens and what replaces some of them, the candidates, the losses.

As in `passage` and `figures`, text is escaped, and colour never has a meaning alone.
"""

from collections.abc import Sequence
from html import escape
from itertools import accumulate

import plotly.graph_objects as go

from bertlab.abilities.pretraining_example.results import ExampleLosses, ExampleToken, PretrainingExample
from bertlab.config.languages import DEFAULT, render, render_all
from bertlab.views.export import Columns
from bertlab.views.figures import BLUE, FAINT_TO_BLUE, GREY, GRID, ORANGE, empty_figure, escape_markup
from bertlab.views.numbers import percent
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.passage import escape_html
from bertlab.views.shortening import shorten_to_width

# (colour, line style) of a predicted token, by what replaces it
_REPLACEMENT_STYLES = {
    "mask": (PALETTE["marks"][3], "double"),
    "random": (PALETTE["marks"][4], "dashed"),
    "unchanged": (PALETTE["marks"][2], "solid"),
}
# (colour, line style) of the other tokens, by their sentence
_SENTENCE_STYLES = {"a": (PALETTE["marks"][0], "solid"), "b": (PALETTE["marks"][1], "dashed")}
_SPECIAL_STYLE = (GREY, "dotted")  # of [CLS] and [SEP]
MAX_LABEL = 12  # maximum width of a token in the grid of candidates; the unit is the width of a Latin letter


def example_html(example: PretrainingExample, *, lang: str = DEFAULT) -> str:
    """Write the tokens in a line that wraps, each token to predict beside the one that replaces it, and a legend.

    Args:
        example: from `Session.pretraining_example`.
        lang: language of the legend and the tooltips.
    """
    names = _name_replacement_kinds(lang)
    tokens = " ".join(_draw_token(token, names) for token in example.tokens)
    return (
        f'<div class="bl-tokens" style="overflow-wrap: anywhere;">{tokens}</div>'
        f'<div class="bl-legend" style="font-size: 0.92rem;">{_draw_legend(example, lang)}</div>'
    )


def candidate_grid(example: PretrainingExample, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the candidates for every token to predict (rows), the most probable first, and the true token at the end.

    The bluer a cell, the more probable the token; a candidate that is the true token has an orange frame.

    Args:
        example: from `Session.pretraining_example`.
        lang: language of the names.
    """
    true_name, probability_name, rank_name = render_all(lang, "figure-true-token", "figure-probability", "figure-rank")
    rows = example.predictions
    count = max((len(row.candidates) for row in rows), default=0)
    probabilities, texts, hover = [], [], []
    for row in rows:
        probabilities.append([*(candidate.probability for candidate in row.candidates), row.probability])
        cells = [shorten_to_width(candidate.token, MAX_LABEL) for candidate in row.candidates]
        texts.append([escape_markup(cell) for cell in [*cells, f"{percent(row.probability)} · {row.rank:,}"]])
        hover.append([
            *(f"{escape_markup(candidate.token)}: {percent(candidate.probability)}" for candidate in row.candidates),
            f"{escape_markup(row.token)}: {escape_markup(probability_name)} {percent(row.probability)}, "
            f"{escape_markup(rank_name)} {row.rank:,}",
        ])  # fmt: skip
    figure = empty_figure(height=64 + 32 * max(1, len(rows)))
    figure.add_heatmap(
        z=[[round(probability, 5) for probability in line] for line in probabilities],
        x=list(range(count + 1)), y=list(range(len(rows))), zmin=0, zmax=1, colorscale=FAINT_TO_BLUE,
        showscale=False, xgap=2, ygap=2,
        text=texts, texttemplate="%{text}", textfont={"size": 12},
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    for index, row in enumerate(rows):
        for column, candidate in enumerate(row.candidates):
            if candidate.id == row.id:
                figure.add_shape(
                    type="rect", x0=column - 0.5, x1=column + 0.5, y0=index - 0.5, y1=index + 0.5,
                    line={"color": ORANGE, "width": 2},
                )  # fmt: skip
    figure.update_xaxes(
        side="top", tickvals=list(range(count + 1)),
        ticktext=[*(str(rank) for rank in range(1, count + 1)), escape_markup(true_name)],
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(len(rows))), autorange="reversed", ticklabelstandoff=6,
        ticktext=[f"{row.position} {escape_markup(shorten_to_width(row.token, MAX_LABEL))}" for row in rows],
    )  # fmt: skip
    return figure


def loss_curves(losses: Sequence[ExampleLosses], *, lang: str = DEFAULT) -> go.Figure:
    """Draw the losses of every example as points, and their running means as lines.

    Args:
        losses: from `Session.pretraining_losses`.
        lang: language of the names.
    """
    figure = empty_figure(height=300)
    axis = render("figure-draw", lang)
    seeds = [row.seed for row in losses]  # the page calls a seed the number of the draw
    styles = zip(("total", "mlm", "pair"), (GREY, BLUE, ORANGE), ("dot", "solid", "dash"), strict=True)
    for name, colour, dash in styles:
        values = [getattr(row, name) for row in losses]
        if (name == "total" and all(row.pair is None for row in losses)) or None in values:
            continue  # without a sentence-pair loss, the total equals the MLM loss
        title = escape_markup(render(f"figure-loss-{name}", lang))
        mean_title = escape_markup(render("figure-running-mean", lang, loss=render(f"figure-loss-{name}", lang)))
        figure.add_scatter(
            x=seeds, y=values, mode="markers", marker={"color": colour, "size": 6}, opacity=0.4, showlegend=False,
            hovertemplate=f"{escape_markup(axis)} %{{x}}<br>{title}: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
        figure.add_scatter(
            x=seeds, y=compute_running_means(values), mode="lines" if len(values) > 1 else "markers", name=mean_title,
            line={"color": colour, "width": 2.5, "dash": dash}, marker={"color": colour, "size": 8},
            hovertemplate=f"{escape_markup(axis)} %{{x}}<br>{mean_title}: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title={"text": escape_markup(axis), "font": {"size": 13}}, tickformat="d")
    if len(seeds) <= 10:
        figure.update_xaxes(tickvals=seeds)
    figure.update_yaxes(rangemode="tozero", showgrid=True, gridcolor=GRID, nticks=6)
    figure.update_layout(margin={"t": 40})
    return figure


def compute_running_means(values: Sequence[float]) -> list[float]:
    """Compute the mean of the values up to each one.

    >>> compute_running_means([2.0, 4.0, 0.0])
    [2.0, 3.0, 2.0]
    """
    return [total / count for count, total in enumerate(accumulate(values), 1)]


def candidate_columns(example: PretrainingExample) -> Columns:
    """Make one row for every candidate of every token to predict."""
    pairs = [(row, rank, candidate) for row in example.predictions for rank, candidate in enumerate(row.candidates, 1)]
    return {
        "draw": [example.seed] * len(pairs),
        "position": [row.position for row, _, _ in pairs], "true_token": [row.token for row, _, _ in pairs],
        "replacement_kind": [row.replacement_kind for row, _, _ in pairs],
        "input_token": [row.input_token for row, _, _ in pairs],
        "true_probability": [row.probability for row, _, _ in pairs], "true_rank": [row.rank for row, _, _ in pairs],
        "loss": [row.loss for row, _, _ in pairs], "candidate_rank": [rank for _, rank, _ in pairs],
        "candidate": [candidate.token for _, _, candidate in pairs],
        "probability": [candidate.probability for _, _, candidate in pairs],
    }  # fmt: skip


def loss_columns(losses: Sequence[ExampleLosses]) -> Columns:
    """Make one row for every drawn example: its seed (column "draw"), its losses and their running means."""
    columns: Columns = {"draw": [row.seed for row in losses]}
    for name in ("mlm", "pair", "total"):
        values = [getattr(row, name) for row in losses]
        if None not in values:
            columns |= {f"{name}_loss": values, f"{name}_mean": compute_running_means(values)}
    return columns


def _name_replacement_kinds(lang: str) -> dict[str, str]:
    """Return {kind of replacement: its name in a language}."""
    return {kind: render(f"figure-replacement-{kind}", lang) for kind in _REPLACEMENT_STYLES}


def _draw_token(token: ExampleToken, names: dict[str, str]) -> str:
    """Write a token as HTML; a token that another one replaces is crossed out, and the other one follows."""
    label, title = escape_html(token.token), str(token.position)
    if token.replacement_kind is None:
        style = _SPECIAL_STYLE if token.special else _SENTENCE_STYLES["ab"[token.segment]]
        return f'<bdi style="{_write_css(*style, 0.12)}" title="{title}">{label}</bdi>'
    if token.replacement_kind != "unchanged":
        label = f'<s style="opacity: 0.75;">{label}</s> <b>{escape_html(token.input_token)}</b>'
    else:
        label = f"<b>{label}</b>"
    css = _write_css(*_REPLACEMENT_STYLES[token.replacement_kind], 0.3)
    return f'<bdi style="{css}" title="{title}: {escape(names[token.replacement_kind])}">{label}</bdi>'


def _draw_legend(example: PretrainingExample, lang: str) -> str:
    """Write the legend as HTML: the kinds of replacement, with how many tokens each replaced, and the two sentences."""
    names = _name_replacement_kinds(lang)
    entries = [
        (style, f"{names[kind]} {sum(token.replacement_kind == kind for token in example.tokens)}", 0.3)
        for kind, style in _REPLACEMENT_STYLES.items()
    ]
    entries += [(style, render(f"figure-sentence-{name}", lang), 0.12) for name, style in _SENTENCE_STYLES.items()]
    return " ".join(
        f'<span style="{_write_css(*style, opacity)}">{escape_html(name)}</span>' for style, name, opacity in entries
    )


def _write_css(colour: str, line: str, opacity: float) -> str:
    """Write the CSS of a token: `colour` and `opacity` of its background, and `line`, the style of its underline."""
    width = 4 if line == "double" else 2  # a thinner double line would look like a single one
    return (
        f"display: inline-block; margin: 0 4px 6px 0; padding: 1px 8px; border-radius: 6px; line-height: 1.6; "
        f"background: {transparent(colour, opacity)}; border-bottom: {width}px {line} {colour};"
    )

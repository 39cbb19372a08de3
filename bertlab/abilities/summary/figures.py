"""Show the sentences of a summary: marked in the text, and their scores as bars."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertlab.abilities.summary.compute import Summary
from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import BLUE, GREY, GRID, ORANGE, empty_figure, escape_markup
from bertlab.views.palette import transparent
from bertlab.views.passage import PASSAGE_STYLE, escape_html
from bertlab.views.shortening import shorten

MAX_HOVER_LENGTH = 80  # maximum number of characters of a sentence in the tooltip of its bar


def summary_html(text: str, summary: Summary) -> str:
    """Write the text: chosen sentences are blue, with their scores; the first sentences have a dotted top line.

    Args:
        text: the text that was summarised.
        summary: its summary.
    """
    parts, cursor = [], 0
    for index, sentence in enumerate(summary.sentences):
        is_chosen = index in summary.chosen
        style = "color: inherit; background: none; padding: 2px 0;"
        if index in summary.first:
            style += f" border-top: 2px dotted {ORANGE};"
        if is_chosen:
            style += f" background: {transparent(BLUE, 0.25)}; border-bottom: 3px solid {BLUE}; border-radius: 3px;"
        tag, score = ("mark", f"<sup> {sentence.score:.2f}</sup>") if is_chosen else ("span", "")
        parts.append(escape_html(text[cursor : sentence.start]))
        parts.append(
            f'<{tag} style="{style}" title="{index + 1}: {sentence.score:.2f}">'
            f"{escape_html(sentence.text)}{score}</{tag}>"
        )
        cursor = sentence.end
    return (
        f'<div class="bl-passage" dir="auto" style="{PASSAGE_STYLE}">{"".join(parts)}{escape_html(text[cursor:])}</div>'
    )


def sentence_list_html(summary: Summary, indices: Sequence[int]) -> str:
    """Write a list of some sentences; an item has the number that its sentence has in the text, counted from 1."""
    items = [
        f'<li value="{index + 1}" dir="auto" style="margin-bottom: 6px;">{escape_html(summary.sentences[index].text)}'
        f' <span style="opacity: 0.7;">({summary.sentences[index].score:.2f})</span></li>'
        for index in indices
    ]
    return f'<ol style="{PASSAGE_STYLE} padding-left: 2.2em;">{"".join(items)}</ol>'


def score_bars(summary: Summary, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the score of every sentence, in text order; the bars of chosen sentences are blue and numbered.

    Args:
        summary: the summary.
        lang: the language of the axis titles.
    """
    chosen, numbers = set(summary.chosen), range(1, len(summary.sentences) + 1)
    figure = empty_figure(height=240)
    figure.add_bar(
        x=list(numbers), y=[sentence.score for sentence in summary.sentences],
        marker={"color": [BLUE if number - 1 in chosen else GREY for number in numbers], "cornerradius": 3},
        text=[str(number) if number - 1 in chosen else "" for number in numbers], textposition="outside",
        cliponaxis=False,
        customdata=[escape_markup(shorten(sentence.text, MAX_HOVER_LENGTH)) for sentence in summary.sentences],
        hovertemplate="%{x}: %{y:.2f}<br>%{customdata}<extra></extra>",
    )  # fmt: skip
    if not summary.has_learned_scores:
        figure.add_hline(y=1, line={"color": GREY, "dash": "dot", "width": 1})  # the mean centrality is 1
    figure.update_xaxes(title=render("figure-sentence-number", lang), nticks=12, showgrid=False)
    figure.update_yaxes(
        title=render("figure-summary-score" if summary.has_learned_scores else "figure-centrality", lang),
        rangemode="tozero",
        showgrid=True,
        gridcolor=GRID,
        nticks=5,
    )
    return figure

"""Figures of the writing aids: the surprise of every word, and the words that the model proposes."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertlab.config.languages import DEFAULT, render
from bertlab.explore.writing.surprise import ProposedWord, TextSurprise
from bertlab.views.figures import BLUE, GREY, GRID, ORANGE, bar_range, empty_figure, escape_markup
from bertlab.views.numbers import percent
from bertlab.views.shortening import shorten

MAX_LABELLED = 40  # with more words, the axis shows numbers instead of words
MAX_LABEL = 14  # characters of a word at the axis


def surprise_bars(surprise: TextSurprise, threshold: float | None = None, *, lang: str = DEFAULT) -> go.Figure:
    """The surprise of every word in nats, in text order, with a dotted line at the threshold.

    Args:
        surprise: the surprise of the words.
        threshold: words above it are orange; None to draw no threshold.
        lang: the language of the axis titles.
    """
    words = surprise.words
    misfits = set() if threshold is None else set(surprise.find_misfits(threshold))
    names = [escape_markup(shorten(word.text, MAX_LABEL)) for word in words]
    figure = empty_figure(height=300)
    figure.add_bar(
        x=list(range(len(words))), y=[word.surprise for word in words],
        marker={"color": [ORANGE if index in misfits else BLUE for index in range(len(words))], "cornerradius": 3},
        customdata=[[index, name] for index, name in enumerate(names)],
        hovertemplate="%{customdata[1]}: %{y:.2f}<extra></extra>",
    )  # fmt: skip
    if threshold is not None:
        figure.add_hline(y=threshold, line={"color": GREY, "dash": "dot", "width": 1})
    if len(words) <= MAX_LABELLED:
        figure.update_xaxes(tickvals=list(range(len(words))), ticktext=names, tickangle=-60, showgrid=False)
    else:
        figure.update_xaxes(title=render("figure-word-number", lang), showgrid=False, nticks=12)
    title = render("figure-surprise", lang)
    figure.update_yaxes(title=title, rangemode="tozero", showgrid=True, gridcolor=GRID, nticks=5)
    return figure


def proposal_bars(words: Sequence[ProposedWord]) -> go.Figure:
    """Proposed words with their probabilities as horizontal bars, most probable on top."""
    rows, best = list(words)[::-1], list(words)[:1]  # the first bar is at the bottom
    probabilities = [row.probability for row in rows]
    figure = empty_figure(height=44 + 34 * len(rows))
    figure.add_bar(
        x=probabilities, y=list(range(len(rows))), orientation="h",
        marker={"color": [BLUE if row in best else GREY for row in rows], "cornerradius": 4},
        text=[percent(probability) for probability in probabilities], textposition="outside", cliponaxis=False,
        customdata=[[row.text, escape_markup(row.text)] for row in rows],
        hovertemplate="%{customdata[1]}: %{text}<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticktext=[escape_markup(row.text) for row in rows], ticklabelstandoff=6
    )
    figure.update_xaxes(range=bar_range(probabilities, True, space=1.2), visible=False)
    return figure

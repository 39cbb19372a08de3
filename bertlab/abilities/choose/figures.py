"""Figures of a multiple-choice prediction: the probability of each choice, and where its score comes from.

Shape legend: C choices, H hidden.
"""

import numpy as np
import plotly.graph_objects as go

from bertlab.abilities.choose.compute import ChoiceScores
from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import BLUE, GREY, GRID, ORANGE, bar_range, empty_figure, escape_markup
from bertlab.views.numbers import SignedNumber, percent
from bertlab.views.shortening import shorten

MAX_DIMENSIONS = 24  # with more bars, each would be too thin to point at


def choice_bars(scores: ChoiceScores, *, zoom: bool = False) -> go.Figure:
    """Draw the probability of every choice as a bar. Choices are numbered from 1; the most probable one is blue.

    Args:
        scores: from `Session.choice_scores`.
        zoom: end the axis at the longest bar instead of 100 %.
    """
    choices = scores.choices[::-1]
    probabilities = [choice.probability for choice in choices]
    best = max(probabilities)
    figure = empty_figure(height=44 + 44 * len(choices))
    figure.add_bar(
        x=probabilities, y=list(range(len(choices))), orientation="h",
        marker={"color": [BLUE if value == best else GREY for value in probabilities], "cornerradius": 4},
        text=[percent(value) for value in probabilities], textposition="outside", cliponaxis=False,
        customdata=[f"{escape_markup(shorten(choice.text, 60))}<br>{choice.score:+.2f}" for choice in choices],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(len(choices))), ticklabelstandoff=6,
        ticktext=[
            f"{len(choices) - index} · {escape_markup(shorten(choice.text, 18))}"
            for index, choice in enumerate(choices)
        ],
    )  # fmt: skip
    figure.update_xaxes(range=bar_range(probabilities, zoom, space=1.28), visible=False)
    return figure


def choice_products(
    scores: ChoiceScores, first: int = 0, second: int = 1, *, limit: int = MAX_DIMENSIONS, lang: str = DEFAULT
) -> go.Figure:
    """Draw the difference between the scores of two choices, dimension by dimension, the largest difference first.

    The score of a choice is a sum over the dimensions of its pooled [CLS] vector: each component times its weight in
    the output layer.

    A blue bar points up and favours the first choice; an orange bar points down and favours the second. All bars,
    including the grey one for the remaining dimensions, add up to the difference between the two scores.

    Args:
        scores: from `Session.choice_scores`.
        first: the index of a choice.
        second: the index of the choice to compare it with.
        limit: maximum number of dimensions with their own bar; the others are added up in one grey bar.
        lang: the language of the labels.
    """
    difference_H = scores.products_CH[first] - scores.products_CH[second]
    order = np.argsort(-np.abs(difference_H), kind="stable")
    shown_dimensions, others = order[:limit], order[limit:]
    values = difference_H[shown_dimensions].tolist()
    names = [str(dimension) for dimension in shown_dimensions.tolist()]
    colors = [BLUE if value >= 0 else ORANGE for value in values]
    if len(others):
        values.append(float(difference_H[others].sum()))
        names.append(render("figure-other-dimensions", lang, count=len(others)))
        colors.append(GREY)
    figure = empty_figure(height=300)
    figure.add_bar(
        x=list(range(len(values))), y=values, marker={"color": colors, "cornerradius": 3},
        customdata=names, hovertemplate="%{customdata}: %{y:+.3f}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(
        title=render("figure-dimension", lang),
        tickvals=list(range(len(names))),
        ticktext=names,
        tickangle=-90,
        tickfont={"size": 12},
    )
    total = SignedNumber(float(difference_H.sum()))
    title = render("figure-score-difference", lang, total=f"{total:+.2f}")
    figure.update_yaxes(title=title, zeroline=True, zerolinecolor=GRID, showgrid=True, gridcolor=GRID, nticks=5)
    return figure

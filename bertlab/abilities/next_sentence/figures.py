"""Figures of next-sentence prediction: ranked candidates for sentence B, and the results of test pairs by kind."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertlab.abilities.next_sentence.laboratory import TEST_PAIR_KINDS, RankedSentence, TestPairResult
from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import BLUE, GREY, ORANGE, bar_range, empty_figure, escape_markup
from bertlab.views.numbers import percent
from bertlab.views.shortening import shorten


def candidate_bars(ranking: Sequence[RankedSentence], *, zoom: bool = False) -> go.Figure:
    """Draw the probability that each candidate follows sentence A; the most probable candidate is on top and blue.

    Args:
        ranking: from `Session.rank_next_sentences`.
        zoom: end the axis at the longest bar instead of 100 %.
    """
    rows = list(ranking)[::-1]
    probabilities = [row.probability for row in rows]
    figure = empty_figure(height=44 + 44 * len(rows))
    figure.add_bar(
        x=probabilities, y=list(range(len(rows))), orientation="h",
        marker={"color": [BLUE if row is ranking[0] else GREY for row in rows], "cornerradius": 4},
        text=[percent(probability) for probability in probabilities], textposition="outside", cliponaxis=False,
        customdata=[escape_markup(shorten(row.text, 80)) for row in rows],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticklabelstandoff=6,
        ticktext=[f"B{row.index + 1} · {escape_markup(shorten(row.text, 16))}" for row in rows],
    )  # fmt: skip
    figure.update_xaxes(range=bar_range(probabilities, zoom, space=1.2), visible=False)
    return figure


def pair_kind_bars(results: Sequence[TestPairResult], *, lang: str = DEFAULT) -> go.Figure:
    """Draw the share of correct predictions and the mean probability of IsNext, for each kind of second sentence.

    Args:
        results: from `Session.predict_test_pairs`.
        lang: the language of the labels.
    """
    kinds = TEST_PAIR_KINDS[::-1]
    by_kind = {kind: [result for result in results if result.kind == kind] for kind in kinds}
    # (message id, colour, function from the results of one kind to the length of its bar)
    series = (
        ("figure-test-pairs-correct", BLUE, lambda rows: sum(row.is_correct for row in rows) / len(rows)),
        ("figure-test-pairs-probability", ORANGE, lambda rows: sum(row.probability for row in rows) / len(rows)),
    )
    figure = empty_figure(height=300)
    for label, colour, measure in series:
        values = [measure(by_kind[kind]) for kind in kinds]
        figure.add_bar(
            x=values, y=[render(f"figure-test-pair-{kind.replace('_', '-')}", lang) for kind in kinds], orientation="h",
            name=render(label, lang), marker={"color": colour, "cornerradius": 4},
            text=[f"{value:.0%}" for value in values], textposition="outside", cliponaxis=False,
            hovertemplate="%{y}: %{text}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(range=[0, 1.15], visible=False)
    figure.update_layout(barmode="group", showlegend=True, legend={"orientation": "h", "y": -0.1})
    return figure

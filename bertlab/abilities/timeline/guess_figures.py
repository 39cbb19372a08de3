"""Compare people's guesses for a masked word with a snapshot's predictions in a Plotly figure.

Shape legend: S snapshots, W guessed words.
"""

import plotly.graph_objects as go

from bertlab.abilities.timeline.guesses import GuessTimeline
from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import BLUE, ORANGE, bar_range, empty_figure, escape_markup
from bertlab.views.numbers import percent

MAX_WORDS = 10  # how many guessed words are drawn, the most frequent ones


def guess_bars(timeline: GuessTimeline, index: int = -1, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the share of people who guessed each word, and the probability that a snapshot gives to the word.

    The most probable tokens of the snapshot are drawn too, even if nobody guessed them.

    Args:
        timeline: the result of `explore.guesses.compare_guesses`.
        index: the index of the snapshot.
        lang: the language of the legend.
    """
    words, shares, probabilities = guess_columns(timeline, index).values()
    figure = empty_figure(height=110 + 46 * len(words))
    names = render("figure-guesses-people", lang), render("figure-guesses-model", lang)
    axis_factor = 1.2  # the axis is longer than the longest bar by this factor, so that the text after the bar has room
    for values, name, colour in ((probabilities[::-1], names[1], ORANGE), (shares[::-1], names[0], BLUE)):
        figure.add_bar(
            x=values, y=list(range(len(words))), orientation="h", name=name,
            marker={"color": colour, "cornerradius": 4}, text=[percent(value) if value else "" for value in values],
            textposition="outside", cliponaxis=False,
            customdata=[escape_markup(word) for word in words[::-1]],
            hovertemplate="%{customdata}: %{x:.1%}<extra>" + escape_markup(name) + "</extra>",
        )  # fmt: skip
    labels = [escape_markup(word) for word in words[::-1]]
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(words))), ticktext=labels)
    figure.update_xaxes(visible=False, range=bar_range([*shares, *probabilities], True, space=axis_factor))
    return figure.update_layout(barmode="group", legend={"traceorder": "reversed"})


def guess_columns(timeline: GuessTimeline, index: int = -1) -> dict[str, list]:
    """Return the words of `guess_bars`, each with its share of guesses and its probability, as CSV columns."""
    words = list(timeline.words[:MAX_WORDS])
    shares = timeline.shares_W[:MAX_WORDS].tolist()
    probabilities = timeline.probs_SW[index][:MAX_WORDS].tolist()
    for token, probability in timeline.best_S[index]:
        if token not in timeline.words:
            words.append(token)
            shares.append(0.0)
            probabilities.append(probability)
    return {"word": words, "people": shares, "probability": probabilities}

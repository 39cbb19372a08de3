"""Figures of the writing aids: the surprise of every word, suggested changes, and proposed words."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertlab.abilities.writing.corrections import Correction
from bertlab.abilities.writing.surprise import ProposedWord, TextSurprise
from bertlab.config.languages import DEFAULT, render
from bertlab.views.figures import BLUE, GREY, GRID, ORANGE, bar_range, empty_figure, escape_markup
from bertlab.views.numbers import percent
from bertlab.views.palette import transparent
from bertlab.views.passage import PASSAGE_STYLE, escape_html
from bertlab.views.shortening import shorten

MAX_LABELLED_WORDS = 40  # with more words, the axis shows numbers instead of words
# maximum numbers of characters: of a word at the axis, and of a suggested change
MAX_WORD_LENGTH, MAX_CHANGE_LENGTH = 14, 24


def surprise_bars(surprise: TextSurprise, threshold: float | None = None, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the surprise of every word in nats, in text order, with a dotted line at the threshold.

    Args:
        surprise: the surprise of the words.
        threshold: in nats; words whose surprise exceeds it are orange. None to draw no threshold.
        lang: the language of the axis titles.
    """
    words = surprise.words
    misfits = set() if threshold is None else set(surprise.find_misfits(threshold))
    names = [escape_markup(shorten(word.text, MAX_WORD_LENGTH)) for word in words]
    figure = empty_figure(height=300)
    figure.add_bar(
        x=list(range(len(words))), y=[word.surprise for word in words],
        marker={"color": [ORANGE if index in misfits else BLUE for index in range(len(words))], "cornerradius": 3},
        customdata=[[index, name] for index, name in enumerate(names)],
        hovertemplate="%{customdata[1]}: %{y:.2f}<extra></extra>",
    )  # fmt: skip
    if threshold is not None:
        figure.add_hline(y=threshold, line={"color": GREY, "dash": "dot", "width": 1})
    if len(words) <= MAX_LABELLED_WORDS:
        figure.update_xaxes(tickvals=list(range(len(words))), ticktext=names, tickangle=-60, showgrid=False)
    else:
        figure.update_xaxes(title=render("figure-word-number", lang), showgrid=False, nticks=12)
    title = render("figure-surprise", lang)
    figure.update_yaxes(title=title, rangemode="tozero", showgrid=True, gridcolor=GRID, nticks=5)
    return figure


def gain_bars(corrections: Sequence[Correction], margin: float | None = None, *, lang: str = DEFAULT) -> go.Figure:
    """Draw the gain of each suggested change as a horizontal bar, in text order, with a dotted line at the margin.

    The gain is the rise of the text's pseudo-log-likelihood in nats.

    Args:
        corrections: the suggestions.
        margin: the gain, in nats, above which a suggestion is blue, not grey. None to draw no line.
        lang: the language of the axis title.
    """
    rows = list(corrections)[::-1]  # Plotly draws the first bar at the bottom
    names = [escape_markup(shorten(f"{row.original} → {row.replacement}", MAX_CHANGE_LENGTH)) for row in rows]
    figure = empty_figure(height=70 + 34 * len(rows))
    figure.add_bar(
        x=[row.gain for row in rows], y=list(range(len(rows))), orientation="h",
        marker={
            "color": [BLUE if margin is None or row.gain > margin else GREY for row in rows], "cornerradius": 4,
        },
        text=[f"{row.gain:.1f}" for row in rows], textposition="outside", cliponaxis=False, customdata=names,
        hovertemplate="%{customdata}: %{x:.2f}<extra></extra>",
    )  # fmt: skip
    if margin is not None:
        figure.add_vline(x=margin, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=names, ticklabelstandoff=6)
    longest = max((row.gain for row in rows), default=1.0)
    figure.update_xaxes(title=render("figure-gain", lang), range=[0, 1.15 * max(longest, margin or 0.0, 1.0)], nticks=6)
    return figure


def corrections_html(text: str, corrections: Sequence[Correction]) -> str:
    """Write the text with every suggested change: old words are struck through, the new ones after them are blue."""
    parts, cursor = [], 0
    deleted_style = f"color: inherit; text-decoration: line-through 2px {ORANGE};"
    inserted_style = (
        f"color: inherit; background: {transparent(BLUE, 0.25)}; border-bottom: 3px solid {BLUE}; "
        "border-radius: 3px; text-decoration: none; padding: 2px;"
    )
    for correction in corrections:
        parts.append(escape_html(text[cursor : correction.start]))
        parts.append(f'<del style="{deleted_style}">{escape_html(correction.original)}</del> ')
        parts.append(
            f'<ins style="{inserted_style}" title="{correction.gain:.2f}">{escape_html(correction.replacement)}</ins>'
        )
        cursor = correction.end
    return (
        f'<div class="bl-passage" dir="auto" style="{PASSAGE_STYLE}">{"".join(parts)}{escape_html(text[cursor:])}</div>'
    )


def proposal_bars(words: Sequence[ProposedWord]) -> go.Figure:
    """Draw the probabilities of proposed words as horizontal bars, the most probable word on top."""
    rows, best = list(words)[::-1], list(words)[:1]  # Plotly draws the first bar at the bottom
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

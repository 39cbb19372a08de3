"""Figures of the answer x-ray.

They show the start and end probabilities of every token, overlapping answer spans, the no-answer threshold, the windows
of a passage, and the attention between question and answer. As in `passage` and `figures`, text is escaped, and no
meaning depends on colour alone.

Shape legend: T tokens, N heads, L layers, 2 start and end.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from bertlab.abilities.results import SpanXray, TokenRow, WindowReading
from bertlab.config.languages import DEFAULT, render_all
from bertlab.tasks.span.answer import Answer
from bertlab.text.word_spans import find_words
from bertlab.views.figures import (
    BLUE,
    COLOURS,
    GREY,
    GRID,
    ORANGE,
    empty_figure,
    escape_markup,
)
from bertlab.views.numbers import percent
from bertlab.views.palette import transparent
from bertlab.views.passage import PASSAGE_STYLE, escape_html
from bertlab.views.shortening import shorten

COLUMN_HEIGHT = 30  # height of the tallest column, in pixels
LANE_HEIGHT = 5  # distance from one underline to the next, in pixels
_COLUMN_WIDTH = "clamp(4px, 70%, 1.1em)"  # a length in CSS
# The hatching distinguishes start and end for readers without colour vision.
_HATCHING = f"repeating-linear-gradient(45deg, {ORANGE} 0 3px, {ORANGE}99 3px 5px)"
# The colour of an underline, and the lengths of its dashes and gaps in pixels. The dashes distinguish the underlines
# for readers without colour vision.
_STROKES = tuple(zip(COLOURS, (1, 8, 3, 12, 5), (0, 4, 3, 3, 5), strict=False))


def columns_html(
    passage: str,
    reading: WindowReading,
    *,
    labels: tuple[str, str] | None = None,
    logarithmic: bool = False,
    lang: str = DEFAULT,
) -> str:
    """Write the passage of a window with two columns at every token.

    The upward column is the probability that the answer starts at the token, the downward one that it ends there.
    [CLS], which stands for no answer, comes first. The best span is shaded.

    Args:
        passage: the whole passage.
        reading: the window.
        labels: names of start and end, for the tooltip with the exact probabilities.
        logarithmic: use a logarithmic scale from 0.001 % to 100 %, so that small probabilities are visible; otherwise
            the scale is linear and ends at the highest probability of the window.
        lang: language of the default labels.
    """
    labels = labels or render_all(lang, "figure-start", "figure-end")
    highest = max(float(reading.start_probs_T.max()), float(reading.end_probs_T.max()))
    height_2T = np.stack([reading.start_probs_T, reading.end_probs_T]) / highest
    if logarithmic:
        height_2T = np.clip(1 + np.log10(np.maximum(height_2T * highest, 1e-9)) / 5, 0, 1)
    passage_tokens = [
        token for token in reading.tokens if token.segment == 1 and not token.special and token.end > token.start
    ]
    word_spans = iter(find_words(passage))
    word, cursor = next(word_spans, None), reading.start
    cls = _make_column(reading, reading.tokens[0], reading.tokens[0].token, height_2T, labels)
    html = [_join_columns([cls]), " "]
    columns: list[str] = []  # the columns of the current word

    def end_word() -> None:
        """Add the columns of the current word to the HTML, and begin the next word."""
        if columns:
            html.append(_join_columns(columns))
            columns.clear()

    for token in passage_tokens:
        while word and word[1] <= token.start:
            end_word()
            word = next(word_spans, None)
        gap = passage[cursor : token.start]
        if gap:
            end_word()
            html.append(escape_html(gap))
        # Tokens that are parts of one character have the same offsets; only the first of them shows the character.
        columns.append(_make_column(reading, token, passage[max(token.start, cursor) : token.end], height_2T, labels))
        cursor = max(cursor, token.end)
    end_word()
    return f'<div class="bl-columns" dir="auto" style="{PASSAGE_STYLE} line-height: 1.3;">{"".join(html)}</div>'


def _join_columns(columns: list[str]) -> str:
    """Join the columns of a word, which stay on one line."""
    return f'<span style="white-space: pre; text-align: center;">{"".join(columns)}</span>'


def _make_column(
    reading: WindowReading, token: TokenRow, text: str, height_2T: np.ndarray, labels: tuple[str, str]
) -> str:
    """Write a token as one HTML element whose background is both columns.

    An element for each column would be slow to draw.
    """
    start, end = float(reading.start_probs_T[token.position]), float(reading.end_probs_T[token.position])
    title = escape_html(f"{text} · {labels[0]} {percent(start)} · {labels[1]} {percent(end)}")
    up, down = np.maximum(COLUMN_HEIGHT * height_2T[:, token.position], 1)
    columns = (
        f"linear-gradient({BLUE} 0 0) 50% {COLUMN_HEIGHT - up:.1f}px / {_COLUMN_WIDTH} {up:.1f}px no-repeat, "
        f"{_HATCHING} left 50% bottom {COLUMN_HEIGHT - down:.1f}px / {_COLUMN_WIDTH} {down:.1f}px no-repeat"
    )
    style = f"display: inline-block; vertical-align: middle; min-width: 4px; padding: {COLUMN_HEIGHT}px 0; "
    shown = escape_html(text)
    if reading.answer and token.segment == 1 and reading.answer[0] <= token.start < reading.answer[1]:
        shading = f"display: block; background: {transparent(BLUE, 0.18)}; border-radius: 3px;"
        shown = f'<span style="{shading}">{shown}</span>'
    return f'<span title="{title}" style="{style}background: {columns};">{shown}</span>'


def spans_html(passage: str, answers: Sequence[Answer], *, show: int = 5) -> str:
    """Underline the first `show` answers in the passage, each preceded by its rank and score.

    The underlines of overlapping answers are drawn one below another.

    >>> answers = [Answer("old mill", 4, 12, 8.0, 0.6), Answer("mill", 8, 12, 3.0, 0.2)]
    >>> html = spans_html("The old mill", answers)
    >>> html.count("<mark"), "1 · 8.0" in html, "2 · 3.0" in html
    (2, True, True)
    """
    spans = [(rank, answer) for rank, answer in enumerate(answers[:show]) if answer.start < answer.end]
    lanes = _assign_lanes([(answer.start, answer.end) for _, answer in spans])
    depth = LANE_HEIGHT * (max(lanes, default=0) + 1)
    edges = sorted({0, len(passage), *(a.start for _, a in spans), *(a.end for _, a in spans)})
    html = []
    for start, end in pairwise(edges):
        badges = "".join(_make_badge(rank, a) for rank, a in spans if a.start == start)
        covering = [(lanes[i], rank) for i, (rank, a) in enumerate(spans) if a.start <= start and end <= a.end]
        if not covering:
            html.append(escape_html(passage[start:end]))
            continue
        strokes = ", ".join(_make_stroke(lane, rank, depth) for lane, rank in covering)
        is_best = any(rank == 0 for _, rank in covering)
        weight, best = (600, ' class="bl-best"') if is_best else (400, "")
        style = f"color: inherit; background: {strokes}; padding-bottom: {depth + 2}px; font-weight: {weight};"
        html.append(f'{badges}<mark{best} style="{style}">{escape_html(passage[start:end])}</mark>')
    height = f"line-height: calc(1.9em + {depth}px);"
    return f'<div class="bl-spans" dir="auto" style="{PASSAGE_STYLE} {height}">{"".join(html)}</div>'


def _make_badge(rank: int, answer: Answer) -> str:
    """Write the rank and the score of an answer in a small frame, as HTML."""
    colour = _STROKES[rank % len(_STROKES)][0]
    style = (
        f"border: 1px solid {colour}; border-radius: 8px; padding: 0 4px; margin: 0 2px; font-size: 0.68em; "
        "white-space: nowrap;"
    )
    return f'<sup style="{style}" title="{percent(answer.probability)}">{rank + 1} · {answer.score:.1f}</sup>'


def _make_stroke(lane: int, rank: int, depth: int) -> str:
    """Write the underline of an answer as a CSS background.

    Args:
        lane: the row of underlines, 0 at the top.
        rank: the rank of the answer, from 0, which decides the colour and the dashes.
        depth: the height of all lanes in pixels.
    """
    colour, dash, gap = _STROKES[rank % len(_STROKES)]
    line = f"repeating-linear-gradient(90deg, {colour} 0 {dash}px, transparent {dash}px {dash + gap}px)"
    return f"{line} 0 calc(100% - {depth - LANE_HEIGHT * (lane + 1)}px) / 100% 3px no-repeat"


def _assign_lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Choose a lane (a row of underlines; 0 is the top one) for each span: the first one where no span overlaps it.

    >>> _assign_lanes([(0, 4), (2, 6), (5, 9)])
    [0, 1, 0]
    """
    lanes: list[int] = []
    for index, (start, end) in enumerate(spans):
        occupied = {lanes[i] for i, (left, right) in enumerate(spans[:index]) if left < end and right > start}
        lanes.append(next(lane for lane in range(index + 1) if lane not in occupied))
    return lanes


def threshold_strip(
    span_xray: SpanXray, tau: float, bound: float, *, labels: tuple[str, str] | None = None, lang: str = DEFAULT
) -> go.Figure:
    """Draw which outcome each threshold gives: no answer if it is below the margin, the best span if it is above.

    The margin (`span_xray.margin`) is the no-answer score minus the score of the best span.

    Args:
        span_xray: from `Session.xray`.
        tau: the threshold to mark with a line.
        bound: the axis extends from -bound to bound.
        labels: names of the two outcomes.
        lang: language of the default names.
    """
    labels = labels or render_all(lang, "figure-no-answer", "figure-answer")
    boundary = min(max(span_xray.margin, -bound), bound)
    best = shorten(span_xray.answers.answers[0].text, 40) if span_xray.answers.answers else ""
    figure = empty_figure(height=116)
    parts = ((-bound, boundary, labels[0], GREY, "/"), (boundary, bound, f"{labels[1]}: {best}", BLUE, ""))
    for low, high, label, colour, pattern in parts:
        figure.add_bar(
            x=[high - low],
            y=[0],
            base=[low],
            orientation="h",
            name=escape_markup(label),
            marker={"color": colour, "pattern": {"shape": pattern}},
            hovertemplate=f"{escape_markup(label)}<extra></extra>",
        )
    figure.add_vline(min(max(tau, -bound), bound), line={"color": ORANGE, "width": 3})
    figure.update_xaxes(range=[-bound, bound], nticks=9, zeroline=False)
    figure.update_yaxes(visible=False)
    figure.update_layout(barmode="overlay", bargap=0.1, margin={"t": 34, "l": 20, "r": 20})
    return figure


def windows_figure(
    span_xray: SpanXray,
    passage: str,
    *,
    labels: tuple[str, str, str] | None = None,
    axes: tuple[str, str] | None = None,
    lang: str = DEFAULT,
) -> go.Figure:
    """Draw the windows as bars along the passage, each with a mark at its best span, and their scores on the right.

    The scores of a window are that of its best span and the no-answer score. The window with the best answer is blue.

    Args:
        span_xray: from `Session.xray`.
        passage: the text of the passage.
        labels: the words for a window, its best span, and no answer.
        axes: titles of the x axes on the left and on the right.
        lang: language of the default texts.
    """
    labels = labels or render_all(lang, "figure-window", "figure-best-span", "figure-no-answer")
    axes = axes or render_all(lang, "figure-passage-characters", "figure-score")
    rows = [str(index + 1) for index in range(len(span_xray.readings))]
    best_window = span_xray.answers.best_window
    figure = empty_figure(height=110 + 26 * len(rows))
    texts = [
        escape_markup(shorten(passage[slice(*reading.answer)], 60)) if reading.answer else ""
        for reading in span_xray.readings
    ]
    figure.add_bar(
        x=[reading.end - reading.start for reading in span_xray.readings],
        y=rows,
        base=[reading.start for reading in span_xray.readings],
        orientation="h",
        name=escape_markup(labels[0]),
        marker={"color": [BLUE if row == best_window else GREY for row in range(len(rows))], "opacity": 0.55},
        hovertemplate=f"{escape_markup(labels[0])} %{{y}}: %{{base}} – %{{x}}<extra></extra>",
        showlegend=False,
    )
    rows_with_answer = [(row, reading) for row, reading in zip(rows, span_xray.readings, strict=True) if reading.answer]
    figure.add_scatter(
        x=[sum(reading.answer) / 2 for _, reading in rows_with_answer],
        y=[row for row, _ in rows_with_answer],
        mode="markers",
        name=escape_markup(labels[1]),
        marker={"color": "rgba(0, 0, 0, 0)", "size": 12, "symbol": "circle", "line": {"color": BLUE, "width": 3}},
        customdata=[text for text, reading in zip(texts, span_xray.readings, strict=True) if reading.answer],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )
    for name, values, colour, symbol in (
        (labels[1], [reading.score if reading.answer else None for reading in span_xray.readings], BLUE, "circle"),
        (labels[2], [reading.no_answer_score for reading in span_xray.readings], ORANGE, "diamond-open"),
    ):
        figure.add_scatter(
            x=values,
            y=rows,
            xaxis="x2",
            mode="markers",
            name=escape_markup(name),
            marker={"color": colour, "size": 11, "symbol": symbol, "line": {"width": 2}},
            customdata=texts if name == labels[1] else [escape_markup(labels[2])] * len(rows),
            hovertemplate="%{customdata}: %{x:.2f}<extra></extra>",
        )
    title = {"font": {"size": 13}}
    figure.update_layout(
        xaxis={
            "domain": [0, 0.6],
            "range": [0, len(passage)],
            "title": {"text": escape_markup(axes[0]), **title},
            "nticks": 5,
        },
        xaxis2={
            "domain": [0.68, 1],
            "anchor": "y",
            "title": {"text": escape_markup(axes[1]), **title},
            "showgrid": True,
            "gridcolor": GRID,
            "zeroline": False,
            "nticks": 5,
        },
        barmode="overlay",
        bargap=0.25,
        margin={"t": 40},
    )
    # The window numbers are names, so the axis has categories instead of a scale.
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=rows[::-1],
        title={"text": escape_markup(labels[0]), **title},
    )
    return figure

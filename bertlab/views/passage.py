"""Write texts with marked parts as HTML; every text is escaped.

Marks have a semi-transparent colour and a border, so that they are readable in light and dark themes and without colour
vision. Styles are inline, because a host that sanitises HTML may drop style elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from bertlab.tasks.span.answer import Answer
from bertlab.views.numbers import percent
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.token_labels import token_labels

if TYPE_CHECKING:
    from bertlab.abilities.results import TokenRow

# a colour, and a line style for readers who cannot tell the colours apart
_MARKS = tuple(zip(PALETTE["marks"], ("solid", "dashed", "dotted", "double"), strict=False))
_SENTENCE_MARKS = _MARKS[:2]  # for sentence A, for sentence B
# The CSS of a text; lines are not broken within a Korean word.
PASSAGE_STYLE = "line-height: 1.9; overflow-wrap: anywhere; word-break: keep-all; white-space: pre-wrap;"


def highlight(passage: str, answers: Sequence[Answer], *, show: int = 1) -> str:
    """Mark the first `show` answers in the passage, the best one in the strongest colour; answers may overlap.

    >>> answer = Answer("mill", 8, 12, 3.0, 0.9)
    >>> html = highlight("The old mill <b>", [answer])
    >>> "mill</mark>" in html, "&lt;b&gt;" in html
    (True, True)
    """
    spans = [(max(0, a.start), min(len(passage), a.end), rank, a) for rank, a in enumerate(answers[:show])]
    spans = [span for span in spans if span[0] < span[1]]
    edges = sorted({0, len(passage), *(start for start, *_ in spans), *(end for _, end, *_ in spans)})
    html = []
    for start, end in pairwise(edges):
        text = escape_html(passage[start:end])
        ranked_answers = [(rank, answer) for left, right, rank, answer in spans if left <= start and end <= right]
        html.append(_mark(text, ranked_answers) if ranked_answers else text)
    return f'<div class="bl-passage" dir="auto" style="{PASSAGE_STYLE}">{"".join(html)}</div>'


def tokens_html(tokens: Sequence[TokenRow]) -> str:
    """Write tokens in a line that wraps: sentence A solid blue, B dashed orange, [CLS] and [SEP] dotted grey."""
    html = []
    for row, label in zip(tokens, token_labels(tokens), strict=True):
        is_added = row.special and row.start == row.end
        colour, line = (PALETTE["grey"], "dotted") if is_added else _SENTENCE_MARKS[1 if row.segment == 1 else 0]
        opacity = "0.65" if is_added else "1"
        style = (
            f"display: inline-block; margin: 0 4px 6px 0; padding: 1px 8px; border-radius: 6px; line-height: 1.6; "
            f"background: {transparent(colour, 0.16)}; border-bottom: 2px {line} {colour}; opacity: {opacity};"
        )
        html.append(f'<bdi style="{style}" title="{row.position}: id {row.id}">{escape_html(label)}</bdi>')
    return f'<div class="bl-tokens" style="overflow-wrap: anywhere;">{" ".join(html)}</div>'


def _mark(escaped_text: str, ranked_answers: list[tuple[int, Answer]]) -> str:
    """Mark a piece of the passage in the style of the best answer that contains it.

    Args:
        escaped_text: the piece, as HTML.
        ranked_answers: (rank, from 0; answer) of all answers that contain the piece, best first.
    """
    rank = ranked_answers[0][0]
    colour, line = _MARKS[rank % len(_MARKS)]
    strength = 0.34 if rank == 0 else 0.16
    style = (
        f"color: inherit; background: {transparent(colour, strength)}; border-bottom: 3px {line} {colour}; "
        f"border-radius: 4px 4px 0 0; padding: 2px 0; font-weight: {600 if rank == 0 else 400};"
    )
    title = " · ".join(f"{rank + 1}: {percent(answer.probability)}" for rank, answer in ranked_answers)
    best = ' class="bl-best"' if rank == 0 else ""
    return f'<mark{best} style="{style}" title="{escape(title)}">{escaped_text}</mark>'


def escape_html(text: str) -> str:
    """Escape a text for HTML; a lone surrogate, which UTF-8 cannot encode, becomes "?"."""
    return escape(text.encode("utf-8", "replace").decode())

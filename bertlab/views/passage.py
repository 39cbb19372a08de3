"""Write texts with marked parts as HTML; every text is escaped.

Marks have a semi-transparent colour and a border, for any theme and without colour vision. Styles are inline, because a
host may drop style elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from bertlab.tasks.span.answer import Answer
from bertlab.views.numbers import percent
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.token_labels import token_labels

if TYPE_CHECKING:
    from bertlab.abilities.results import TokenRow

# a colour, and a line style for readers who cannot tell the colours apart
_MARKS = tuple(zip(PALETTE["marks"], ("solid", "dashed"), strict=False))  # of an answer and sentence A, of B
# The CSS of a text; lines are not broken within a Korean word.
PASSAGE_STYLE = "line-height: 1.9; overflow-wrap: anywhere; word-break: keep-all; white-space: pre-wrap;"


def highlight(passage: str, answers: Sequence[Answer]) -> str:
    """Mark the best answer in the passage.

    >>> html = highlight("The old mill <b>", [Answer("mill", 8, 12, 3.0, 0.9)])
    >>> "mill</mark>" in html, "&lt;b&gt;" in html
    (True, True)
    """
    html = escape_html(passage)
    for best in answers[:1]:
        start, end = max(0, best.start), min(len(passage), best.end)
        before, answer, after = map(escape_html, (passage[:start], passage[start:end], passage[end:]))
        colour, line = _MARKS[0]
        style = (
            f"color: inherit; background: {transparent(colour, 0.34)}; border-bottom: 3px {line} {colour}; "
            "border-radius: 4px 4px 0 0; padding: 2px 0; font-weight: 600;"
        )
        title = escape(f"1: {percent(best.probability)}")
        html = f'{before}<mark class="bl-best" style="{style}" title="{title}">{answer}</mark>{after}'
    return f'<div class="bl-passage" dir="auto" style="{PASSAGE_STYLE}">{html}</div>'


def tokens_html(tokens: Sequence[TokenRow]) -> str:
    """Write tokens in a line that wraps: sentence A solid blue, B dashed orange, [CLS] and [SEP] dotted grey."""
    html = []
    for row, label in zip(tokens, token_labels(tokens), strict=True):
        is_added = row.special and row.start == row.end
        colour, line = (PALETTE["grey"], "dotted") if is_added else _MARKS[1 if row.segment == 1 else 0]
        opacity = "0.65" if is_added else "1"
        style = (
            f"display: inline-block; margin: 0 4px 6px 0; padding: 1px 8px; border-radius: 6px; line-height: 1.6; "
            f"background: {transparent(colour, 0.16)}; border-bottom: 2px {line} {colour}; opacity: {opacity};"
        )
        html.append(f'<bdi style="{style}" title="{row.position}: id {row.id}">{escape_html(label)}</bdi>')
    return f'<div class="bl-tokens" style="overflow-wrap: anywhere;">{" ".join(html)}</div>'


def escape_html(text: str) -> str:
    """Escape a text for HTML; a lone surrogate, which UTF-8 cannot encode, becomes "?"."""
    return escape(text.encode("utf-8", "replace").decode())

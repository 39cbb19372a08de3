"""Format predictions and attention as lines for a terminal: aligned columns, bars, answers marked in their passage.

Control characters in a text are replaced, so that the text cannot move the cursor or change colours.

Shape legend: T tokens, N heads, L layers.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from bertlab.config.text_table import format_table
from bertlab.views.numbers import percent
from bertlab.views.token_labels import token_labels

if TYPE_CHECKING:
    from bertlab.abilities.results import AttentionMap

BAR_WIDTH = 24  # maximum width of a bar, in columns of the terminal
_EIGHTHS = " ▏▎▍▌▋▊▉"  # index n: a bar of n eighths of a column


def probability_table(rows: Iterable[tuple[str, float]]) -> list[str]:
    """List names, each with a bar and its probability."""
    return format_table([(make_printable(name), bar(share), percent(share)) for name, share in rows], "<<>")


def attention_lines(
    attention: AttentionMap, layer: int | None = None, head: int | None = None, special_tokens: bool = False
) -> list[str]:
    """Format the largest attention weight of every head, or, for a single head, the three largest of every token.

    Args:
        attention: from `Session.attention`.
        layer: show only this layer; all layers if None.
        head: show only this head of each layer; all heads if None.
        special_tokens: include [CLS] and [SEP], which receive most of the attention of many heads.
    """
    names = [make_printable(label) for label in token_labels(attention.tokens)]
    positions = [row.position for row in attention.tokens if special_tokens or not row.special]
    probs_LNTT = attention.probs_LNTT[:, :, positions][:, :, :, positions]
    names = [names[position] for position in positions]
    if layer is not None and head is not None:
        rows = [("token", "attends to", "", "", "then to")]
        for name, probs_T in zip(names, probs_LNTT[layer, head], strict=True):
            first, *others = np.argsort(-probs_T, kind="stable")[:3]
            next_keys = "  ".join(f"{names[other]} {probs_T[other]:.2f}" for other in others)
            rows.append((name, names[first], bar(probs_T[first]), f"{probs_T[first]:.2f}", next_keys))
        return format_table(rows, "<<<><")
    rows = [("layer", "head", "token", "attends to", "", "")]
    for l, n in np.ndindex(probs_LNTT.shape[:2]):  # noqa: E741
        if layer in (None, l) and head in (None, n):
            query, key = np.unravel_index(probs_LNTT[l, n].argmax(), probs_LNTT[l, n].shape)
            prob = probs_LNTT[l, n, query, key]
            rows.append((str(l), str(n), names[query], names[key], bar(prob), f"{prob:.2f}"))
    return format_table(rows, ">><<<>")


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """Draw a share in 0..1 as a bar of at most `width` columns. NaN, the result of an overflow, has no bar.

    >>> bar(0.5, 3), bar(1.0, 3), bar(float("nan"))
    ('█▌', '███', '')
    """
    if math.isnan(share):
        return ""
    full, eighths = divmod(round(float(share) * width * 8), 8)
    return "█" * full + _EIGHTHS[eighths].strip()


def shorten(text: str, width: int) -> str:
    """Shorten a text to at most `width` columns, with an ellipsis.

    >>> shorten("a green teapot", 8)
    'a green…'
    """
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def make_printable(text: str) -> str:
    """Return a text as one printable line: tabs and line breaks become spaces, control characters become �.

    >>> make_printable("red\\x1b[31m\\nand\\tgreen \\u202e.")
    'red�[31m and green �.'
    """
    return "".join(" " if c.isspace() else "�" if _is_control(c) else c for c in text)


def _is_control(character: str) -> bool:
    """Whether a character is a control character, a lone surrogate, or one that changes the direction of a text."""
    return (
        unicodedata.category(character) in ("Cc", "Cs")
        or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )

"""Show tokens as readable text, and find the word that each token belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bertlab.abilities.results import TokenRow


def show_control_characters(text: str) -> str:
    """Replace control characters by symbols such as ␉."""
    return "".join(chr(0x2400 + ord(letter)) if ord(letter) < 32 else letter for letter in text)


def token_labels(tokens: Iterable[TokenRow]) -> list[str]:
    return [show_control_characters(row.token) for row in tokens]


def word_indices(tokens: Iterable[TokenRow]) -> list[int]:
    """Return, for each token, the index of its word in the text; each special token is a word.

    A token that begins with ## continues a word (WordPiece). In vocabularies that mark the first token of a word (Ġ,
    ▁), a token without the mark that begins with a letter or digit continues a word if it directly follows another.

    >>> from bertlab.abilities.results import TokenRow
    >>> word_indices([TokenRow(0, 5, "lamp", 0, 4, 0, False), TokenRow(1, 6, "##s", 4, 5, 0, False)])
    [0, 0]
    """
    indices, previous = [], None
    rows = list(tokens)
    marks_word_starts = any(row.token[:1] in "Ġ▁" and not row.special for row in rows if row.token)
    for row in rows:
        is_same_text = previous and not (row.special or previous.special) and row.segment == previous.segment
        continues_letters = (
            is_same_text and marks_word_starts and row.token[:1].isalnum() and previous.token[-1:].isalnum()
        )
        continues_word = (continues_letters and row.start == previous.end) or (
            is_same_text and row.token.startswith("##") and len(row.token) > 2
        )
        indices.append((indices[-1] if indices else -1) + (not continues_word))
        previous = row
    return indices

"""Show tokens as readable text, and number the words that they belong to."""

from collections.abc import Iterable

from bertlab.explore.results import TokenRow


def token_labels(tokens: Iterable[TokenRow]) -> list[str]:
    """Tokens as readable text: control characters become symbols."""
    return [_show_control_characters(row.token) for row in tokens]


def word_numbers(tokens: Iterable[TokenRow]) -> list[int]:
    """The number of the word that each token belongs to.

    A token that begins with ## continues a word (WordPiece). In vocabularies that mark the first token of a word
    (Ġ, ▁), a token without the mark that begins with a letter or digit continues the word if it directly follows one.

    >>> word_numbers([TokenRow(0, 5, "lamp", 0, 4, 0, False), TokenRow(1, 6, "##s", 4, 5, 0, False)])
    [0, 0]
    """
    numbers, previous = [], None
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
        numbers.append((numbers[-1] if numbers else -1) + (not continues_word))
        previous = row
    return numbers


def _show_control_characters(text: str) -> str:
    return "".join(chr(0x2400 + ord(letter)) if ord(letter) < 32 else letter for letter in text)

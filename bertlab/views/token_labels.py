"""Show tokens as readable text, and number the words that they belong to."""

from collections.abc import Iterable

from bertlab.explore.facts import TokenRow


def token_labels(tokens: Iterable[TokenRow]) -> list[str]:
    """Tokens as readable text: byte-level tokens are decoded, control characters become symbols.

    A token whose bytes are not complete characters is shown as hexadecimal bytes.

    >>> row = TokenRow(0, 0, "", 0, 0, 0, False)
    >>> from dataclasses import replace
    >>> token_labels([replace(row, token=token) for token in ("ĠëĤ", "ĠtÃªte", "a")])
    ['␣⟨eb82⟩', '␣tête', 'a']
    """
    rows = list(tokens)
    plain = [row.token for row in rows if not row.special]
    is_byte_level = any("Ġ" in token for token in plain) and all(
        letter in _BYTE_OF_CHARACTER for token in plain for letter in token
    )
    return [
        _show_control_characters(_decode_byte_level(row.token) if is_byte_level and not row.special else row.token)
        for row in rows
    ]


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
        same_text = previous and not (row.special or previous.special) and row.segment == previous.segment
        continues_letters = (
            same_text and marks_word_starts and row.token[:1].isalnum() and previous.token[-1:].isalnum()
        )
        continues_word = (continues_letters and row.start == previous.end) or (
            same_text and row.token.startswith("##") and len(row.token) > 2
        )
        numbers.append((numbers[-1] if numbers else -1) + (not continues_word))
        previous = row
    return numbers


def _map_characters_to_bytes() -> dict[str, int]:
    """Map each character of a byte-level BPE vocabulary to the byte that it stands for.

    A printable Latin-1 character stands for its own byte; characters from 256 on stand for the other bytes.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


_BYTE_OF_CHARACTER = _map_characters_to_bytes()


def _decode_byte_level(token: str) -> str:
    raw = bytes(_BYTE_OF_CHARACTER[letter] for letter in token)
    space, rest = ("␣", raw[1:]) if raw[:1] == b" " else ("", raw)
    try:
        return space + rest.decode()
    except UnicodeDecodeError:
        return f"{space}⟨{rest.hex()}⟩"


def _show_control_characters(text: str) -> str:
    return "".join(chr(0x2400 + ord(letter)) if ord(letter) < 32 else letter for letter in text)

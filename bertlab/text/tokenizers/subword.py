"""Tokenizers other than WordPiece: byte-level BPE (Radford et al. 2019) and SentencePiece's Unigram (Kudo 2018).

The `tokenizers` library splits the text as the checkpoint's tokenizer.json specifies. A token that follows a space
begins with "Ġ" (BPE) or "▁" (SentencePiece). The bytes of a byte-level token are shown as the characters that they
encode.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from tokenizers import models

from bertlab.config.errors import TextError
from bertlab.config.files import write_atomically
from bertlab.config.languages import detect_language
from bertlab.text.tokenizers.encoding import MASK, TokenSegment
from bertlab.text.tokenizers.search import MergeHistory, WordSearch
from bertlab.text.tokenizers.wordpiece import TOKENIZER_CLASSES, Tokenizer

SPACE = "Ġ"  # the first character of a byte-level token that follows a space


class SubwordTokenizer(Tokenizer):
    """A byte-level BPE or Unigram vocabulary.

    A "[MASK]" in a text stands for the vocabulary's own mask token, such as "<mask>", so that the same texts, and
    links to pages of the app, work with every checkpoint.
    """

    def encode_segments(self, texts: Sequence[str]) -> list[TokenSegment]:
        rows = super().encode_segments([self._use_own_mask(text) for text in texts])
        return [
            TokenSegment(row.ids, self.tokens(row.ids), [_skip_spaces(text, *offsets) for offsets in row.offsets])
            for text, row in zip(texts, rows, strict=True)
        ]

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return super().encode_ids([self._use_own_mask(text) for text in texts])

    def encode_word(self, word: str) -> list[int]:
        return self.encode_plain([f" {word}"])[0]  # the first token of a word contains the space before it

    def tokens(self, ids: Iterable[int]) -> list[str]:
        return [self._readable_tokens[id] for id in ids]

    @cached_property
    def _readable_tokens(self) -> tuple[str, ...]:
        if not self.is_byte_level:
            return self._tokens
        return tuple(
            token if id in self.special_ids else decode_byte_level(token) for id, token in enumerate(self._tokens)
        )

    @cached_property
    def is_byte_level(self) -> bool:
        parts = json.dumps([self.describe().get(part) for part in ("pre_tokenizer", "decoder")])
        return '"ByteLevel"' in parts

    @cached_property
    def language(self) -> str:
        return detect_language(self._readable_tokens)

    @property
    def kind(self) -> str:
        return self.describe()["model"]["type"]

    @property
    def max_word_chars(self) -> int:
        """Raise TextError, because only WordPiece limits the length of a word."""
        raise TextError("tokenizer-without-search", kind=self.kind)

    def continues_word(self, id: int) -> bool:
        """Whether a token continues a word: it begins with a letter or digit, without a space before it."""
        return self._tokens[id][:1] not in (SPACE, "▁") and self._tokens[id][:1].isalnum()

    def search(self, text: str) -> list[WordSearch]:
        """Raise TextError, because only WordPiece searches for the longest match."""
        raise TextError("tokenizer-without-search", kind=self.kind)

    def merges(self, tokens: Iterable[str]) -> list[MergeHistory] | None:
        return None

    def save(self, directory: str | Path, max_tokens: int = 512) -> None:
        names = zip(("pad", "unk", "cls", "sep", "mask"), self.special.names, strict=True)
        config = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": max_tokens,
            **{f"{role}_token": name for role, name in names},
        }
        write_atomically(Path(directory, "tokenizer.json"), self._backend.to_str(pretty=True))
        write_atomically(Path(directory, "tokenizer_config.json"), json.dumps(config, indent=2) + "\n")

    def _describe_word_ends(self) -> dict:
        description = self.describe() | {"added_tokens": [], "post_processor": None}
        pre_tokenizer = description["pre_tokenizer"] or {}
        for component in pre_tokenizer.get("pretokenizers", [pre_tokenizer]):
            if component.get("type") == "ByteLevel":
                component["add_prefix_space"] = False
            if component.get("type") == "Metaspace":
                component["prepend_scheme"] = "never"
        return description

    def _continues_letters(self, word: str) -> bool:
        return True  # a text gets a space before its first token only, whatever its first character is

    def _use_own_mask(self, text: str) -> str:
        # "<mask>" has as many characters as "[MASK]", so offsets stay valid
        return text.replace(MASK, self.special.mask) if isinstance(text, str) else text


TOKENIZER_CLASSES |= {models.BPE: SubwordTokenizer, models.Unigram: SubwordTokenizer}


def _skip_spaces(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the offsets of a token without leading spaces, which some vocabularies count as part of the token."""
    first = start
    while first < end and text[first].isspace():
        first += 1
    return (first, end) if first < end else (start, end)


def _map_characters_to_bytes() -> dict[str, int]:
    """Map each character of a byte-level BPE vocabulary to the byte that it stands for.

    A printable Latin-1 character stands for its own byte; characters from 256 on stand for the other bytes.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other_bytes = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(other_bytes)}


# character of a byte-level vocabulary -> the byte that it stands for
_BYTE_OF_CHARACTER = _map_characters_to_bytes()


def decode_byte_level(token: str) -> str:
    """Show a byte-level token as text; bytes that do not form complete characters are shown in hexadecimal.

    A token with a character that stands for no byte is returned as it is.

    >>> [decode_byte_level(token) for token in ("ĠëĤ", "ĠtÃªte", "a", "고")]
    ['Ġ⟨eb82⟩', 'Ġtête', 'a', '고']
    """
    if any(character not in _BYTE_OF_CHARACTER for character in token):
        return token
    raw = bytes(_BYTE_OF_CHARACTER[character] for character in token)
    space, text_bytes = (SPACE, raw[1:]) if raw[:1] == b" " else ("", raw)
    try:
        return space + text_bytes.decode()
    except UnicodeDecodeError:
        return f"{space}⟨{text_bytes.hex()}⟩"

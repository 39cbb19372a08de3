"""The input of a model as tokens: the special tokens of a vocabulary, and the layout [CLS] A [SEP] B [SEP]."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Protocol

from bertlab.config.errors import CheckpointError

# The special tokens of BERT, and their names in vocabularies that come from fairseq or SentencePiece.
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
OTHER_SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
MASK = SPECIAL_TOKENS[4]
# the mask token in BERT's vocabularies, and in those of fairseq
MASK_NAMES = (MASK, OTHER_SPECIAL_TOKENS[4])


@dataclass(frozen=True)
class Encoding:
    """One input of the model, [CLS] A [SEP] or [CLS] A [SEP] B [SEP]; every field has one entry per token."""

    ids: tuple[int, ...]
    token_type_ids: tuple[int, ...]  # 0 for the tokens of A, 1 for those of B
    tokens: tuple[str, ...]  # the tokens as text, including "##"
    offsets: tuple[tuple[int, int], ...]
    """Character start and end in A or in B, depending on `token_type_ids`; (0, 0) for [CLS] and [SEP] of the layout."""
    special: tuple[bool, ...]
    """True for [CLS] and [SEP] of the layout; False for a "[SEP]" or "[MASK]" that is part of the text."""

    def __len__(self) -> int:
        return len(self.ids)


class Segment(Protocol):
    """The tokens of a text without [CLS] and [SEP], such as an encoding of the `tokenizers` library."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]


@dataclass(frozen=True)
class TokenSegment:
    """A `Segment` with fields of its own."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]  # character start and end of each token, without the space before it

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class SpecialTokens:
    """The names of the special tokens of a vocabulary, such as "[CLS]" or "<s>"."""

    pad: str
    unk: str  # the token for a word that is not in the vocabulary
    cls: str
    sep: str  # the token at the end of a text
    mask: str  # the token in place of a word to predict

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of `SPECIAL_TOKENS`."""
        return (self.pad, self.unk, self.cls, self.sep, self.mask)

    @property
    def separators(self) -> int:
        """How many separators stand between the texts of a pair: two in vocabularies of fairseq, otherwise one."""
        return 2 if self.sep == OTHER_SPECIAL_TOKENS[3] else 1


def find_special_tokens(vocab: Container[str]) -> SpecialTokens:
    """Find the names of the special tokens of a vocabulary.

    >>> find_special_tokens({"<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "tea"}).pad
    '<pad>'
    """
    names = [
        next((name for name in candidates if name in vocab), None)
        for candidates in zip(SPECIAL_TOKENS, OTHER_SPECIAL_TOKENS, strict=True)
    ]
    missing = [token for token, name in zip(SPECIAL_TOKENS, names, strict=True) if name is None]
    if missing:
        raise CheckpointError("vocab-lacks-special-tokens", tokens=missing)
    return SpecialTokens(*names)


def add_layout(special: SpecialTokens, cls_id: int, sep_id: int, a: Segment, b: Segment | None = None) -> Encoding:
    """Add [CLS] and [SEP] to a text or a pair of texts.

    The `tokenizers` library is not used for this, because its result would not distinguish an added [SEP] from a
    "[SEP]" in the text.
    """
    ids, tokens, offsets = [cls_id, *a.ids, sep_id], [special.cls, *a.tokens, special.sep], a.offsets
    offsets = [(0, 0), *offsets, (0, 0)]
    is_special = [True, *[False] * len(a.ids), True]
    token_type_ids = [0] * len(ids)
    if b is not None:
        num_extra = special.separators - 1  # how many separators follow the one that ends the first text
        ids += [*[sep_id] * num_extra, *b.ids, sep_id]
        tokens += [*[special.sep] * num_extra, *b.tokens, special.sep]
        offsets += [*[(0, 0)] * num_extra, *b.offsets, (0, 0)]
        is_special += [*[True] * num_extra, *[False] * len(b.ids), True]
        token_type_ids += [*[0] * num_extra, *[1] * (len(b.ids) + 1)]
    return Encoding(tuple(ids), tuple(token_type_ids), tuple(tokens), tuple(offsets), tuple(is_special))

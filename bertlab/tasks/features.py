"""Convert examples to token ids, and to batches with targets.

Many texts are tokenised together, because the `tokenizers` library then uses every core.

Shape legend: B batch, T tokens of an input, I inputs, U units of an example (for tagging: words or characters).
"""

import zlib
from abc import abstractmethod
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.config.errors import TextError
from bertlab.tasks.examples import Examples
from bertlab.text.batch import LabelBatch, collate
from bertlab.text.batches import ShuffledSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer

TEXTS_AT_ONCE = 20_000  # how many texts are tokenised together, which bounds the memory
NO_TAG = -100  # the target of a token that predicts no tag


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths, stored in one flat array: row i is flat[start[i] : start[i + 1]].

    >>> Ragged.from_rows([[5, 6], [], [7]])[2].tolist()
    [7]
    """

    flat: np.ndarray
    """The values of all rows."""
    start: np.ndarray
    """The index in `flat` at which each row begins, then the length of `flat`: int64 [rows + 1]."""

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """Concatenate rows of integers, as int32."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return cls.from_flat(np.fromiter((id for row in rows for id in row), np.int32, lengths.sum()), lengths)

    @classmethod
    def from_flat(cls, flat: Sequence[int], lengths: Sequence[int]) -> "Ragged":
        """Make rows of these lengths from concatenated integers, as int32."""
        return cls(np.array(flat, np.int32), np.concatenate([[0], np.cumsum(np.array(lengths), dtype=np.int64)]))

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.flat[self.start[row] : self.start[row + 1]]


@dataclass(frozen=True)
class Input:
    """An input [CLS] A [SEP] or [CLS] A [SEP] B [SEP]; it can be collated like an `Encoding`."""

    ids: np.ndarray
    """The token ids [T]."""
    token_type_ids: np.ndarray
    """0 for the tokens of A, 1 for those of B [T]."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, kw_only=True)
class Features(Sequence):
    """The inputs of some examples; item i is an input that can be collated."""

    examples: Examples
    pad_id: int
    inputs_per_example: int = 1
    """The number of consecutive inputs that share one target, such as the choices of a context."""

    @property
    @abstractmethod
    def digest(self) -> int:
        """A checksum of the tokens and targets; it depends on their order."""

    @abstractmethod
    def make_batch(self, groups: np.ndarray):
        """Collate inputs and their targets; group i consists of the inputs from i * `inputs_per_example` on."""

    def make_batches(self, batch_size: int, seed: int, shard: tuple[int, int] = (0, 1)) -> ShuffledSampler:
        """Make endless shuffled batches; `shard` is (rank, number of processes), which share `batch_size` rows."""
        return ShuffledSampler(len(self) // self.inputs_per_example, batch_size, seed, self.make_batch, shard)


@dataclass(frozen=True, kw_only=True)
class TextFeatures(Features):
    """Texts or pairs of texts, as token ids."""

    ids: Ragged
    """The token ids of every input, with [CLS] and [SEP]."""
    second_start_I: np.ndarray
    """For each input, the position where text B begins, or the length of the input if it has no text B."""
    example_I: np.ndarray
    """The index of each input's example."""
    unit_I: Ragged | None = None
    """For each token in `ids`, the index of the unit whose tag it predicts, or -1; None if there is one target per
    example."""
    target_dtype: torch.dtype = torch.int64
    """float32 for values, int64 for label indices."""

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, i: int) -> Input:
        ids = self.ids[i]
        return Input(ids, (np.arange(len(ids)) >= self.second_start_I[i]).astype(np.int64))

    @property
    def digest(self) -> int:
        """A checksum of the tokens and targets; it depends on their order."""
        targets = np.array(str([row.target for row in self.examples]).encode())
        return checksum(self.ids.flat, self.ids.start, targets)

    def make_batch(self, groups: np.ndarray) -> LabelBatch:
        """Collate inputs and their targets into one batch."""
        inputs_I = (np.asarray(groups)[:, None] * self.inputs_per_example + np.arange(self.inputs_per_example)).ravel()
        inputs = collate([self[int(i)] for i in inputs_I], self.pad_id)
        if self.inputs_per_example > 1:
            inputs = inputs.group(self.inputs_per_example)
        if self.unit_I is not None:
            return LabelBatch(inputs, torch.from_numpy(self._align_tags(inputs_I, inputs.input_ids_BT.shape[1])))
        targets = [self.examples[int(self.example_I[i])].target for i in inputs_I[:: self.inputs_per_example]]
        # The type is given, because it cannot be inferred in a process whose part of the batch is empty.
        return LabelBatch(inputs, torch.tensor(targets, dtype=self.target_dtype))

    def _align_tags(self, inputs_I: np.ndarray, size: int) -> np.ndarray:
        """Look up the index of the tag that each token should predict, [B, `size`]; NO_TAG for tokens without a tag."""
        tags_BT = np.full((len(inputs_I), size), NO_TAG, np.int64)
        for row, i in enumerate(inputs_I):
            units_T = self.unit_I[int(i)]
            tags_U = np.array(self.examples[int(self.example_I[i])].target)
            has_tag_T = units_T >= 0
            tags_BT[row, : len(units_T)][has_tag_T] = tags_U[units_T[has_tag_T]]
        return tags_BT


def checksum(*arrays: np.ndarray) -> int:
    """Compute the CRC-32 of the concatenated bytes of several arrays."""
    value = 0
    for array_ in arrays:
        value = zlib.crc32(np.ascontiguousarray(array_).tobytes(), value)
    return value


def check_max_tokens(max_tokens: int) -> None:
    """Raise TextError if `max_tokens` leaves too little space for two texts and the three special tokens."""
    if max_tokens < 5:
        raise TextError("max-tokens-too-few", max_tokens=max_tokens)


def encode_texts(tokenizer: Tokenizer, examples: Examples, max_tokens: int) -> TextFeatures:
    """Tokenise the text or the two texts of each example."""
    texts_b = [row.texts[1] for row in examples] if len(examples[0].texts) > 1 else []
    return tokenise_texts(tokenizer, examples, [row.texts[0] for row in examples], texts_b, max_tokens)


def tokenise_texts(
    tokenizer: Tokenizer,
    examples: Examples,
    texts_a: Sequence[str],
    texts_b: Sequence[str],
    max_tokens: int,
    inputs_per_example: int = 1,
    target_dtype: torch.dtype = torch.int64,
) -> TextFeatures:
    """Tokenise texts or (unless `texts_b` is empty) pairs of texts, and truncate inputs longer than `max_tokens`."""
    check_max_tokens(max_tokens)
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    separators = [sep] * tokenizer.special.separators
    flat_ids, lengths, second_start = array("i"), array("q"), array("q")
    for begin in range(0, len(texts_a), TEXTS_AT_ONCE):
        chunk = slice(begin, begin + TEXTS_AT_ONCE)
        ids_a = tokenizer.encode_ids(texts_a[chunk])
        ids_b = tokenizer.encode_ids(texts_b[chunk]) if texts_b else [None] * len(ids_a)
        for a, b in zip(ids_a, ids_b, strict=True):
            if b is None:
                ids = [cls, *a[: max_tokens - 2], sep]
                second_start.append(len(ids))
            else:
                length_a, length_b = compute_truncated_lengths(len(a), len(b), max_tokens - 2 - len(separators))
                ids = [cls, *a[:length_a], *separators, *b[:length_b], sep]
                second_start.append(length_a + 1 + len(separators))
            flat_ids.extend(ids)
            lengths.append(len(ids))
    return TextFeatures(
        examples=examples,
        pad_id=tokenizer.pad_id,
        inputs_per_example=inputs_per_example,
        ids=Ragged.from_flat(flat_ids, lengths),
        second_start_I=np.array(second_start),
        example_I=np.repeat(np.arange(len(examples)), inputs_per_example),
        target_dtype=target_dtype,
    )


def compute_truncated_lengths(length_a: int, length_b: int, limit: int) -> tuple[int, int]:
    """Compute the numbers of tokens of two texts after truncation to `limit` tokens in total.

    Tokens are removed one by one from the longer text, or from the second text if both have the same length.

    Source: `_truncate_seq_pair` of google-research/bert.

    >>> compute_truncated_lengths(3, 20, 10), compute_truncated_lengths(9, 9, 5), compute_truncated_lengths(2, 3, 10)
    ((3, 7), (3, 2), (2, 3))
    """
    half = limit - limit // 2  # rounded up; if both texts are longer than half of the limit, text A gets this length
    if length_a + length_b <= limit:
        return length_a, length_b
    if length_a <= half:
        return length_a, limit - length_a
    return (limit - length_b, length_b) if length_b <= limit - half else (half, limit - half)

"""Checked examples -> the integers a model reads, and the numbers it learns, for every kind of task but spans.

Tokenised in large parts, on every core (the `tokenizers` library is Rust). Knows no model.

Shape legend: B batch, T tokens of an input, I inputs, E examples, U units (words, or characters), C choices.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.config.errors import TextError
from bertlab.tasks.examples import Examples
from bertlab.tasks.span.windows import Ragged
from bertlab.text.batch import LabelBatch, collate
from bertlab.text.batches import ShuffledSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer

AT_ONCE = 20_000  # texts tokenised together; it bounds the memory
IGNORED = -100


@dataclass(frozen=True)
class Input:
    """[CLS] A [SEP] or [CLS] A [SEP] B [SEP]; collates like an `Encoding`."""

    ids: np.ndarray
    token_type_ids: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Features(Sequence):
    """Every input of some examples. ids: with their layout. second_I: where B begins, or the length.

    example_I: whose input it is. unit_I: for tags, laid out like `ids`: which unit of the example a piece tells the tag
    of, -1 where of none. group: how many inputs in a row belong together (the choices of one example).
    """

    examples: Examples
    ids: Ragged
    second_I: np.ndarray
    example_I: np.ndarray
    unit_I: Ragged | None
    group: int
    pad_id: int

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, i: int) -> Input:
        ids = self.ids[i]
        return Input(ids, (np.arange(len(ids)) >= self.second_I[i]).astype(np.int64))

    def batch(self, groups: np.ndarray) -> LabelBatch:
        """Some groups with what is to be learned of them."""
        inputs_I = (np.asarray(groups)[:, None] * self.group + np.arange(self.group)).ravel()
        inputs = collate([self[int(i)] for i in inputs_I], self.pad_id)
        if self.examples.spec.kind == "choose":
            inputs = inputs.grouped(self.group)
        if self.unit_I is not None:
            return LabelBatch(inputs, torch.from_numpy(self._tags(inputs_I, inputs.input_ids_BT.shape[1])))
        targets = [self.examples[int(self.example_I[i])].target for i in inputs_I[:: self.group]]
        # a process without rows has no targets to tell the type by
        dtype = torch.float32 if self.examples.spec.kind == "regress" else torch.int64
        return LabelBatch(inputs, torch.tensor(targets, dtype=dtype))

    def _tags(self, inputs_I: np.ndarray, longest: int) -> np.ndarray:
        tags_BT = np.full((len(inputs_I), longest), IGNORED, np.int64)
        for row, i in enumerate(inputs_I):
            units_T = self.unit_I[int(i)]
            tags_U = np.array(self.examples[int(self.example_I[i])].target)
            told = units_T >= 0
            tags_BT[row, : len(units_T)][told] = tags_U[units_T[told]]
        return tags_BT

    def batches(self, batch_size: int, seed: int, share: tuple[int, int] = (0, 1)) -> ShuffledSampler:
        """Endless shuffled batches of `batch_size` groups, of which `share` says what is this process's."""
        return ShuffledSampler(len(self) // self.group, batch_size, seed, self.batch, share)


def features(tokenizer: Tokenizer, examples: Examples, max_tokens: int) -> Features:
    """The inputs of examples; what is longer than `max_tokens` is cut, the longer text of a pair first
    (`_truncate_seq_pair` of google-research/bert); tagged sentences are parted instead, so that every word is read.

    Raises:
        TextError: `max_tokens` leaves no room for a text.
    """
    if max_tokens < 5:
        raise TextError(f"{max_tokens} tokens leave no room for a text")
    if examples.spec.kind == "tag":
        return _tag_features(tokenizer, examples, max_tokens)
    if examples.spec.kind == "choose":
        firsts = [row.texts[0] for row in examples for _ in row.texts[1:]]
        seconds = [choice for row in examples for choice in row.texts[1:]]
    else:
        firsts = [row.texts[0] for row in examples]
        seconds = [row.texts[1] for row in examples] if len(examples[0].texts) > 1 else []
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    flat, lengths, second = array("i"), array("q"), array("q")
    for begin in range(0, len(firsts), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        ones = tokenizer.encode_ids(firsts[part])
        others = tokenizer.encode_ids(seconds[part]) if seconds else [None] * len(ones)
        for a, b in zip(ones, others, strict=True):
            if b is None:
                ids = [cls, *a[: max_tokens - 2], sep]
                second.append(len(ids))
            else:
                kept_a, kept_b = kept(len(a), len(b), max_tokens - 3)
                ids = [cls, *a[:kept_a], sep, *b[:kept_b], sep]
                second.append(kept_a + 2)
            flat.extend(ids)
            lengths.append(len(ids))
    group = examples.choices
    example_I = np.repeat(np.arange(len(examples)), group)
    return Features(examples, _ragged(flat, lengths), np.array(second), example_I, None, group, tokenizer.pad_id)


def kept(a: int, b: int, room: int) -> tuple[int, int]:
    """How many of two lengths stay when the longer one (of equals, the second) gives a token until both fit.

    >>> kept(3, 20, 10), kept(9, 9, 5), kept(2, 3, 10)
    ((3, 7), (3, 2), (2, 3))
    """
    half = room - room // 2
    if a + b <= room:
        return a, b
    if a <= half:
        return a, room - a
    return (room - b, b) if b <= room - half else (half, room - half)


def _tag_features(tokenizer: Tokenizer, examples: Examples, max_tokens: int) -> Features:
    by_character = examples.spec.unit == "character"
    read = _character_pieces if by_character else _word_pieces
    flat, units, lengths, owner = array("i"), array("i"), array("q"), array("q")
    room = max_tokens - 2
    for begin in range(0, len(examples), AT_ONCE):
        part = [row.texts for row in examples[begin : begin + AT_ONCE]]
        for number, (ids, unit) in enumerate(read(tokenizer, part), begin):
            for first, last in _parted(unit, room):
                flat.extend([tokenizer.cls_id, *ids[first:last], tokenizer.sep_id])
                units.extend([-1, *unit[first:last], -1])
                lengths.append(last - first + 2)
                owner.append(number)
    ids = _ragged(flat, lengths)
    unit_I = Ragged(np.array(units, np.int32), ids.start)
    return Features(examples, ids, np.array(lengths), np.array(owner), unit_I, 1, tokenizer.pad_id)


def _word_pieces(tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]):
    """For every sentence its pieces, and for each piece the word it is the first of, else -1."""
    distinct = list(dict.fromkeys(word for words in sentences for word in words))
    pieces = dict(zip(distinct, tokenizer.encode_ids(distinct), strict=True))
    for words in sentences:
        ids, unit = [], []
        for number, word in enumerate(words):
            own = pieces[word]
            ids += own
            unit += [number, *[-1] * (len(own) - 1)] if own else []
        yield ids, unit


def _character_pieces(tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]):
    """As `_word_pieces` where the units are characters: every piece tells the tag of its first one."""
    encoded = tokenizer.encode_segments(["".join(characters) for characters in sentences])
    for characters, row in zip(sentences, encoded, strict=True):
        unit_of = np.repeat(np.arange(len(characters)), [len(character) for character in characters])
        yield row.ids, [int(unit_of[begin]) if end > begin else -1 for begin, end in row.offsets]


def _parted(units: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Where to part a long row of pieces: before the first piece of a unit where there is one.

    >>> _parted([0, 1, -1, 2, 3, -1], 4), _parted([], 4)
    ([(0, 4), (4, 6)], [(0, 0)])
    """
    parts, first = [], 0
    while len(units) - first > room:
        last = first + room
        while last > first + 1 and units[last] < 0:
            last -= 1
        last = last if units[last] >= 0 else first + room
        parts.append((first, last))
        first = last
    return [*parts, (first, len(units))]


def _ragged(flat: array, lengths: array) -> Ragged:
    return Ragged(np.array(flat, np.int32), np.concatenate([[0], np.cumsum(np.array(lengths), dtype=np.int64)]))


def spread(pieces: dict[int, str], characters: Sequence[str]) -> list[str]:
    """Tags of pieces -> tags of every character: a piece's own goes on over it as I, and over a gap inside an entity.

    Args:
        pieces: the tag of each piece, under the place of its first character.

    >>> spread({0: "B-LC", 2: "I-LC", 4: "O"}, list("서울 역에"))
    ['B-LC', 'I-LC', 'I-LC', 'I-LC', 'O']
    >>> spread({0: "B-PS", 3: "O"}, list("영희 가"))
    ['B-PS', 'I-PS', 'O', 'O']
    """
    tags, last = [], "O"
    for place, character in enumerate(characters):
        if place in pieces:
            tags.append(pieces[place])
        elif last == "O":
            tags.append("O")
        elif character.strip():
            tags.append("I" + last[1:])
        else:
            after = next((pieces[p] for p in range(place + 1, len(characters)) if p in pieces), "O")
            tags.append(after if after == "I" + last[1:] else "O")
        last = tags[-1]
    return tags

"""Compare two checkpoints on one input, or one checkpoint on two inputs.

A checkpoint with its input is called a side. If both sides have the same vocabulary, their tokens are compared,
otherwise their words. These tokens or words are called units. If both sides have the same number of units, the units
are compared one to one; otherwise, only the units that occur on both sides are compared.

Attention between words is the sum over the tokens of the attended word and the mean over the tokens of the attending
word (Clark et al. 2019, arXiv 1906.04341, section 4). Rows of attention are scaled to sum to 1 over the compared units.

Shape legend: T tokens, U units, H hidden, N heads, L layers (of the first side), M layers (of the second side), P pairs
of units, X any dimensions before the units. For hidden states, L and M also count the embeddings: index 0 is the
embeddings, index l + 1 the output of layer l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np
import torch

from bertlab.abilities.encode import encode, make_batch_of_one, make_token_rows
from bertlab.abilities.results import TokenRow
from bertlab.config.errors import TextError
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import find_device
from bertlab.text.tokenizers.encoding import OTHER_SPECIAL_TOKENS, SPECIAL_TOKENS
from bertlab.text.tokenizers.search import CONTINUATION
from bertlab.text.word_spans import find_words

if TYPE_CHECKING:
    from bertlab.session import Session


@dataclass(frozen=True)
class Unit:
    """A token or word of the first side, and the one of the second side that it is compared with."""

    first: str
    """The text of the unit on the first side."""
    second: str
    """The text of the unit on the second side."""
    first_positions: tuple[int, ...]
    """The positions of the unit's tokens on the first side."""
    second_positions: tuple[int, ...]
    """The positions of the unit's tokens on the second side."""
    first_tokens: tuple[str, ...]
    """The unit's tokens on the first side."""
    second_tokens: tuple[str, ...]
    """The unit's tokens on the second side."""

    @property
    def is_split_differently(self) -> bool:
        """Whether the two sides split the unit at different places, or only one side has [UNK] for the unit."""
        return _remove_marks(self.first_tokens) != _remove_marks(self.second_tokens)

    @property
    def label(self) -> str:
        """The text of the unit, or both texts if they differ."""
        return self.first if self.first == self.second else f"{self.first} → {self.second}"


@dataclass(frozen=True)
class Comparison:
    """The attention and the hidden states of two sides, for the units that both sides have."""

    units: tuple[Unit, ...]
    """The units that are compared."""
    unit_kind: str
    """The kind of unit: "tokens" or "words"."""
    num_left_out: tuple[int, int]
    """How many units only the first side has, and how many only the second side has."""
    first_LNUU: np.ndarray
    """Attention between the units on the first side."""
    second_MNUU: np.ndarray
    """Attention between the units on the second side."""
    cka_LM: np.ndarray
    """Linear CKA of the hidden states: every layer of the first side with every layer of the second. On both axes,
    index 0 is the embeddings, index l + 1 the output of layer l."""
    cosine_distance_LU: np.ndarray | None
    """1 - cosine similarity of the two hidden states of each unit. Index 0 is the embeddings, index l + 1 the output of
    layer l. None if the numbers of layers or the hidden sizes differ."""

    @property
    def has_comparable_heads(self) -> bool:
        """Whether both sides have the same number of layers and heads, so that heads can be compared one to one."""
        return self.first_LNUU.shape == self.second_MNUU.shape

    @property
    def js_LN(self) -> np.ndarray:
        """For each head, the Jensen-Shannon distance (base 2) between a row of attention on the first side and the same
        row on the second, as a mean over the rows: 0 for equal, 1 for disjoint attention."""
        # The distance is computed layer by layer, because all heads of a long input together would take gigabytes.
        layers = zip(self.first_LNUU, self.second_MNUU, strict=True)
        return np.stack([js_distance(first_NUU, second_NUU).mean(-1) for first_NUU, second_NUU in layers])

    @property
    def distance_difference_LN(self) -> np.ndarray:
        """The difference of each head's mean distance from query to key, second minus first side, in units."""
        return mean_distance(self.second_MNUU) - mean_distance(self.first_LNUU)

    @property
    def signed_js_LN(self) -> np.ndarray:
        """`js_LN` with the sign of `distance_difference_LN`: positive where the second side attends farther."""
        return np.sign(self.distance_difference_LN) * self.js_LN

    def difference_UU(self, layer: int, head: int) -> np.ndarray:
        """One head's attention on the second side minus that on the first; rows are queries."""
        return self.second_MNUU[layer, head] - self.first_LNUU[layer, head]


@torch.inference_mode()
def compare(
    first: Session,
    second: Session,
    text: str,
    pair: str | None = None,
    other: str | None = None,
    other_pair: str | None = None,
) -> Comparison:
    """Compare two checkpoints on one input, or one checkpoint on two inputs.

    Args:
        first: the checkpoint of the first side.
        second: the checkpoint of the second side.
        text: the input of the first side, and of the second side unless `other` is given.
        pair: the second text of `text`, if the input is a pair.
        other: the input of the second side, if it differs from that of the first.
        other_pair: the second text of `other`, if that input is a pair.

    Raises:
        TextError: a text is empty or too long, or the inputs have no unit in common.
    """
    inputs = ((text, pair), (text, pair) if other is None else (other, other_pair))
    sides = [_compute_side(session, *texts) for session, texts in zip((first, second), inputs, strict=True)]
    has_same_vocabulary = first.tokenizer.digest == second.tokenizer.digest
    units_of_sides = [
        [(row.token, (row.position,)) for row in rows] if has_same_vocabulary else _group_into_words(rows, *texts)
        for (rows, _, _), texts in zip(sides, inputs, strict=True)
    ]
    units = _align_units(*units_of_sides, *([row.token for row in rows] for rows, _, _ in sides))
    if all(unit.first in _SPECIAL_TOKENS for unit in units):
        raise TextError("compare-nothing-shared")
    (_, first_LNTT, first_LTH), (_, second_MNTT, second_MTH) = sides
    first_groups, second_groups = ([unit.first_positions for unit in units], [unit.second_positions for unit in units])
    first_LUH, second_MUH = pool_vectors(first_LTH, first_groups), pool_vectors(second_MTH, second_groups)
    has_same_shape = first_LUH.shape == second_MUH.shape
    return Comparison(
        units=tuple(units),
        unit_kind="tokens" if has_same_vocabulary else "words",
        num_left_out=(len(units_of_sides[0]) - len(units), len(units_of_sides[1]) - len(units)),
        first_LNUU=pool_attention(first_LNTT, first_groups),
        second_MNUU=pool_attention(second_MNTT, second_groups),
        cka_LM=linear_cka(first_LUH, second_MUH),
        cosine_distance_LU=1 - _cosine_similarity(first_LUH, second_MUH) if has_same_shape else None,
    )


# -- metrics -----------------------------------------------------------------------------------------------------


def js_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute the square root of the Jensen-Shannon divergence in bits (Lin 1991; Endres and Schindelin 2003).

    The distributions are along the last axis.

    >>> js_distance(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    middle = (first + second) / 2

    def divergence(rows):
        """Compute the Kullback-Leibler divergence of each row from `middle`, in bits."""
        logs = np.log2(np.where(rows > 0, rows, 1)) - np.log2(np.where(middle > 0, middle, 1))
        return (rows * logs).sum(-1)

    return np.sqrt(np.clip((divergence(first) + divergence(second)) / 2, 0, 1))


def mean_distance(probs_XUU: np.ndarray) -> np.ndarray:
    """Compute the mean distance from queries to keys, weighted by attention, in units, for each matrix."""
    position_U = np.arange(probs_XUU.shape[-1])
    return (probs_XUU * np.abs(position_U[:, None] - position_U)).sum(-1).mean(-1)


def linear_cka(first_LUH: np.ndarray, second_MUH: np.ndarray) -> np.ndarray:
    """Compute the linear CKA of each layer of one side with each layer of the other -> [L, M] in 0..1.

    CKA compares Gram matrices over the same units, so the hidden sizes may differ.

    Source: Kornblith et al. 2019 (arXiv 1905.00414), section 3.
    """

    def make_gram_matrices(hidden_LUH):
        """Make each layer's matrix of the dot products of all pairs of units, flattened, of length 1 -> [L, P]."""
        centred_LUH = hidden_LUH - hidden_LUH.mean(1, keepdims=True)
        gram_LP = (centred_LUH @ centred_LUH.transpose(0, 2, 1)).reshape(len(hidden_LUH), -1)
        return gram_LP / np.maximum(np.linalg.norm(gram_LP, axis=1, keepdims=True), 1e-12)

    first_LP, second_MP = (make_gram_matrices(side.astype(np.float64)) for side in (first_LUH, second_MUH))
    return np.clip(first_LP @ second_MP.T, 0, 1)


def pool_attention(probs_LNTT: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Compute the attention between groups of positions -> [L, N, U, U].

    Attention is summed over the keys of a group and averaged over its queries; then each row is scaled to sum to 1.
    """
    member_UT = _make_membership_matrix(groups, probs_LNTT.shape[-1])
    mean_UT = member_UT / member_UT.sum(-1, keepdims=True)
    pooled_LNUU = mean_UT @ probs_LNTT @ member_UT.T
    return pooled_LNUU / np.maximum(pooled_LNUU.sum(-1, keepdims=True), 1e-12)


def pool_vectors(hidden_LTH: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Compute the mean vector of each group of positions -> [L, U, H]."""
    member_UT = _make_membership_matrix(groups, hidden_LTH.shape[1])
    return (member_UT / member_UT.sum(-1, keepdims=True)) @ hidden_LTH


def _make_membership_matrix(groups: Sequence[Sequence[int]], size: int) -> np.ndarray:
    """Make a matrix [U, T] that is 1 where the group of a row contains the position of a column, and 0 elsewhere."""
    member_UT = np.zeros((len(groups), size), np.float32)
    for unit, positions in enumerate(groups):
        member_UT[unit, list(positions)] = 1
    return member_UT


def _cosine_similarity(first_LUH: np.ndarray, second_LUH: np.ndarray) -> np.ndarray:
    """Compute the cosine of the two hidden states of each unit in each layer -> [L, U]."""
    norm_products_LU = np.linalg.norm(first_LUH, axis=-1) * np.linalg.norm(second_LUH, axis=-1)
    return (first_LUH * second_LUH).sum(-1) / np.maximum(norm_products_LU, 1e-12)


# -- units -------------------------------------------------------------------------------------------------------

# the names of [CLS] and [SEP], first in BERT's vocabularies, then in those of other families
_SPECIAL_TOKENS = (*SPECIAL_TOKENS[2:4], *OTHER_SPECIAL_TOKENS[2:4])
_Units = list[tuple[str, tuple[int, ...]]]  # the text of each unit, and the positions of its tokens


def _compute_side(session: Session, text: str, pair: str | None) -> tuple[tuple[TokenRow, ...], np.ndarray, np.ndarray]:
    """Compute the tokens of an input, the attention of every head, and the hidden states (the embeddings first)."""
    encoding = encode(session.tokenizer, text, pair, session.config)
    trace = Trace.of("probs", "hidden")
    session.model(make_batch_of_one(encoding, find_device(session.model)), trace=trace)
    probs_LNTT, hidden_LTH = torch.cat(trace["probs"]), torch.cat(trace["hidden"])
    return make_token_rows(encoding), probs_LNTT.float().cpu().numpy(), hidden_LTH.float().cpu().numpy()


def _group_into_words(rows: Sequence[TokenRow], text: str, pair: str | None) -> _Units:
    """Group the tokens of an input into words; [CLS] and [SEP] count as words."""
    spans_by_segment = (find_words(text), find_words(pair or ""))
    # (segment, index of a word), or (position,) of a special token -> (its text, the positions of its tokens)
    positions_by_word: dict[tuple, tuple[str, list[int]]] = {}
    for row in rows:
        if row.special and row.start == row.end:
            positions_by_word[(row.position,)] = (row.token, [row.position])
            continue
        segment_text = (text, pair or "")[row.segment]
        spans = spans_by_segment[row.segment]
        overlapping = (index for index, (start, end) in enumerate(spans) if start < row.end and row.start < end)
        index = next(overlapping, None)
        if index is not None:
            start, end = spans[index]
            positions_by_word.setdefault((row.segment, index), (segment_text[start:end], []))[1].append(row.position)
    return [(word, tuple(positions)) for word, positions in positions_by_word.values()]


def _remove_marks(tokens: Sequence[str]) -> list[str]:
    """Remove the marks "##", "Ġ" and "▁", which say only where words begin, and make all letters lower case.

    >>> _remove_marks(["Ġtea", "pot"]) == _remove_marks(["Tea", "##pot"])
    True
    """
    return [token.removeprefix(CONTINUATION).lstrip("Ġ▁").lower() for token in tokens]


def _align_units(
    first: _Units, second: _Units, first_tokens: Sequence[str], second_tokens: Sequence[str]
) -> list[Unit]:
    """Match the units of both sides: one to one if both have the same number of units, otherwise by their text.

    Args:
        first: the units of the first side.
        second: the units of the second side.
        first_tokens: all tokens of the first side, by position.
        second_tokens: all tokens of the second side, by position.

    >>> sides = [[("tea", (0,)), ("is", (1,)), ("hot", (2,))], [("tea", (0,)), ("hot", (1,))]]
    >>> units = _align_units(*sides, ["tea", "is", "hot"], ["tea", "hot"])
    >>> [(unit.label, unit.second_positions) for unit in units]
    [('tea', (0,)), ('hot', (1,))]
    """
    if len(first) == len(second):
        pairs = list(zip(first, second, strict=True))
    else:
        names = ([name for name, _ in first], [name for name, _ in second])
        blocks = SequenceMatcher(None, *names, autojunk=False).get_matching_blocks()
        pairs = [(first[a + step], second[b + step]) for a, b, size in blocks for step in range(size)]
    return [
        Unit(
            first_text,
            second_text,
            first_positions,
            second_positions,
            tuple(first_tokens[position] for position in first_positions),
            tuple(second_tokens[position] for position in second_positions),
        )
        for (first_text, first_positions), (second_text, second_positions) in pairs
    ]

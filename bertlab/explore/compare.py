"""Before and after: two checkpoints on one input, or one checkpoint on two inputs, side by side.

What is compared are units that both sides have: pieces where the vocabulary is the same, else words. Of inputs that
differ, those that stand on both sides. Arrays come out; knows no picture.

Attention between words: what the pieces of a word get is added up, what they give is averaged (Clark et al. 2019, arXiv
1906.04341, section 4). Rows are scaled to sum to 1 over the units compared.

Shape legend: T tokens, U units, H hidden, N heads, L layers (of the first), M layers (of the second).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import torch

from bertlab.config.errors import TextError
from bertlab.explore.encode import alone, encode, token_rows
from bertlab.explore.facts import TokenRow
from bertlab.explore.predict import device_of
from bertlab.explore.session import Session
from bertlab.explore.word_spans import words
from bertlab.nn.trace import Trace


@dataclass(frozen=True)
class Unit:
    """A piece or word that both sides have: how it reads on each, and its positions there."""

    first: str
    second: str
    first_positions: tuple[int, ...]
    second_positions: tuple[int, ...]

    @property
    def label(self) -> str:
        return self.first if self.first == self.second else f"{self.first} → {self.second}"


@dataclass(frozen=True)
class Comparison:
    """Two sides over the units that both have.

    by: "pieces" or "words". left_out: units of the first and of the second side that the other has not.
    first_LNUU, second_MNUU: attention. cka_LM: linear CKA of every layer with every layer, index 0 the embeddings.
    drift_LU: 1 - cosine of each unit's two vectors in each layer, None where the sides differ in depth or width.
    """

    units: tuple[Unit, ...]
    by: str
    left_out: tuple[int, int]
    first_LNUU: np.ndarray
    second_MNUU: np.ndarray
    cka_LM: np.ndarray
    drift_LU: np.ndarray | None

    @property
    def same_heads(self) -> bool:
        """Whether both sides have as many layers and heads, so that head can be held against head."""
        return self.first_LNUU.shape == self.second_MNUU.shape

    @property
    def js_LN(self) -> np.ndarray:
        """How far apart each head's rows are: the mean Jensen-Shannon distance (base 2), 0 alike to 1 nowhere alike."""
        # a layer at a time: all heads of a long input at once would take gigabytes
        sides = zip(self.first_LNUU, self.second_MNUU, strict=True)
        return np.stack([js_distance(first_NUU, second_NUU).mean(-1) for first_NUU, second_NUU in sides])

    @property
    def farther_LN(self) -> np.ndarray:
        """How many units farther a head looks on the second side, on average."""
        return mean_distance(self.second_MNUU) - mean_distance(self.first_LNUU)

    @property
    def signed_LN(self) -> np.ndarray:
        """`js_LN` with the sign of `farther_LN`: positive where the second side looks farther away."""
        return np.sign(self.farther_LN) * self.js_LN

    def difference_UU(self, layer: int, head: int) -> np.ndarray:
        """One head's attention on the second side less that on the first; rows are those who look."""
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
    """Compare two checkpoints, or one with itself on another input.

    Args:
        text, pair: what the first reads, and the second too unless it is given its own.
        other, other_pair: what the second reads instead.

    Raises:
        TextError: a text that is empty or too long; inputs that have nothing in common to compare.
    """
    inputs = ((text, pair), (text, pair) if other is None else (other, other_pair))
    sides = [_look(session, *given) for session, given in zip((first, second), inputs, strict=True)]
    same_pieces = first.tokenizer.digest == second.tokenizer.digest
    listed = [
        [(row.piece, (row.position,)) for row in rows] if same_pieces else _words(rows, *given)
        for (rows, _, _), given in zip(sides, inputs, strict=True)
    ]
    units = _align(*listed)
    if all(unit.first in _ADDED for unit in units):
        raise TextError("the two inputs share no piece: there is nothing to compare but [CLS] and [SEP]")
    (_, first_LNTT, first_LTH), (_, second_MNTT, second_MTH) = sides
    first_groups, second_groups = ([unit.first_positions for unit in units], [unit.second_positions for unit in units])
    first_LUH, second_MUH = pool_vectors(first_LTH, first_groups), pool_vectors(second_MTH, second_groups)
    return Comparison(
        units=tuple(units),
        by="pieces" if same_pieces else "words",
        left_out=(len(listed[0]) - len(units), len(listed[1]) - len(units)),
        first_LNUU=pool_attention(first_LNTT, first_groups),
        second_MNUU=pool_attention(second_MNTT, second_groups),
        cka_LM=linear_cka(first_LUH, second_MUH),
        drift_LU=1 - _cosine(first_LUH, second_MUH) if first_LUH.shape == second_MUH.shape else None,
    )


# -- measures: arrays in, arrays out -----------------------------------------------------------------------------


def js_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The root of the Jensen-Shannon divergence in bits, over the last axis (Lin 1991; Endres and Schindelin 2003).

    >>> js_distance(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    middle = (first + second) / 2

    def divergence(rows):
        logs = np.log2(np.where(rows > 0, rows, 1)) - np.log2(np.where(middle > 0, middle, 1))
        return (rows * logs).sum(-1)

    return np.sqrt(np.clip((divergence(first) + divergence(second)) / 2, 0, 1))


def mean_distance(probs_XUU: np.ndarray) -> np.ndarray:
    """How far away a head looks on average, in units -> [...]."""
    places_U = np.arange(probs_XUU.shape[-1])
    return (probs_XUU * np.abs(places_U[:, None] - places_U)).sum(-1).mean(-1)


def linear_cka(first_LUH: np.ndarray, second_MUH: np.ndarray) -> np.ndarray:
    """Linear CKA of every layer of one side with every layer of the other, over the same units -> [L, M] in 0..1.

    By Gram matrices, so the sides may differ in width. Source: Kornblith et al. 2019 (arXiv 1905.00414), section 3.
    """

    def grams(hidden_LUH):
        centred_LUH = hidden_LUH - hidden_LUH.mean(1, keepdims=True)
        gram_LX = (centred_LUH @ centred_LUH.transpose(0, 2, 1)).reshape(len(hidden_LUH), -1)
        return gram_LX / np.maximum(np.linalg.norm(gram_LX, axis=1, keepdims=True), 1e-12)

    return np.clip(grams(first_LUH.astype(np.float64)) @ grams(second_MUH.astype(np.float64)).T, 0, 1)


def pool_attention(probs_LNTT: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Attention between groups of positions: added up over the keys of a group, averaged over its queries, and each row
    scaled to sum to 1 -> [L, N, U, U]."""
    member_UT = _members(groups, probs_LNTT.shape[-1])
    mean_UT = member_UT / member_UT.sum(-1, keepdims=True)
    pooled_LNUU = mean_UT @ probs_LNTT @ member_UT.T
    return pooled_LNUU / np.maximum(pooled_LNUU.sum(-1, keepdims=True), 1e-12)


def pool_vectors(hidden_LTH: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """The mean vector of each group of positions -> [L, U, H]."""
    member_UT = _members(groups, hidden_LTH.shape[1])
    return (member_UT / member_UT.sum(-1, keepdims=True)) @ hidden_LTH


def _members(groups: Sequence[Sequence[int]], size: int) -> np.ndarray:
    member_UT = np.zeros((len(groups), size), np.float32)
    for unit, positions in enumerate(groups):
        member_UT[unit, list(positions)] = 1
    return member_UT


def _cosine(first_LUH: np.ndarray, second_LUH: np.ndarray) -> np.ndarray:
    norms_LU = np.linalg.norm(first_LUH, axis=-1) * np.linalg.norm(second_LUH, axis=-1)
    return (first_LUH * second_LUH).sum(-1) / np.maximum(norms_LU, 1e-12)


# -- what is held against what -----------------------------------------------------------------------------------

_ADDED = ("[CLS]", "[SEP]")
_Listed = list[tuple[str, tuple[int, ...]]]


def _look(session: Session, text: str, pair: str | None) -> tuple[tuple[TokenRow, ...], np.ndarray, np.ndarray]:
    """The tokens of an input, every head's attention, and every layer's hidden states (the embeddings first)."""
    encoding = encode(session.tokenizer, text, pair, session.config.max_positions)
    trace = Trace.of("probs", "hidden")
    session.model(alone(encoding, device_of(session.model)), trace=trace)
    probs_LNTT, hidden_LTH = torch.cat(trace["probs"]), torch.cat(trace["hidden"])
    return token_rows(encoding), probs_LNTT.float().cpu().numpy(), hidden_LTH.float().cpu().numpy()


def _words(rows: Sequence[TokenRow], text: str, pair: str | None) -> _Listed:
    """The words of an input with the positions of their pieces; [CLS] and [SEP] stand for themselves."""
    places = (words(text), words(pair or ""))
    listed: dict[tuple, tuple[str, list[int]]] = {}
    for row in rows:
        if row.special and row.start == row.end:
            listed[(row.position,)] = (row.piece, [row.position])
            continue
        source = (text, pair or "")[row.segment]
        within = (at for at, (start, end) in enumerate(places[row.segment]) if start < row.end and row.start < end)
        at = next(within, None)
        if at is not None:
            start, end = places[row.segment][at]
            listed.setdefault((row.segment, at), (source[start:end], []))[1].append(row.position)
    return [(word, tuple(positions)) for word, positions in listed.values()]


def _align(first: _Listed, second: _Listed) -> list[Unit]:
    """The units of both sides that belong together: one by one where there are as many, else those that read alike.

    >>> sides = [[("tea", (0,)), ("is", (1,)), ("hot", (2,))], [("tea", (0,)), ("hot", (1,))]]
    >>> [(unit.label, unit.second_positions) for unit in _align(*sides)]
    [('tea', (0,)), ('hot', (1,))]
    """
    if len(first) == len(second):
        pairs = list(zip(first, second, strict=True))
    else:
        names = ([name for name, _ in first], [name for name, _ in second])
        blocks = SequenceMatcher(None, *names, autojunk=False).get_matching_blocks()
        pairs = [(first[a + step], second[b + step]) for a, b, size in blocks for step in range(size)]
    return [Unit(one, other, here, there) for (one, here), (other, there) in pairs]

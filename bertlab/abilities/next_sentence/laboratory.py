"""Examine next-sentence prediction: ranked candidates, attention between the sentences, and fixed test pairs.

Shape legend: T tokens, N heads, L layers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.abilities.results import AttentionMap
from bertlab.config.errors import TextError
from bertlab.config.languages import DEFAULT, read_data

TEST_PAIR_KINDS = ("follows", "same_topic", "other_topic")  # kinds of sentence B; the first is IsNext


@dataclass(frozen=True)
class RankedSentence:
    """A candidate for the next sentence."""

    text: str
    """The candidate."""
    index: int
    """The index of the candidate in the list of all candidates, from 0."""
    probability: float
    """The probability that the candidate follows sentence A (NSP), or that the two are in order (SOP), 0..1."""


@dataclass(frozen=True)
class PairAttention:
    """How much attention goes from sentence B to sentence A, for every head."""

    share_LN: np.ndarray
    """The share of the attention of B's tokens that goes to A's tokens, as a mean over B's tokens, 0..1."""
    uniform: float
    """The share if every head attended to all tokens equally."""
    queries: tuple[int, ...]
    """The positions of B's tokens, which are the queries."""


@dataclass(frozen=True)
class TestPairResult:
    """The prediction for one test pair."""

    first: str
    """Sentence A."""
    second: str
    """Sentence B."""
    kind: str
    """How B relates to A, one of `TEST_PAIR_KINDS`."""
    probability: float
    """The probability that B follows A, 0..1."""

    @property
    def is_correct(self) -> bool:
        """Whether the prediction is right: IsNext for "follows", NotNext for the other kinds."""
        return (self.probability >= 0.5) == (self.kind == "follows")


def rank_candidates(predict: Callable, first: str, candidates: Sequence[str]) -> list[RankedSentence]:
    """Rank candidates for the sentence after `first`, the most probable one first.

    Args:
        predict: `Session.next_sentence`.
        first: sentence A.
        candidates: the sentences B to compare.

    Raises:
        TextError: there is no candidate, or a text is empty or too long.
    """
    if not candidates:
        raise TextError("no-candidates")
    probabilities = [predict(first, candidate).probability for candidate in candidates]
    order = sorted(range(len(candidates)), key=lambda index: -probabilities[index])
    return [RankedSentence(candidates[index], index, probabilities[index]) for index in order]


def compute_pair_attention(attention: AttentionMap) -> PairAttention:
    """Compute the attention from sentence B to sentence A, without [CLS] and [SEP].

    Args:
        attention: the attention of a pair.
    """
    a_positions, b_positions = (
        [row.position for row in attention.tokens if row.segment == segment and not row.special] for segment in (0, 1)
    )
    share_LN = attention.probs_LNTT[:, :, b_positions][..., a_positions].sum(-1).mean(-1)
    return PairAttention(share_LN, len(a_positions) / len(attention.tokens), tuple(b_positions))


def predict_test_pairs(predict: Callable, language: str = DEFAULT, progress: Callable = iter) -> list[TestPairResult]:
    """Predict all test pairs of a language. They show whether the model recognises coherence or only the topic.

    Each group of test pairs has one sentence A and a sentence B of every kind: one that follows, one about the same
    topic that cannot follow, and one about another topic.

    Args:
        predict: `Session.next_sentence`.
        language: the language of the test pairs; if there are none in this language, the English ones are used.
        progress: wraps the iterable of groups, as `tqdm` does.
    """
    return [
        TestPairResult(group["first"], group[kind], kind, predict(group["first"], group[kind]).probability)
        for group in progress(read_data("next_sentence_test_pairs", language)["test_pairs"])
        for kind in TEST_PAIR_KINDS
    ]

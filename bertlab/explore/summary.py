"""Extractive summaries without training: the most central sentences of a text, without repetitions, in text order.

A sentence is central if its vector has large cosines with those of many other sentences, above all of central ones.
This measures what a text talks about most. Whether it makes a good summary, only references can tell (`tasks.rouge`).

Shape legend: S sentences, P vector.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import TextError
from bertlab.explore.sentence_vectors import TEXTS_AT_ONCE, compute_sentence_vectors
from bertlab.tasks.rouge import METRICS, compute_rouge
from bertlab.text.pretraining.sentences import split_sentences

NUM_SENTENCES = 3
DIVERSITY = 0.3
DAMPING = 0.85  # of PageRank
TOLERANCE = 1e-7  # PageRank ends when the sum of all changes is smaller
MAX_ITERATIONS = 200
ROWS_AT_ONCE = 1024  # rows of the matrix of cosines that are computed together
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence of a text."""

    text: str
    """The sentence."""
    start: int
    """Its first character in the text."""
    end: int
    """The index after its last character."""
    centrality: float
    """Its PageRank, divided by the mean of the text: 1 for an average sentence."""


@dataclass(frozen=True)
class RougeComparison:
    """Mean ROUGE of summaries and of the first sentences of the same texts."""

    references: int
    """The number of texts that have a reference."""
    summary: dict[str, float]
    """{metric: the mean F1 of the summaries, 0..1}."""
    first: dict[str, float]
    """{metric: the mean F1 of as many sentences from the beginning of each text, 0..1}."""


@dataclass(frozen=True)
class Summary:
    """The sentences of a text, and those that summarise it."""

    sentences: tuple[ScoredSentence, ...]
    """All sentences with at least one letter or digit, in text order."""
    chosen: tuple[int, ...]
    """The indices of the chosen sentences, in text order; fewer than requested if the others repeat them."""
    first: tuple[int, ...]
    """The indices of as many sentences from the beginning, to compare with."""
    repeated: tuple[int, ...]
    """The indices of the sentences that were left out because they repeat three words of a chosen one."""
    truncated: tuple[int, ...]
    """The indices of the sentences whose end was cut off, because they have more tokens than the checkpoint reads."""
    is_trained: bool
    """Whether the checkpoint was trained to make sentence vectors."""

    @property
    def text(self) -> str:
        """The chosen sentences as one text."""
        return self.join(self.chosen)

    def join(self, indices: Sequence[int]) -> str:
        """Join sentences to one text."""
        return " ".join(self.sentences[index].text for index in indices)


@torch.inference_mode()
def summarise_texts(
    loaded: Checkpoint,
    texts: Sequence[str],
    num_sentences: int = NUM_SENTENCES,
    *,
    diversity: float = DIVERSITY,
    use_cache: bool = True,
    progress: Callable = iter,
) -> list[Summary]:
    """Choose the most central sentences of each text.

    Every sentence is one input of the model, so a text may have any length.

    Args:
        loaded: the checkpoint.
        texts: the texts.
        num_sentences: the maximum number of sentences of a summary.
        diversity: the weight of being different from the sentences chosen before, 0..1.
        use_cache: whether vectors are read from the cache on the disk, and stored in it.
        progress: wraps the sequence of groups to compute, as `tqdm` does.

    Raises:
        TextError: a text has no letters or digits, or `texts` is one text instead of a list.
        CheckpointError: the vectors need a module that bertlab does not have.
    """
    if isinstance(texts, str):
        raise TextError("embed-needs-list")
    spans = [find_sentences(text) for text in texts]
    if [] in spans:
        raise TextError("text-empty")
    groups, size = [[]], 0  # texts that have about `TEXTS_AT_ONCE` sentences together
    for index, each in enumerate(spans):
        if groups[-1] and size + len(each) > TEXTS_AT_ONCE:
            groups.append([])
            size = 0
        groups[-1].append(index)
        size += len(each)
    inner = progress if len(groups) == 1 else iter
    summaries = []
    for group in groups if len(groups) == 1 else progress(groups):
        sentences = [texts[index][slice(*span)] for index in group for span in spans[index]]
        vectors = compute_sentence_vectors(loaded, sentences, use_cache=use_cache, progress=inner)
        first = 0
        for index in group:
            last = first + len(spans[index])
            truncated = tuple(row - first for row in vectors.truncated if first <= row < last)
            summaries.append(_summarise(
                sentences[first:last], spans[index], vectors.vectors_SP[first:last], num_sentences, diversity,
                truncated, vectors.is_trained,
            ))  # fmt: skip
            first = last
    return summaries


def _summarise(
    texts: Sequence[str],
    spans: Sequence[tuple[int, int]],
    vectors_SP: np.ndarray,
    num_sentences: int,
    diversity: float,
    truncated: tuple[int, ...],
    is_trained: bool,
) -> Summary:
    centrality_S = compute_centrality(vectors_SP)
    chosen, repeated = choose_sentences(texts, vectors_SP, centrality_S, num_sentences, diversity)
    sentences = tuple(
        ScoredSentence(text, *span, float(value))
        for text, span, value in zip(texts, spans, centrality_S, strict=True)
    )  # fmt: skip
    first = tuple(range(min(num_sentences, len(texts))))
    return Summary(sentences, tuple(sorted(chosen)), first, tuple(sorted(repeated)), truncated, is_trained)


def compare_with_references(summaries: Sequence[Summary], references: Sequence[str]) -> RougeComparison | None:
    """Compute the mean ROUGE of summaries, and of the first sentences of the same texts.

    Args:
        summaries: the summaries.
        references: a reference summary of each text; blank where there is none.

    Returns:
        The comparison; None if there are no references.
    """
    pairs = [(each, text) for each, text in zip(summaries, references, strict=True) if text.strip()]
    if not pairs:
        return None
    rows = [
        [compute_rouge(reference, each.join(part)) for part in (each.chosen, each.first)] for each, reference in pairs
    ]
    means = [{name: float(np.mean([row[part][name] for row in rows])) for name in METRICS} for part in (0, 1)]
    return RougeComparison(len(pairs), *means)


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Find the first and the last character of every sentence that has a letter or a digit.

    >>> find_sentences("Rain fell. ***\\nIt stopped.")
    [(0, 10), (15, 26)]
    """
    spans, end = [], 0
    for sentence in split_sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        if any(character.isalnum() for character in sentence):
            spans.append((start, end))
    return spans


def compute_centrality(vectors_SP: np.ndarray) -> np.ndarray:
    """Compute the PageRank of sentences, divided by its mean -> float64 [S].

    The weight of two sentences is their cosine minus the smallest one of the text, because the cosines of a checkpoint
    that was not trained on sentence vectors are all large. The matrix of weights is not stored, so memory grows with
    the number of sentences, not with its square.

    Args:
        vectors_SP: the vectors, of length 1.

    Source: Erkan and Radev 2004 (LexRank, arXiv 1109.2128), section 3.3, continuous variant; Zheng and Lapata 2019
    (arXiv 1906.03508), for the subtraction.
    """
    vectors_SP = vectors_SP.astype(np.float64)
    count, low = len(vectors_SP), find_smallest_cosine(vectors_SP)

    def multiply(values_S: np.ndarray) -> np.ndarray:
        product_S = vectors_SP @ (vectors_SP.T @ values_S) - low * values_S.sum()
        return (product_S - (1 - low) * values_S).clip(0)  # no sentence votes for itself

    degree_S = multiply(np.ones(count))
    is_linked_S = degree_S > 1e-9 * count
    rank_S = np.full(count, 1 / count)
    for _ in range(MAX_ITERATIONS):
        share_S = np.divide(rank_S, degree_S, out=np.zeros(count), where=is_linked_S)
        next_S = (1 - DAMPING + DAMPING * rank_S[~is_linked_S].sum()) / count + DAMPING * multiply(share_S)
        change, rank_S = np.abs(next_S - rank_S).sum(), next_S / next_S.sum()
        if change < TOLERANCE:
            break
    return rank_S * count


def find_smallest_cosine(vectors_SP: np.ndarray) -> float:
    """Find the smallest cosine of any two vectors of length 1."""
    starts = range(0, len(vectors_SP), ROWS_AT_ONCE)
    return min(float((vectors_SP[first : first + ROWS_AT_ONCE] @ vectors_SP[first:].T).min()) for first in starts)


def choose_sentences(
    texts: Sequence[str],
    vectors_SP: np.ndarray,
    centrality_S: np.ndarray,
    num_sentences: int = NUM_SENTENCES,
    diversity: float = DIVERSITY,
) -> tuple[list[int], list[int]]:
    """Choose central sentences that differ from each other, one at a time (maximal marginal relevance).

    A sentence that repeats three consecutive words of a chosen one is left out (trigram blocking).

    Args:
        texts: the sentences.
        vectors_SP: their vectors, of length 1.
        centrality_S: the result of `compute_centrality`.
        num_sentences: the maximum number of sentences.
        diversity: the weight of the largest cosine with a chosen sentence, 0..1; both centrality and cosine are scaled
            to 0..1 within the text.

    Returns:
        The indices of the chosen sentences, in the order of the choice, and of those that were left out.

    Source: Carbonell and Goldstein 1998, section 2; Liu 2019 (arXiv 1903.10318), for trigram blocking.
    """
    low = find_smallest_cosine(vectors_SP)
    spread = np.ptp(centrality_S)
    central_S = (centrality_S - centrality_S.min()) / spread if spread > 1e-6 else np.ones(len(texts))
    similarity_S = np.zeros(len(texts))
    is_open_S = np.ones(len(texts), bool)
    chosen, repeated, used = [], [], set()
    while len(chosen) < num_sentences and is_open_S.any():
        score_S = (1 - diversity) * central_S - diversity * similarity_S
        best = int(np.where(is_open_S, score_S, -np.inf).argmax())
        is_open_S[best] = False
        trigrams = list_trigrams(texts[best])
        if used & trigrams:
            repeated.append(best)
            continue
        chosen.append(best)
        used |= trigrams
        cosine_S = (vectors_SP @ vectors_SP[best] - low) / max(1 - low, 1e-9)
        similarity_S = np.maximum(similarity_S, cosine_S)
    return chosen, repeated


def list_trigrams(text: str) -> set[tuple[str, ...]]:
    """List every three consecutive words of a text; a shorter text is one entry.

    >>> sorted(list_trigrams("The rain fell, slowly."))
    [('rain', 'fell', 'slowly'), ('the', 'rain', 'fell')]
    """
    words = _WORD.findall(text.lower())
    return {tuple(words[first : first + 3]) for first in range(max(1, len(words) - 2))}

"""The centrality of sentences, and a choice of central sentences that differ from each other.

Shape legend: S sentences, P dimensions of a vector.
"""

from collections.abc import Sequence

import numpy as np

from bertlab.abilities.summary import DIVERSITY, NUM_SENTENCES
from bertlab.tasks.summary_rows import list_trigrams

DAMPING = 0.85  # PageRank's probability of following a link; otherwise it jumps to any sentence
TOLERANCE = 1e-7  # PageRank ends when the absolute changes in one iteration sum to less than this
MAX_ITERATIONS = 200  # the maximum number of iterations of PageRank
ROWS_AT_ONCE = 1024  # how many rows of the matrix of cosines are computed together


def compute_centrality(vectors_SP: np.ndarray) -> np.ndarray:
    """Compute the PageRank of sentences, divided by its mean -> float64 [S].

    The weight between two sentences is their cosine minus the smallest cosine in the text, because the cosines of a
    checkpoint that was not trained to make sentence vectors are all large. The matrix of weights is not stored, so
    memory grows with the number of sentences, not with its square.

    Args:
        vectors_SP: the vectors, of length 1.

    Source: Erkan and Radev 2004 (LexRank, arXiv 1109.2128), section 3.3, continuous variant; Zheng and Lapata 2019
    (arXiv 1906.03508), for the subtraction.
    """
    vectors_SP = vectors_SP.astype(np.float64)
    count, smallest_cosine = len(vectors_SP), find_smallest_cosine(vectors_SP)

    def multiply(values_S: np.ndarray) -> np.ndarray:
        """Multiply the matrix of weights by a vector."""
        product_S = vectors_SP @ (vectors_SP.T @ values_S) - smallest_cosine * values_S.sum()
        # subtract the weight between each sentence and itself
        return (product_S - (1 - smallest_cosine) * values_S).clip(0)

    degree_S = multiply(np.ones(count))
    is_linked_S = degree_S > 1e-9 * count  # whether a sentence has a weight above 0 to any other sentence
    rank_S = np.full(count, 1 / count)
    for _ in range(MAX_ITERATIONS):
        share_S = np.divide(rank_S, degree_S, out=np.zeros(count), where=is_linked_S)
        next_rank_S = (1 - DAMPING + DAMPING * rank_S[~is_linked_S].sum()) / count + DAMPING * multiply(share_S)
        change, rank_S = np.abs(next_rank_S - rank_S).sum(), next_rank_S / next_rank_S.sum()
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

    A sentence that repeats three consecutive words of a chosen sentence is left out (trigram blocking).

    Args:
        texts: the sentences.
        vectors_SP: their vectors, of length 1.
        centrality_S: the result of `compute_centrality`.
        num_sentences: the maximum number of sentences.
        diversity: the weight, 0..1, of the penalty for similarity; the centrality has the remaining weight. The penalty
            is the candidate's largest cosine with a sentence chosen before. Penalty and centrality are scaled to 0..1
            within the text.

    Returns:
        The indices of the chosen sentences, and of those that were left out; both in the order in which the sentences
        were considered.

    Source: Carbonell and Goldstein 1998, section 2; Liu 2019 (arXiv 1903.10318), for trigram blocking.
    """
    smallest_cosine = find_smallest_cosine(vectors_SP)
    centrality_range = np.ptp(centrality_S)
    scaled_centrality_S = (
        (centrality_S - centrality_S.min()) / centrality_range if centrality_range > 1e-6 else np.ones(len(texts))
    )
    similarity_S = np.zeros(len(texts))
    is_undecided_S = np.ones(len(texts), bool)
    chosen, repeated, used_trigrams = [], [], set()
    while len(chosen) < num_sentences and is_undecided_S.any():
        score_S = (1 - diversity) * scaled_centrality_S - diversity * similarity_S
        best = int(np.where(is_undecided_S, score_S, -np.inf).argmax())
        is_undecided_S[best] = False
        trigrams = list_trigrams(texts[best])
        if used_trigrams & trigrams:
            repeated.append(best)
            continue
        chosen.append(best)
        used_trigrams |= trigrams
        cosine_S = (vectors_SP @ vectors_SP[best] - smallest_cosine) / max(1 - smallest_cosine, 1e-9)
        similarity_S = np.maximum(similarity_S, cosine_S)
    return chosen, repeated

"""Documents to draw sentence pairs from, and how well lengths alone predict the labels of the pairs."""

import numpy as np

from bertlab.text.pretraining.sentence_pairs import IS_NEXT, NOT_NEXT, Documents


def documents(lengths, sources=None) -> Documents:
    """Documents of the given segment lengths; the token ids are 0, 1, 2, ..."""
    segments = [n for document in lengths for n in document]
    starts = np.concatenate([[0], np.cumsum(segments)])
    document_start = np.concatenate([[0], np.cumsum([len(d) for d in lengths])])
    source_D = np.array(sources if sources is not None else [0] * len(lengths))
    return Documents(np.arange(starts[-1]), starts, document_start, source_D, np.arange(len(lengths)))


def random_documents() -> Documents:
    """300 documents of two sources, 4 to 119 sentences each."""
    rng = np.random.default_rng(0)
    lengths = [rng.integers(3, 60, rng.integers(4, 120)).tolist() for _ in range(300)]
    return documents(lengths, rng.integers(0, 2, 300))


def bag_of_lengths_accuracy(pairs) -> float:
    """Held-out accuracy of a classifier that sees only the total length and that of B, in steps of 5 tokens."""
    key = np.minimum(pairs.a_length_E + pairs.b_length_E, 125) // 5 * 100 + pairs.b_length_E // 5
    train = np.arange(len(pairs)) % 2 == 0
    votes: dict[int, float] = {}
    for k, label in zip(key[train], pairs.label_E[train], strict=True):
        votes[k] = votes.get(k, 0.0) + (1 if label == NOT_NEXT else -1)
    guess = np.array([NOT_NEXT if votes.get(k, 0) > 0 else IS_NEXT for k in key[~train]])
    return float(np.mean(guess == pairs.label_E[~train]))

"""The similarity of position vectors: those that a model learned, and the sinusoidal ones of the first Transformer.

Shape legend: P positions of the model (or distances between two positions); S positions on the axes of the matrices;
H hidden; F frequencies.
"""

from dataclasses import dataclass

import numpy as np

from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert


@dataclass(frozen=True)
class PositionSimilarity:
    """The cosine similarity of position vectors, for each pair of positions and as a mean by distance."""

    positions_S: np.ndarray
    """The positions that the rows and columns of the matrices stand for, from 0."""
    learned_SS: np.ndarray
    """The similarity of the position vectors that the model learned, -1..1."""
    sinusoidal_SS: np.ndarray
    """The similarity of sinusoidal position vectors of the same size, -1..1."""
    learned_P: np.ndarray
    """Index d: the mean similarity of all pairs of learned vectors that are d positions apart."""
    sinusoidal_P: np.ndarray
    """The same for sinusoidal vectors."""


def compute_position_similarity(model: Bert, size: int = 64) -> PositionSimilarity:
    """Compute the similarity of the position vectors of a model, and of sinusoidal ones of the same size.

    Args:
        model: the model.
        size: the number of positions in the matrices; if the model has more, evenly spaced ones are taken.

    Raises:
        CheckpointError: the model has no position vectors.

    Source: Wang and Chen 2020 (arXiv 2010.04903); Vaswani et al. 2017, section 3.5.
    """
    if model.config.rotary:
        raise CheckpointError("positions-rotary", type=model.config.model_type)
    embeddings = model.embeddings
    learned_PH = embeddings.position.weight[embeddings.first_position :].detach().float().cpu().numpy()
    count, hidden = learned_PH.shape
    positions_S = np.unique(np.linspace(0, count - 1, min(size, count)).round().astype(int))
    learned_PP = _compute_cosines(learned_PH)
    sinusoidal_PP = _compute_cosines(make_sinusoids(count, hidden))
    selection = np.ix_(positions_S, positions_S)
    return PositionSimilarity(
        positions_S, learned_PP[selection], sinusoidal_PP[selection], _average_by_distance(learned_PP),
        _average_by_distance(sinusoidal_PP),
    )  # fmt: skip


def make_sinusoids(count: int, hidden: int) -> np.ndarray:
    """Make the position vectors of the Transformer, [count, hidden]: sines and cosines of increasing wavelength.

    >>> make_sinusoids(2, 4).round(2).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]

    Source: Vaswani et al. 2017, section 3.5.
    """
    frequency_F = 10_000.0 ** (-np.arange(0, hidden, 2) / hidden)
    angle_PF = np.arange(count)[:, None] * frequency_F
    return np.stack([np.sin(angle_PF), np.cos(angle_PF)], axis=-1).reshape(count, -1)[:, :hidden]


def _compute_cosines(vectors_PH: np.ndarray) -> np.ndarray:
    """Compute the cosine of every two vectors -> [P, P]."""
    lengths_P1 = np.linalg.norm(vectors_PH, axis=1, keepdims=True)
    unit_PH = vectors_PH / np.maximum(lengths_P1, np.finfo(np.float32).tiny)
    return unit_PH @ unit_PH.T


def _average_by_distance(similarity_PP: np.ndarray) -> np.ndarray:
    """Compute, for each distance d, the mean similarity of positions that are d apart -> [P]."""
    return np.array([np.diagonal(similarity_PP, distance).mean() for distance in range(len(similarity_PP))])

"""Clusters, maps and similar pairs of sentences, in caches that all users of the app share.

Shape legend: S sentences, P size of a sentence vector.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from bertlab.abilities.sentences import clusters
from bertlab.abilities.sentences import vectors as sentence_vectors
from bertlab.abilities.sentences.clusters import Clusters, MapMethod
from bertlab.abilities.sentences.vectors import SimilarPairs
from bertlab_app.data import sessions

# The vectors and the unreadable lines are not part of the cache key: the checkpoint and the lines determine them.


@st.cache_resource(max_entries=16, show_spinner=False)
def cluster_cached(
    checkpoint: sessions.CheckpointKey,
    lines: Sequence[str],
    _vectors_SP: np.ndarray,
    min_size: int,
    _unreadable_indices: Sequence[int],
) -> Clusters:
    """Return the cached result of `explore.clusters.cluster_sentences`."""
    return clusters.cluster_sentences(lines, _vectors_SP, min_size, _unreadable_indices)


@st.cache_resource(max_entries=16, show_spinner=False)
def map_cached(
    checkpoint: sessions.CheckpointKey, lines: Sequence[str], _vectors_SP: np.ndarray, method: MapMethod
) -> np.ndarray:
    """Return the cached result of `explore.clusters.map_sentences`."""
    return clusters.map_sentences(_vectors_SP, method)


@st.cache_resource(max_entries=16, show_spinner=False)
def find_pairs_cached(
    checkpoint: sessions.CheckpointKey,
    lines: Sequence[str],
    _vectors_SP: np.ndarray,
    threshold: float,
    _unreadable_texts: Mapping[int, str],
) -> SimilarPairs:
    """Return the cached result of `explore.sentence_vectors.find_similar_pairs`."""
    return sentence_vectors.find_similar_pairs(_vectors_SP, threshold, unreadable_texts=_unreadable_texts)

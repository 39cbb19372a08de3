"""Clusters of sentence vectors (HDBSCAN), named by their most typical words, and a map of the vectors.

Shape legend: S texts, U distinct vectors, P dimensions of a vector, R dimensions of a reduced vector.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np

from bertlab.abilities.writing.word_endings import list_content_words

MIN_TEXTS = 5  # with fewer distinct vectors, there are no clusters, and every map is made by PCA
REDUCED_SIZE = 10  # dimensions in which density is measured: in hundreds of dimensions, all distances are similar
MAP_SIZE = 50  # dimensions to which PCA reduces the vectors before t-SNE makes a map of them
NUM_WORDS = 4  # the maximum number of words in the name of a cluster
NO_CLUSTER = -1  # the label of a text that is in no cluster

# the values of the argument `method` of `map_sentences`
MapMethod = Literal["pca", "tsne", "umap"]


@dataclass(frozen=True)
class Cluster:
    """A group of similar texts."""

    words: tuple[str, ...]
    """The most typical words of the texts, most typical first; () if the texts have no words."""
    members: tuple[int, ...]
    """The indices of the texts in the cluster, in order."""
    centre: int
    """The index of the most central text, whose vector has the largest cosine with the mean vector of the cluster."""


@dataclass(frozen=True)
class Clusters:
    """The clusters of some texts."""

    clusters: tuple[Cluster, ...]
    """The clusters, the largest first."""
    labels: tuple[int, ...]
    """For each text the index of its cluster; -1 if it is in none."""


def cluster_sentences(
    texts: Sequence[str], vectors_SP: np.ndarray, min_size: int = 0, unreadable_indices: Collection[int] = ()
) -> Clusters:
    """Cluster texts by the density of their vectors.

    Args:
        texts: the texts.
        vectors_SP: their vectors, of length 1.
        min_size: the smallest number of texts in a cluster, at least 2; 0 derives it from the number of texts.
        unreadable_indices: the indices of texts whose vectors mean little; such texts are put in no cluster.

    Source: Campello et al. 2013 (HDBSCAN), after a reduction by PCA; Grootendorst 2022 (arXiv 2203.05794), section 3.3,
    for the words.
    """
    labels_S = np.full(len(texts), NO_CLUSTER)
    readable_indices = np.setdiff1d(np.arange(len(texts)), list(unreadable_indices))
    distinct_UP, row_S = np.unique(vectors_SP[readable_indices], axis=0, return_inverse=True)
    if len(distinct_UP) >= MIN_TEXTS:
        from sklearn.cluster import HDBSCAN

        size = max(2, min_size or choose_min_size(len(readable_indices)))
        reduced_SR = reduce_vectors(distinct_UP, REDUCED_SIZE)[row_S.ravel()]  # each copy of a text adds to the density
        reduced_SR /= np.linalg.norm(reduced_SR, axis=1, keepdims=True).clip(1e-9)
        model = HDBSCAN(min_cluster_size=min(size, len(readable_indices)), min_samples=min(3, size), copy=True)
        labels_S[readable_indices] = model.fit(reduced_SR).labels_
    labels_by_size = [int(label) for label, _ in Counter(labels_S.tolist()).most_common() if label != NO_CLUSTER]
    # the indices of the texts of each cluster, the most central text first
    by_centrality = [_sort_by_centrality(vectors_SP, np.flatnonzero(labels_S == label)) for label in labels_by_size]
    names = name_clusters(texts, by_centrality)
    clusters = [
        Cluster(words, tuple(sorted(members)), members[0]) for words, members in zip(names, by_centrality, strict=True)
    ]
    new_label = {label: index for index, label in enumerate(labels_by_size)}
    return Clusters(tuple(clusters), tuple(new_label.get(int(label), NO_CLUSTER) for label in labels_S))


def choose_min_size(count: int) -> int:
    """Choose the minimum number of texts in a cluster, given the number of all texts.

    >>> [choose_min_size(count) for count in (10, 40, 400, 5000)]
    [3, 3, 8, 28]
    """
    return max(3, round(0.4 * count**0.5))


def name_clusters(
    texts: Sequence[str], members: Sequence[Sequence[int]], count: int = NUM_WORDS
) -> list[tuple[str, ...]]:
    """Find the most typical words of groups of texts by class-based tf-idf.

    The weight of a word grows with the number of texts in the group that contain it, and falls with the number of all
    texts that contain it.

    Args:
        texts: all texts.
        members: the indices of the texts of each group; of two words with equal weights, the word that occurs first in
            the texts in this order is named first.
        count: the maximum number of words for each group.

    Source: Grootendorst 2022 (arXiv 2203.05794), section 3.3.

    >>> name_clusters(["green tea", "black tea", "a black cat"], [[0, 1], [2]], count=1)
    [('tea',), ('cat',)]
    """
    words_of_text = [dict.fromkeys(words) for words in list_content_words(texts)]
    num_texts_with = Counter(word for words in words_of_text for word in words)
    mean_words_per_group = sum(num_texts_with.values()) / max(len(members), 1)
    names = []
    for group in members:
        counts = Counter(word for index in group for word in words_of_text[index])
        weights = {word: n * np.log(1 + mean_words_per_group / num_texts_with[word]) for word, n in counts.items()}
        # `counts` has the words of the first texts first, and sorting keeps this order for equal weights
        names.append(tuple(sorted(weights, key=lambda word: -weights[word])[:count]))
    return names


def reduce_vectors(vectors_SP: np.ndarray, size: int) -> np.ndarray:
    """Reduce vectors to at most `size` dimensions by PCA -> float32 [S, R]."""
    centred_SP = vectors_SP - vectors_SP.mean(0)
    # the eigenvectors of the small covariance matrix; an SVD of all vectors would take more time and memory
    _, axes_PP = np.linalg.eigh(centred_SP.T.astype(np.float64) @ centred_SP)
    axes_PR = axes_PP[:, ::-1][:, : min(size, *vectors_SP.shape)]
    # PCA leaves the sign of an axis open: make the component with the largest magnitude positive
    axes_PR = axes_PR * np.sign(axes_PR[np.abs(axes_PR).argmax(0), np.arange(axes_PR.shape[1])])
    return (centred_SP @ axes_PR).astype(np.float32)


def list_map_methods() -> list[MapMethod]:
    """List the values of `method` in `map_sentences` whose libraries are installed."""
    return ["tsne", "pca", *(["umap"] if find_spec("umap") else [])]


def map_sentences(vectors_SP: np.ndarray, method: MapMethod = "tsne", seed: int = 0) -> np.ndarray:
    """Compute a point in two dimensions for each vector, such that similar vectors are close -> float32 [S, 2].

    Args:
        vectors_SP: the vectors, of length 1.
        method: "pca" keeps large distances. "tsne" and "umap" keep neighbours together, but distances between groups
            mean nothing.
        seed: the seed of "tsne" and "umap".

    Source: van der Maaten and Hinton 2008 (t-SNE); McInnes et al. 2018 (arXiv 1802.03426, UMAP).
    """
    distinct_UP, row_S = np.unique(vectors_SP, axis=0, return_inverse=True)
    count = len(distinct_UP)
    points = np.zeros((count, 2), np.float32)
    if count < MIN_TEXTS or method == "pca":  # with so few points, no point has a neighbourhood
        reduced = reduce_vectors(distinct_UP, 2) if count > 1 else points
        points[:, : reduced.shape[1]] = reduced
    elif method == "umap":
        from umap import UMAP

        neighbours = min(15, count - 1)
        points = UMAP(n_neighbors=neighbours, metric="cosine", random_state=seed).fit_transform(distinct_UP)
    else:
        from sklearn.manifold import TSNE

        perplexity = min(30.0, (count - 1) / 3)
        # The formula of scikit-learn, but with the minimum 10 instead of 50: if there are few points, a learning rate
        # of 50 puts some of them far away from the others.
        learning_rate = max(count / 48, 10.0)
        model = TSNE(
            perplexity=perplexity, init="pca", random_state=seed, max_iter=500, learning_rate=learning_rate, n_jobs=1
        )
        points = model.fit_transform(reduce_vectors(distinct_UP, MAP_SIZE))
    return np.asarray(points, np.float32)[row_S.ravel()]


def _sort_by_centrality(vectors_SP: np.ndarray, members: np.ndarray) -> list[int]:
    """Sort the texts `members` by the cosine of their vector with the mean of their vectors, largest cosine first."""
    member_vectors_SP = vectors_SP[members]
    return members[np.argsort(-(member_vectors_SP @ member_vectors_SP.mean(0)), kind="stable")].tolist()

"""Compute the vectors of many texts, with a cache, and find neighbours and duplicates by their cosines.

Shape legend: S texts, U distinct texts, P dimensions of a vector.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from bertlab.abilities.sentences.embed import embed_texts, encode_sentences
from bertlab.abilities.sentences.vector_cache import VectorCache, compute_fingerprint
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import TextError
from bertlab.config.languages import has_latin_letters, languages
from bertlab.tasks.features import Input
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.text.unknown_tokens import is_mostly_unknown

# The number of texts whose vectors are computed before these vectors are stored together. An interrupted run loses only
# the vectors that it has not stored yet.
TEXTS_AT_ONCE = 128
CELLS_AT_ONCE = 1 << 23  # how many cells of the matrix of cosines are computed together


@dataclass(frozen=True)
class SentenceVectors:
    """The vectors of some texts."""

    texts: tuple[str, ...]
    """The texts."""
    vectors_SP: np.ndarray
    """Their vectors of length 1, float32 [S, P]; the dot product of two vectors is their cosine."""
    truncated: tuple[int, ...]
    """The indices of the texts whose end was cut off, because they have more tokens than the checkpoint reads."""
    unreadable_indices: tuple[int, ...]
    """The indices of the texts whose vectors mean little: at least half of their tokens, not counting punctuation, are
    unknown to the checkpoint, or they are in Latin letters and the checkpoint was trained on a language with its own
    script. Such texts can have nearly the same vector without any similarity."""
    num_cached: int
    """How many distinct texts had a vector in the cache."""
    is_checkpoint_suited: bool
    """Whether the checkpoint was trained to make sentence vectors. Otherwise even unrelated texts have large
    cosines."""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def unreadable_texts(self) -> dict[int, str]:
        """{index: text} for the indices in `unreadable_indices`."""
        return {index: self.texts[index] for index in self.unreadable_indices}

    @property
    def unreadable(self) -> tuple[int, ...]:
        """The old name of `unreadable_indices`."""
        return self.unreadable_indices

    @property
    def is_trained(self) -> bool:
        """The old name of `is_checkpoint_suited`."""
        return self.is_checkpoint_suited


@dataclass(frozen=True)
class Neighbour:
    """A text that is similar to another one."""

    index: int
    """The index of the text."""
    cosine: float
    """The cosine of the vectors of the two texts, -1 to 1."""


@dataclass(frozen=True)
class SimilarPair:
    """Two similar texts."""

    first: int
    """The index of the first text."""
    second: int
    """The index of the second text; it is larger than `first`."""
    cosine: float
    """The cosine of the vectors of the two texts, -1 to 1."""


@dataclass(frozen=True)
class SimilarPairs:
    """The pairs of texts whose cosine is at least a threshold."""

    pairs: tuple[SimilarPair, ...]
    """The most similar pairs, best first; at most the `limit` of `find_similar_pairs`."""
    total: int
    """The number of all pairs, including those that `pairs` leaves out."""
    groups: tuple[tuple[int, ...], ...]
    """Groups of connected texts, the largest first: their indices in ascending order. Every pair, also one that `pairs`
    leaves out, connects its two texts."""


def compute_sentence_vectors(
    loaded: Checkpoint,
    texts: Sequence[str],
    *,
    use_cache: bool = True,
    batch_size: int = 32,
    progress: Callable = iter,
) -> SentenceVectors:
    """Compute a vector for each text; equal texts are computed once, and long texts are truncated.

    Args:
        loaded: the checkpoint.
        texts: the texts.
        use_cache: whether vectors are read from the cache, and stored in it.
        batch_size: the maximum number of texts in a batch.
        progress: wraps the sequence of groups of `TEXTS_AT_ONCE` texts to compute, as `tqdm` does.

    Raises:
        TextError: a text has no tokens, or `texts` is one text instead of a list.
        CheckpointError: the vectors need a module that bertlab does not have.
    """
    if isinstance(texts, str):
        raise TextError("embed-needs-list")
    settings, texts = loaded.sentence_settings, tuple(texts)
    size = loaded.config.hidden_size * len(settings.pooling)
    distinct = list(dict.fromkeys(texts))
    inputs, truncated = encode_sentences(loaded.tokenizer, distinct, settings, loaded.config.max_tokens)
    # fewer than 3 tokens: nothing between [CLS] and [SEP]
    for text, model_input in zip(distinct, inputs, strict=True):
        if len(model_input) < 3:
            raise TextError("text-without-tokens", row=texts.index(text) + 1)
    cache = VectorCache(compute_fingerprint(loaded, settings), size) if use_cache else None
    stored_vectors = cache.read(distinct) if cache else {}
    row_of_text = {text: row for row, text in enumerate(distinct)}
    vectors_UP = np.zeros((len(distinct), size), np.float32)
    for text, vector in stored_vectors.items():
        vectors_UP[row_of_text[text]] = vector
    # longest first, so that the texts of a batch have similar lengths
    missing_rows = sorted(
        (row_of_text[text] for text in distinct if text not in stored_vectors), key=lambda row: -len(inputs[row])
    )
    starts = range(0, len(missing_rows), TEXTS_AT_ONCE)
    for rows in progress([missing_rows[start : start + TEXTS_AT_ONCE] for start in starts]):
        missing_inputs = [inputs[row] for row in rows]
        vectors_UP[rows] = embed_texts(
            loaded.model, missing_inputs, loaded.tokenizer.pad_id, batch_size, settings.pooling
        )
        if cache:
            cache.write([distinct[row] for row in rows], vectors_UP[rows])
    row_S = [row_of_text[text] for text in texts]
    is_truncated_U, is_unreadable_U = np.zeros((2, len(distinct)), bool)
    is_truncated_U[truncated] = True
    is_unreadable_U[_find_unreadable(loaded.tokenizer, distinct, inputs)] = True
    return SentenceVectors(
        texts,
        vectors_UP[row_S],
        tuple(np.flatnonzero(is_truncated_U[row_S]).tolist()),
        tuple(np.flatnonzero(is_unreadable_U[row_S]).tolist()),
        len(stored_vectors),
        settings.is_recorded,
    )


def _find_unreadable(tokenizer: Tokenizer, texts: Sequence[str], inputs: Sequence[Input]) -> list[int]:
    """Find the texts whose vectors mean little; see `SentenceVectors.unreadable_indices`."""
    language = languages()[tokenizer.language]
    rows = []
    for row, (text, model_input) in enumerate(zip(texts, inputs, strict=True)):
        is_foreign = bool(language.script) and has_latin_letters(text) and not language.uses_script(text)
        has_unknown = tokenizer.unk_id in model_input.ids
        tokens = tokenizer.tokens(model_input.ids[1:-1]) if has_unknown else []  # without [CLS] and [SEP]
        if is_foreign or is_mostly_unknown(tokens, tokenizer.special.unk):
            rows.append(row)
    return rows


def find_neighbours(vectors_SP: np.ndarray, query_P: np.ndarray, top_k: int = 10, skip: int = -1) -> list[Neighbour]:
    """Find the texts whose vectors have the largest cosine with a vector, best first.

    Args:
        vectors_SP: the vectors of the texts, of length 1.
        query_P: the vector to compare them with, of length 1.
        top_k: the maximum number of texts.
        skip: the index of a text to leave out, such as the query itself; -1 for none.
    """
    cosine_S = vectors_SP @ query_P
    order = [int(index) for index in np.argsort(-cosine_S, kind="stable") if index != skip]
    return [Neighbour(index, float(cosine_S[index])) for index in order[:top_k]]


def find_similar_pairs(
    vectors_SP: np.ndarray,
    threshold: float,
    limit: int = 1000,
    unreadable_texts: Mapping[int, str] = MappingProxyType({}),
    progress: Callable = iter,
) -> SimilarPairs:
    """Find all pairs of texts whose cosine is at least a threshold.

    Equal vectors are compared once, so that many copies of one text take hardly any time.

    Args:
        vectors_SP: the vectors of the texts, of length 1.
        threshold: the smallest cosine.
        limit: the maximum number of pairs to list; the groups are formed from all pairs.
        unreadable_texts: {index: text} of the texts whose vectors mean little; they form pairs only with equal texts.
        progress: wraps the sequence of groups of vectors to compare with all others, as `tqdm` does.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # copies[u]: the indices of the texts with vector u
    distinct_UP, copies = _group_copies(vectors_SP, unreadable_texts)
    counts_U = np.array([len(indices) for indices in copies])
    total = int((counts_U * (counts_U - 1) // 2).sum()) if threshold <= 1 else 0
    best: list[tuple[float, int, int]] = []  # (-cosine, row, larger row) of pairs of distinct vectors
    group_U = np.arange(len(distinct_UP))  # the group of each vector
    rows_at_once = max(1, CELLS_AT_ONCE // max(len(distinct_UP), 1))
    for start in progress(range(0, len(distinct_UP), rows_at_once)):
        cosine = distinct_UP[start : start + rows_at_once] @ distinct_UP[start:].T
        first, second = np.nonzero(cosine >= threshold)
        is_above_diagonal = first < second  # each pair once, and no vector with itself
        first, second = first[is_above_diagonal], second[is_above_diagonal]
        values = cosine[first, second]
        first, second = first + start, second + start
        total += int((counts_U[first] * counts_U[second]).sum())
        # the groups are merged here, because a list of all pairs, which may be billions, would not fit into memory
        first_group, second_group = group_U[first], group_U[second]
        is_link = first_group != second_group
        if is_link.any():
            # a sparse matrix that is True where two groups are to be merged
            ends = first_group[is_link], second_group[is_link]
            links = coo_array((is_link[is_link], ends), shape=(len(group_U),) * 2)
            group_U = connected_components(links, directed=False)[1][group_U]
        if len(values) > limit:
            chosen = np.argpartition(-values, limit)[:limit]
            first, second, values = first[chosen], second[chosen], values[chosen]
        best = sorted([*best, *zip(-values, first, second, strict=True)])[:limit]
    # (-cosine, index of a text, index of another) of the best pairs, first those of texts with equal vectors
    pairs = [(-1.0, first, other) for first, *others in copies for other in others] if threshold <= 1 else []
    pairs += [(value, copies[row][0], copies[other][0]) for value, row, other in best]
    members: dict[int, list[int]] = {}
    for row, group in enumerate(group_U.tolist()):
        members.setdefault(group, []).extend(copies[row])
    groups = [tuple(sorted(indices)) for indices in members.values() if len(indices) > 1]
    groups.sort(key=lambda group: (-len(group), group))
    ordered = sorted((value, *sorted((int(row), int(other)))) for value, row, other in pairs)[:limit]
    return SimilarPairs(
        tuple(SimilarPair(row, other, min(1.0, float(-value))) for value, row, other in ordered), total, tuple(groups)
    )


def _group_copies(vectors_SP: np.ndarray, unreadable_texts: Mapping[int, str]) -> tuple[np.ndarray, list[list[int]]]:
    """Group the texts with equal vectors, and the equal texts among the unreadable ones.

    Returns:
        The vector of each group, and the indices of its texts. The vector of unreadable texts is NaN, so that no cosine
        with it reaches a threshold.
    """
    _, row_S = np.unique(vectors_SP, axis=0, return_inverse=True)
    members: dict[int | str, list[int]] = {}
    for index, row in enumerate(row_S.ravel().tolist()):
        members.setdefault(unreadable_texts.get(index, row), []).append(index)
    copies = list(members.values())
    first_indices = [indices[0] for indices in copies]
    distinct_UP = vectors_SP[first_indices]
    distinct_UP[[index in unreadable_texts for index in first_indices]] = np.nan
    return distinct_UP, copies

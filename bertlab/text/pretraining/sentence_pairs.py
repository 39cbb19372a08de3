"""Sentence pairs for pre-training: which tokens are A, which are B, and whether B follows A.

Pairs are made as in `create_pretraining_data.py` of google-research/bert, with two differences: every epoch makes new
pairs, and neither length nor source reveals the label.

- A random B comes from a document of the same source and has the length of the B that it replaces; sources with few
  documents count as one. With `random_b_position="same"`, it also comes from the same place of its document.
- A chunk is the text of one pair. Longer sentences than half a chunk are split, so that a chunk has two at least.
- A document with one sentence is cut at a random place, and its random Bs are the ends of other such documents.

Also supported: sentence-order prediction (ALBERT, Lan et al. 2019, section 3.1), and passages without a sentence-pair
objective (DOC-SENTENCES of RoBERTa, Liu et al. 2019, section 4.2).

Shape legend: S sentences, D documents, E pairs (examples), G groups of documents.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

IS_NEXT, NOT_NEXT = 0, 1  # the labels of next-sentence prediction
IN_ORDER, SWAPPED = 0, 1  # the labels of sentence-order prediction
MIN_DOCUMENTS = 16  # sources with fewer documents share one pool from which random Bs come

# next-sentence prediction, sentence-order prediction, or no sentence-pair objective
PairObjectiveName = Literal["next", "order", "none"]
# where in its document a random B begins: anywhere, or at the same relative position as the B that it replaces
RandomBPosition = Literal["any", "same"]


@dataclass(frozen=True)
class Documents:
    """Consecutive documents of a prepared corpus, concatenated into one array."""

    tokens: np.ndarray
    sentence_start: np.ndarray  # where each sentence begins in `tokens`, and where the last one ends: S + 1 positions
    document_start: np.ndarray
    """Where each document begins in `sentence_start`, and where the last one ends: D + 1 positions."""
    source_D: np.ndarray
    original_D: np.ndarray  # an index that identifies each document; all copies of a document share it

    def __len__(self) -> int:
        return len(self.source_D)

    def repeat(self, times_D: np.ndarray) -> "Documents":
        """Repeat each document `times_D` times.

        >>> starts, index = np.array([0, 1, 2, 3]), np.array([0, 1])
        >>> two = Documents(np.array([7, 8, 9]), starts, np.array([0, 1, 3]), source_D=index, original_D=index)
        >>> two.repeat(np.array([0, 2])).tokens
        array([8, 9, 8, 9])
        """
        index = np.repeat(np.arange(len(self)), times_D)
        spans = [slice(*self.document_start[d : d + 2]) for d in index]
        sentence_starts = [self.sentence_start[span.start : span.stop + 1] for span in spans]
        lengths = [np.diff(starts) for starts in sentence_starts]
        tokens = [self.tokens[starts[0] : starts[-1]] for starts in sentence_starts]
        return Documents(
            np.concatenate([self.tokens[:0], *tokens]),
            compute_offsets(np.concatenate([np.zeros(0, np.int64), *lengths])),
            compute_offsets(np.array([len(document) for document in lengths], np.int64)),
            self.source_D[index],
            self.original_D[index],
        )


@dataclass(frozen=True)
class Pairs:
    """E sentence pairs, as positions in `Documents.tokens`."""

    a_start_E: np.ndarray
    a_length_E: np.ndarray
    b_start_E: np.ndarray
    b_length_E: np.ndarray  # the number of tokens in B; 0 without a second sentence
    label_E: np.ndarray  # `IS_NEXT` or `NOT_NEXT`; in sentence-order prediction, `IN_ORDER` or `SWAPPED`
    document_a_E: np.ndarray  # the index of the document that A comes from
    document_b_E: np.ndarray  # the index of the document that B comes from

    def __len__(self) -> int:
        return len(self.label_E)


def make_pairs(
    documents: Documents,
    max_tokens: int,
    rng: np.random.Generator,
    short_probability: float = 0.1,
    pair_objective: PairObjectiveName = "next",
    random_b_position: RandomBPosition = "any",
) -> Pairs:
    """Cut every document into pairs that fill `max_tokens` with [CLS] A [SEP] B [SEP].

    Args:
        short_probability: the probability that all pairs of a document get the same random shorter length.
        pair_objective: the sentence-pair objective. "next": half of the pairs keep the B that follows A; the others get
            a B from another document of the same source, and the replaced B is used for the next pair. If there is no
            other document, all pairs keep their B. "order": every pair keeps its B, and half of the pairs are swapped.
            "none": one segment, [CLS] A [SEP].
        random_b_position: with "next", where in its document a random B begins. "any": anywhere, as in the paper.
            "same": at the same relative position as the B that it replaces. If that B ends its document, so does the
            random B. Then B does not reveal the label by words that usually begin or end a document.
    """
    if pair_objective == "none":
        return _cut_passages(documents, max_tokens - 2, rng, short_probability)
    max_sentence_tokens = max(1, (max_tokens - 3) // 2)
    num_tokens_D = np.diff(documents.sentence_start[documents.document_start])
    cuts_D = [_find_cuts(documents, d, max_sentence_tokens) for d in range(len(documents))]
    has_one_sentence_D = np.array([len(cuts) == 2 and cuts[1] - cuts[0] > 1 for cuts in cuts_D], dtype=bool)
    candidates_D = _find_candidates(documents.original_D, 2 * documents.source_D + has_one_sentence_D)
    for d in has_one_sentence_D.nonzero()[0]:
        begin, end = cuts_D[d]
        cuts_D[d] = np.array([begin, rng.integers(begin + 1, end), end])
    rows: list[tuple[int, ...]] = []  # for each pair, the values of the fields of `Pairs`
    for d in range(len(documents)):
        target = max_tokens - 3
        if rng.random() < short_probability:
            target = int(rng.integers(2, target + 1))
        cuts = cuts_D[d].tolist()
        candidates = candidates_D[d]
        first = 0
        while first < len(cuts) - 1:
            last = _find_chunk_end(cuts, first, target)
            if last - first == 1:
                break
            middle = int(rng.integers(first + 1, last))
            a, b = (cuts[first], cuts[middle]), (cuts[middle], cuts[last])
            label, document_b, next_first = IS_NEXT, d, last
            if pair_objective == "next" and len(candidates) and rng.random() < 0.5:
                label, next_first = NOT_NEXT, middle
                # The last chunk of a document may be shorter than its target.
                reaches_target = cuts[last] - cuts[first] >= target
                length_b = target - (a[1] - a[0]) if reaches_target else b[1] - b[0]
                document_b = _draw_other_document(candidates, d, documents.original_D, num_tokens_D, length_b, rng)
                if has_one_sentence_D[d] and has_one_sentence_D[document_b]:
                    # B begins within the sentence, like the B that it replaces.
                    begin, _, end = cuts_D[document_b]
                    b = (max(begin, end - max(1, length_b)), end)
                else:
                    position = None
                    if random_b_position == "same":
                        ends_document = last == len(cuts) - 1
                        position = 1.0 if ends_document else (cuts[middle] - cuts[0]) / (cuts[-1] - cuts[0])
                    b = _draw_span(cuts_D[document_b], max(1, length_b), reaches_target, rng, position)
            a, b = _truncate(a, b, target, rng)
            if pair_objective == "order" and rng.random() < 0.5:
                label, a, b = SWAPPED, b, a
            rows.append((a[0], a[1] - a[0], b[0], b[1] - b[0], label, d, document_b))
            first = next_first
    columns = np.array(rows, dtype=np.int64).reshape(-1, 7).T
    return Pairs(*columns)


def compute_offsets(lengths: np.ndarray) -> np.ndarray:
    """Return where each of several consecutive parts begins, and where the last one ends.

    >>> compute_offsets(np.array([2, 3]))
    array([0, 2, 5])
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _cut_passages(documents: Documents, max_tokens: int, rng: np.random.Generator, short_probability: float) -> Pairs:
    """Cut every document into passages of consecutive sentences; no sentence is used twice.

    A passage ends where it has a target length: `max_tokens`, or with the probability `short_probability` a random
    shorter one. The rest of its last sentence is left out.
    """
    rows = []
    for d in range(len(documents)):
        is_short = rng.random() < short_probability
        target = int(rng.integers(2, max_tokens + 1)) if is_short else max_tokens
        cuts = _find_cuts(documents, d, max_tokens).tolist()
        first = 0
        while first < len(cuts) - 1:
            last = int(np.searchsorted(cuts, cuts[first] + target))
            last = min(max(last, first + 1), len(cuts) - 1)
            rows.append((cuts[first], min(target, cuts[last] - cuts[first]), cuts[first], 0, IS_NEXT, d, d))
            first = last
    return Pairs(*np.array(rows, dtype=np.int64).reshape(-1, 7).T)


def _find_candidates(original_D: np.ndarray, group_D: np.ndarray) -> list[np.ndarray]:
    """Find the documents that each document's random Bs may come from.

    These are the documents of its group. Groups with fewer than `MIN_DOCUMENTS` documents are combined into one.
    """
    _, first_copies = np.unique(original_D, return_index=True)
    count_G = np.bincount(group_D[first_copies])
    pool_D = np.where(count_G[group_D] < MIN_DOCUMENTS, -1, group_D)
    pools = {pool: np.flatnonzero(pool_D == pool) for pool in np.unique(pool_D)}
    for pool, members in pools.items():  # a pool with copies of a single document offers no other document
        if len(np.unique(original_D[members])) == 1:
            pools[pool] = members[:0]
    return [pools[pool] for pool in pool_D]


def _draw_other_document(
    candidates: np.ndarray,
    d: int,
    original_D: np.ndarray,
    num_tokens_D: np.ndarray,
    min_tokens: int,
    rng: np.random.Generator,
) -> int:
    """Choose at random a document that is neither the document with index `d` nor a copy of this document.

    The first of sixteen random documents that has at least `min_tokens` tokens is used, so that random Bs are not
    shorter than the Bs that follow A.
    """
    sample = candidates[rng.integers(0, len(candidates), 16)]
    sample = sample[original_D[sample] != original_D[d]]
    if not len(sample):
        sample = candidates[original_D[candidates] != original_D[d]]
    long_enough = sample[num_tokens_D[sample] >= min_tokens]
    return int(long_enough[0] if len(long_enough) else sample[np.argmax(num_tokens_D[sample])])


def _find_cuts(documents: Documents, d: int, max_sentence_tokens: int) -> np.ndarray:
    """Return where each sentence of a document begins, then where the document ends.

    A sentence of more than `max_sentence_tokens` tokens is cut into equal parts.
    """
    begin, end = documents.document_start[d], documents.document_start[d + 1]
    starts = documents.sentence_start[begin : end + 1]
    lengths = np.diff(starts)
    num_parts = -(-lengths // max_sentence_tokens)
    if (num_parts > 1).any():
        # for each part: the index of its sentence, and the index of the part within this sentence
        sentence = np.repeat(np.arange(len(lengths)), num_parts)
        part = np.arange(len(sentence)) - np.repeat(np.cumsum(num_parts) - num_parts, num_parts)
        starts = np.append(starts[sentence] + part * lengths[sentence] // num_parts[sentence], starts[-1])
    return starts


def _find_chunk_end(cuts: list[int], first: int, target: int) -> int:
    """Return the end of the chunk that begins at `first`.

    The chunk has at least two sentences and `target` tokens, if that much of the document is left. It never leaves
    exactly one sentence of the document after it.
    """
    last = min(first + 2, len(cuts) - 1)
    while last < len(cuts) - 1 and cuts[last] - cuts[first] < target:
        last += 1
    leaves_one_sentence = last == len(cuts) - 2
    return last + 1 if leaves_one_sentence else last


def _draw_span(
    cuts: np.ndarray, length: int, is_minimum: bool, rng: np.random.Generator, position: float | None = None
) -> tuple[int, int]:
    """Choose consecutive whole sentences of a document at random.

    Args:
        is_minimum: whether to choose at least `length` tokens, if the document has so many; if False, as close to
            `length` as possible.
        position: where to begin, as a share of the document; earlier if too little would follow. 1: the span ends
            with the document. None: anywhere.
    """
    # the index of the last sentence at which a span of this length can begin
    latest = max(0, int(cuts.searchsorted(cuts[-1] - length, side="right")) - 1)
    if position is None:
        first = int(rng.integers(0, latest + 1))
    elif position == 1:
        first = latest if is_minimum else int(np.abs(cuts[:-1] - (cuts[-1] - length)).argmin())
        return int(cuts[first]), int(cuts[-1])
    else:
        first = min(latest, int(np.abs(cuts[:-1] - (cuts[0] + position * (cuts[-1] - cuts[0]))).argmin()))
    start = int(cuts[first])
    sentence_ends = cuts[first + 1 :]
    if is_minimum:
        last = int(sentence_ends.searchsorted(start + length))
    else:
        last = int(np.abs(sentence_ends - (start + length)).argmin())
    return start, int(sentence_ends[min(last, len(sentence_ends) - 1)])


def _truncate(a: tuple[int, int], b: tuple[int, int], target: int, rng: np.random.Generator):
    """Remove tokens from the longer span until both together have at most `target` tokens."""
    length_a, length_b = a[1] - a[0], b[1] - b[0]
    excess = max(0, length_a + length_b - target)
    from_longer = min(excess, abs(length_a - length_b))  # tokens removed until both spans have the same length
    removed_a = (excess - from_longer) // 2 + (from_longer if length_a > length_b else 0)
    removed_b = excess - removed_a
    front_a, front_b = int(rng.binomial(removed_a, 0.5)), int(rng.binomial(removed_b, 0.5))
    return (a[0] + front_a, a[1] - (removed_a - front_a)), (b[0] + front_b, b[1] - (removed_b - front_b))

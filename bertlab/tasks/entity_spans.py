"""Choose the tags of a sentence, and find its entities by the rules of CoNLL-2000's `conlleval`, as `seqeval` does.

Shape legend: U units that have a tag (words, characters or tokens), K tags.
"""

from collections.abc import Iterable, Sequence

import numpy as np


def find_entity_spans(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Find (type, index of the first tag, index of the last tag) of each entity of one sentence.

    As in the default mode of `seqeval`, an I-tag that does not continue an entity of its type begins an entity. The
    prefixes E (last word of an entity) and S (entity of one word) are supported too. A tag that consists of
    one letter, such as "B", has the entity type "_".

    >>> find_entity_spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3), ('LOC', 4, 4)]
    """
    spans, first = [], 0
    prefix, type = "O", ""
    for index, tag in enumerate([*tags, "O"]):
        next_prefix = tag[0]
        next_type = tag[1:].split("-", 1)[-1] or "_"
        if _does_entity_end(prefix, type, next_prefix, next_type):
            spans.append((type, first, index - 1))
        if _does_entity_begin(prefix, type, next_prefix, next_type):
            first = index
        prefix, type = next_prefix, next_type
    return spans


def choose_tags(log_probs_UK: np.ndarray, labels: Sequence[str], is_inside_word_U: Sequence[bool]) -> list[int]:
    """Choose the most probable sequence of entity tags that is valid (Viterbi's algorithm).

    An I-tag (or E-tag) follows only a B- or I-tag of its type, if the type has a B-tag. Inside a word, no entity begins
    right after another one. Tags that are not entity tags are chosen independently.

    Args:
        log_probs_UK: the log-probabilities of the tags of each unit.
        labels: the tags.
        is_inside_word_U: whether a unit continues the word of the unit before it.

    Returns:
        The index of the tag of each unit.

    >>> labels, log_probs_UK = ("O", "B-PS", "I-PS"), np.log([[0.5, 0.4, 0.1], [0.3, 0.1, 0.6]])
    >>> [labels[tag] for tag in choose_tags(log_probs_UK, labels, [False, False])]
    ['B-PS', 'I-PS']
    """
    if not len(log_probs_UK) or not is_entity_scheme(labels):
        return log_probs_UK.argmax(-1).tolist()
    can_follow_KK = np.array([[_can_follow(tag, next_tag, labels) for next_tag in labels] for tag in labels])
    begins_KK = np.array([[tag != "O" and next_tag[0] in "BS" for next_tag in labels] for tag in labels])
    penalty_KK = np.where(can_follow_KK, 0.0, -np.inf)
    inside_penalty_KK = np.where(can_follow_KK & ~begins_KK, 0.0, -np.inf)
    can_start_K = np.array([_can_follow("O", tag, labels) for tag in labels])
    scores_K = log_probs_UK[0] + np.where(can_start_K, 0.0, -np.inf)
    best_previous_UK = np.zeros(log_probs_UK.shape, np.int64)
    for unit in range(1, len(log_probs_UK)):
        paths_KK = scores_K[:, None] + (inside_penalty_KK if is_inside_word_U[unit] else penalty_KK)
        best_previous_UK[unit] = paths_KK.argmax(0)
        scores_K = paths_KK.max(0) + log_probs_UK[unit]
    tags = [int(scores_K.argmax())]
    for best_previous_K in best_previous_UK[:0:-1]:
        tags.append(int(best_previous_K[tags[-1]]))
    return tags[::-1]


def _can_follow(tag: str, next_tag: str, labels: Sequence[str]) -> bool:
    """Whether a tag may follow another one; without a B-tag of its type, an I-tag may follow any tag."""
    continues_entity = next_tag[0] in "IE" and f"B{next_tag[1:]}" in labels
    return not continues_entity or (tag[0] in "BI" and tag[1:] == next_tag[1:])


def _does_entity_end(prefix: str, type: str, next_prefix: str, next_type: str) -> bool:
    """Whether an entity ends between two consecutive tags."""
    if prefix in "ES":
        return True
    return prefix in "BI" and (next_prefix in "BSO" or type != next_type)


def _does_entity_begin(prefix: str, type: str, next_prefix: str, next_type: str) -> bool:
    """Whether an entity begins with the second of two consecutive tags."""
    if next_prefix in "BS":
        return True
    return next_prefix in "EI" and (prefix in "ESO" or type != next_type)


def is_entity_scheme(tags: Iterable[str]) -> bool:
    """Whether all tags have the form of entity tags (O, B-X, I-X, E-X, S-X); parts of speech, for example, do not.

    >>> is_entity_scheme(["O", "B-PER"]), is_entity_scheme(["NOUN", "ADJ"])
    (True, False)
    """
    return all(tag == "O" or tag[:2] in ("B-", "I-", "E-", "S-") for tag in tags)


def order_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Sort the distinct tags of a data set as the output layer orders them: O first, then by type, B before I.

    >>> order_tags(["I-PER", "O", "B-LOC", "B-PER"])
    ('O', 'B-LOC', 'B-PER', 'I-PER')
    """
    return tuple(sorted(set(tags), key=lambda tag: (tag != "O", tag.partition("-")[2], tag)))

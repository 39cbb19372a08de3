"""Find the entities of a sentence from its tags by the rules of CoNLL-2000's `conlleval`, as `seqeval` does."""

from collections.abc import Iterable, Sequence


def find_entity_spans(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Find the entities of one sentence from its tags.

    As in the default mode of `seqeval`, an I-tag that does not continue an entity of its type begins an entity. The
    prefixes E (last word of an entity) and S (entity of one word) are supported too. A tag that consists of
    one letter, such as "B", has the entity type "_".

    Returns:
        (type, index of the first tag, index of the last tag) of each entity.

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

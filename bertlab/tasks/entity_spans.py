"""Tags of a sentence <-> the entities they mark, by the rules of CoNLL-2000's `conlleval`, as `seqeval` has them."""

from collections.abc import Iterable, Sequence


def entity_spans(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """(type, first, last) of every entity in the tags of one sentence.

    Lenient, as `seqeval` is by default: an I that follows nothing of its type begins an entity. E (last) and S (alone)
    are read too. A tag without "-" has the type "_".

    >>> entity_spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3), ('LOC', 4, 4)]
    """
    spans, began = [], 0
    prefix, type = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        next_prefix = tag[0]
        next_type = tag[1:].split("-", 1)[-1] or "_"
        if _ends(prefix, type, next_prefix, next_type):
            spans.append((type, began, place - 1))
        if _begins(prefix, type, next_prefix, next_type):
            began = place
        prefix, type = next_prefix, next_type
    return spans


def _ends(prefix: str, type: str, next_prefix: str, next_type: str) -> bool:
    """Whether an entity ends between two tags."""
    if prefix in "ES":
        return True
    return prefix in "BI" and (next_prefix in "BSO" or type != next_type)


def _begins(prefix: str, type: str, next_prefix: str, next_type: str) -> bool:
    """Whether an entity begins with the second of two tags."""
    if next_prefix in "BS":
        return True
    return next_prefix in "EI" and (prefix in "ESO" or type != next_type)


def is_entity_scheme(tags: Iterable[str]) -> bool:
    """Whether tags mark entities (O, B-X, I-X, E-X, S-X), unlike parts of speech.

    >>> is_entity_scheme(["O", "B-PER"]), is_entity_scheme(["NOUN", "ADJ"])
    (True, False)
    """
    return all(tag == "O" or tag[:2] in ("B-", "I-", "E-", "S-") for tag in tags)


def order_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags of a data set in the order of the output layer's rows: O first, then by type, B before I.

    >>> order_tags(["I-PER", "O", "B-LOC", "B-PER"])
    ('O', 'B-LOC', 'B-PER', 'I-PER')
    """
    return tuple(sorted(set(tags), key=lambda tag: (tag != "O", tag.partition("-")[2], tag)))

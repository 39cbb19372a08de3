"""Tags in a row <-> the entities they mark, by the rules of CoNLL-2000's `conlleval`, as `seqeval` has them.

Plain lists; knows no tokens and no model.
"""

from collections.abc import Iterable, Sequence


def entity_spans(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """(type, first, last) of every entity in the tags of one sentence.

    Lenient, as `seqeval` is by default: an I that follows nothing of its type begins an entity. Also reads E (last) and
    S (alone). A tag without "-" has the type "_".

    >>> entity_spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3), ('LOC', 4, 4)]
    """
    spans, began = [], 0
    prefix, kind = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        now = tag[0]
        now_kind = tag[1:].split("-", 1)[-1] or "_"
        if _ends(prefix, kind, now, now_kind):
            spans.append((kind, began, place - 1))
        if _begins(prefix, kind, now, now_kind):
            began = place
        prefix, kind = now, now_kind
    return spans


def _ends(prefix: str, kind: str, now: str, now_kind: str) -> bool:
    """Whether an entity ends between two tags."""
    if prefix in "ES":
        return True
    return prefix in "BI" and (now in "BSO" or kind != now_kind)


def _begins(prefix: str, kind: str, now: str, now_kind: str) -> bool:
    """Whether an entity begins with the second of two tags."""
    if now in "BS":
        return True
    return now in "EI" and (prefix in "ESO" or kind != now_kind)


def is_scheme(tags: Iterable[str]) -> bool:
    """Whether tags mark entities (O, B-X, I-X, E-X, S-X), and are not parts of speech, say.

    >>> is_scheme(["O", "B-PER"]), is_scheme(["NOUN", "ADJ"])
    (True, False)
    """
    return all(tag == "O" or tag[:2] in ("B-", "I-", "E-", "S-") for tag in tags)


def fitting_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags of a data set in the order a head has them: O first, then by type, B before I.

    >>> fitting_tags(["I-PER", "O", "B-LOC", "B-PER"])
    ('O', 'B-LOC', 'B-PER', 'I-PER')
    """
    return tuple(sorted(set(tags), key=lambda tag: (tag != "O", tag.partition("-")[2], tag)))

"""What a reader wants changed inside a model, as one line of text: so it fits a link, a button and the command line.

Parts, with commas between; layers, heads and positions count from zero:

    0.3            knock out head 3 of layer 0; again: bring it back
    4              knock out every head of layer 4; again: bring them back
    0.3s           of layer 0, only head 3 stays;  0s  all of layer 0
    r1.2.5-u       head 2 of layer 1 looks from position 5 at every position alike
    r1.2.5-7:1     ... at position 7 only;  r1.2.5-0:0.6-7:0.2  at these, in this proportion;  r1.2.5  as it was
    p3.5-2.4       at the output of layer 3 (0: the embeddings), position 5 gets what another text has at the output of
                   layer 2, position 4;  p3.a-2.a  every position, of a text of the same length;  p3.5  as it was

Knows no model: whether a layer or a position exists is found out where the change is made.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bertlab.config.errors import InterventionError

_N = r"(\d{1,5})"
_HEAD = re.compile(rf"{_N}\.{_N}(s?)", re.ASCII)
_LAYER = re.compile(rf"{_N}(s?)", re.ASCII)
_ROW = re.compile(rf"r{_N}\.{_N}\.{_N}(?:-(.+))?", re.ASCII)
_WEIGHT = re.compile(rf"{_N}:(\d+(?:\.\d+)?)", re.ASCII)
_PATCH = re.compile(rf"p{_N}\.(\d{{1,5}}|a)(?:-{_N}\.(\d{{1,5}}|a))?", re.ASCII)

UNIFORM, EVERY = "u", "a"
HISTORY = 150  # parts that are remembered one by one; then they are written as what they come to

Head = tuple[int, int]


@dataclass(frozen=True)
class Changes:
    """What some parts come to.

    heads: knocked out (layer, head) pairs. rows: (layer, head, position) -> ((position, weight), ...), () where all are
    alike. patches: (layer, position) -> (layer, position) of the other text; None stands for every position.
    """

    heads: frozenset[Head]
    rows: dict[tuple[int, int, int], tuple[tuple[int, float], ...]]
    patches: dict[tuple[int, int | None], tuple[int, int | None]]

    def __bool__(self) -> bool:
        return bool(self.heads or self.rows or self.patches)

    @property
    def parts(self) -> tuple[str, ...]:
        """The shortest parts that come to this, heads first, each in order."""
        heads = [f"{layer}.{head}" for layer, head in sorted(self.heads)]
        rows = [row_part(place, weights) for place, weights in sorted(self.rows.items())]
        patches = [patch_part(to, source) for to, source in self.patches.items()]
        return (*heads, *rows, *patches)


def row_part(place: tuple[int, int, int], weights: Iterable[tuple[int, float]]) -> str:
    """
    >>> row_part((1, 2, 5), [(0, 0.6), (7, 1)]), row_part((1, 2, 5), [])
    ('r1.2.5-0:0.6-7:1', 'r1.2.5-u')
    """
    shown = "-".join(f"{position}:{weight:.4f}".rstrip("0").rstrip(".") for position, weight in weights)
    return f"r{'.'.join(map(str, place))}-{shown or UNIFORM}"


def patch_part(to: tuple[int, int | None], source: tuple[int, int | None]) -> str:
    """
    >>> patch_part((3, 5), (2, 4)), patch_part((3, None), (3, None))
    ('p3.5-2.4', 'p3.a-3.a')
    """
    return "p" + "-".join(f"{layer}.{EVERY if position is None else position}" for layer, position in (to, source))


def split(text: str) -> tuple[str, ...]:
    """The parts of a line.

    >>> split(" 0.3, 4,,")
    ('0.3', '4')
    """
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def add(text: str, part: str, num_heads: int) -> str:
    """The line with one more part.

    >>> add("0.3", "1", 2)
    '0.3,1'
    """
    return shorten(f"{text},{part}", num_heads)


def shorten(text: str, num_heads: int) -> str:
    """The line; one of very many parts as what it comes to. A line that cannot be read stays as it is.

    >>> shorten(", 0.3,1,", 2)
    '0.3,1'
    """
    parts = split(text)
    try:
        return ",".join(parts if len(parts) <= HISTORY else resolve(text, num_heads).parts)
    except InterventionError:
        return ",".join(parts)


def undo(text: str) -> str:
    """The line without its last part.

    >>> undo("0.3,1")
    '0.3'
    """
    return ",".join(split(text)[:-1])


def resolve(text: str, num_heads: int) -> Changes:
    """What a line comes to, its parts taken one after the other, in a model of `num_heads` heads a layer.

    Raises:
        InterventionError: a part is written in another way.

    >>> sorted(resolve("0.1, 1, 0.1, 0.0, 1.1", num_heads=2).heads)
    [(0, 0), (1, 0)]
    >>> resolve("0.0s, r1.0.2-3:1", num_heads=2).parts
    ('0.1', 'r1.0.2-3:1')
    """
    heads: set[Head] = set()
    rows, patches = {}, {}
    for part in split(text):
        if found := _LAYER.fullmatch(part):
            whole = {(int(found[1]), head) for head in range(num_heads)}
            heads = heads - whole if found[2] or whole <= heads else heads | whole
        elif found := _HEAD.fullmatch(part):
            layer, head = int(found[1]), int(found[2])
            if found[3]:
                heads = (heads | {(layer, other) for other in range(num_heads)}) - {(layer, head)}
            else:
                heads = heads ^ {(layer, head)}
        elif found := _ROW.fullmatch(part):
            place = (int(found[1]), int(found[2]), int(found[3]))
            rows.pop(place, None)
            if found[4]:
                rows[place] = () if found[4] == UNIFORM else _weights(part, found[4])
        elif found := _PATCH.fullmatch(part):
            to = (int(found[1]), _position(found[2]))
            patches.pop(to, None)
            if found[3]:
                if (to[1] is None) != (found[4] == EVERY):
                    raise _unread(part)
                patches[to] = (int(found[3]), _position(found[4]))
        else:
            raise _unread(part)
    return Changes(frozenset(heads), rows, patches)


def read_heads(text: str, num_heads: int) -> frozenset[Head]:
    """A list of heads and layers, as `0.3,2.11,4`.

    Raises:
        InterventionError: it holds anything else, or nothing.
    """
    changes = resolve(text, num_heads)
    if changes.rows or changes.patches or not changes.heads:
        raise InterventionError(f"{_shown(text)!r} names no heads: write them as LAYER.HEAD, such as 0.3,2.11")
    return changes.heads


def _weights(part: str, text: str) -> tuple[tuple[int, float], ...]:
    found = [_WEIGHT.fullmatch(weight) for weight in text.split("-")]
    if not all(found):
        raise _unread(part)
    weights = tuple((int(weight[1]), float(weight[2])) for weight in found if weight)
    if not sum(weight for _, weight in weights) > 0:
        raise InterventionError("a row of attention needs some weight: give at least one position more than 0")
    return weights


def _position(text: str) -> int | None:
    return None if text == EVERY else int(text)


def _unread(part: str) -> InterventionError:
    return InterventionError(f"the change {_shown(part)!r} cannot be read: 0.3 is head 3 of layer 0, and 4 is layer 4")


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"

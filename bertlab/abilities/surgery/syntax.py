"""Write interventions as one line of text, for links, undo steps and the command line.

Parts are separated by commas; layers, heads and positions are counted from 0:

    0.3            ablate head 3 of layer 0; if repeated, restore it
    4              ablate every head of layer 4; if repeated, restore them
    0.3s           ablate every head of layer 0 except head 3;  0s  restores all heads of layer 0
    r1.2.5-u       in layer 1, head 2, position 5 attends uniformly to all positions
    r1.2.5-7:1     in that head, position 5 attends only to position 7;  r1.2.5-0:0.6-7:0.2  only to positions 0 and 7,
                   in the ratio 0.6 to 0.2;  r1.2.5  restores the attention of position 5
    h2.5-1.4       after layer 2, position 5 gets the hidden state that another text has after layer 1 at position 4;
                   e stands for the embeddings (he.5-e.4), and a for every position (h2.a-2.a), for which the other
                   text needs as many tokens as the input;  h2.5  restores the hidden state
    p3.5-2.4       the older form of h2.5-1.4, in which 0 is the embeddings and 1 the output of layer 0

This module does not check whether a layer or a position exists; the functions that apply interventions do.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bertlab.config.errors import InterventionError

# the forms of a part; the docstring above has an example of each
_N = r"(\d{1,5})"  # the index of a layer, head or position
_HEAD = re.compile(rf"{_N}\.{_N}(s?)", re.ASCII)
_LAYER = re.compile(rf"{_N}(s?)", re.ASCII)
_ROW = re.compile(rf"r{_N}\.{_N}\.{_N}(?:-(.+))?", re.ASCII)
_WEIGHT = re.compile(rf"{_N}:(\d+(?:\.\d+)?)", re.ASCII)
_OLD_PATCH = re.compile(rf"p{_N}\.(\d{{1,5}}|a)(?:-{_N}\.(\d{{1,5}}|a))?", re.ASCII)
_PATCH = re.compile(r"h(\d{1,5}|e)\.(\d{1,5}|a)(?:-(\d{1,5}|e)\.(\d{1,5}|a))?", re.ASCII)

UNIFORM, EVERY, EMBEDDINGS = "u", "a", "e"  # letters for uniform attention, every position, the embeddings
MAX_PARTS = 150  # a line with more parts is replaced by one with the same effect and without redundant parts

Head = tuple[int, int]  # (layer, head)


@dataclass(frozen=True)
class Changes:
    """The interventions that a line describes."""

    heads: frozenset[Head]
    """The ablated heads."""
    rows: dict[tuple[int, int, int], tuple[tuple[int, float], ...]]
    """The replaced rows of attention: (layer, head, position that attends) -> ((position attended to, weight), ...), or
    () for uniform attention."""
    patches: dict[tuple[int, int | None], tuple[int, int | None]]
    """The replaced hidden states: (hidden index, position) -> (hidden index, position) in the other text. Index 0 is
    the embeddings, l + 1 the output of layer l; a position of None is every position."""

    def __bool__(self) -> bool:
        return bool(self.heads or self.rows or self.patches)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of a line for these interventions, without redundant parts: heads, then rows, then patches."""
        heads = [f"{layer}.{head}" for layer, head in sorted(self.heads)]
        rows = [format_row_part(row, weights) for row, weights in sorted(self.rows.items())]
        patches = [format_patch_part(target, source) for target, source in self.patches.items()]
        return (*heads, *rows, *patches)


def format_row_part(row: tuple[int, int, int], weights: Iterable[tuple[int, float]]) -> str:
    """Write the part that replaces a row of attention by weights of positions.

    Args:
        row: (layer, head, position) of the row.
        weights: (position, weight) pairs; none for uniform attention.

    >>> format_row_part((1, 2, 5), [(0, 0.6), (7, 1)]), format_row_part((1, 2, 5), [])
    ('r1.2.5-0:0.6-7:1', 'r1.2.5-u')
    """
    entries = "-".join(f"{position}:{weight:.4f}".rstrip("0").rstrip(".") for position, weight in weights)
    return f"r{'.'.join(map(str, row))}-{entries or UNIFORM}"


def format_patch_part(target: tuple[int, int | None], source: tuple[int, int | None]) -> str:
    """Write the part that replaces the hidden state `target` by the state `source` of another text.

    `target` and `source` have the form of a key and a value of `Changes.patches`.

    >>> format_patch_part((3, 5), (2, 4)), format_patch_part((0, None), (0, None))
    ('h2.5-1.4', 'he.a-e.a')
    """

    def write_place(index: int, position: int | None) -> str:
        """Write a hidden index and a position as layer and position, such as "2.5"."""
        layer = index - 1 if index else EMBEDDINGS
        return f"{layer}.{EVERY if position is None else position}"

    return f"h{write_place(*target)}-{write_place(*source)}"


def split(text: str) -> tuple[str, ...]:
    """Split a line into its parts.

    >>> split(" 0.3, 4,,")
    ('0.3', '4')
    """
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def add(text: str, part: str, num_heads: int) -> str:
    """Add a part to a line.

    >>> add("0.3", "1", 2)
    '0.3,1'
    """
    return shorten(f"{text},{part}", num_heads)


def shorten(text: str, num_heads: int) -> str:
    """Remove empty parts from a line; if it has more than `MAX_PARTS` parts, also remove redundant ones.

    A line that cannot be parsed keeps all its parts.

    >>> shorten(", 0.3,1,", 2)
    '0.3,1'
    """
    parts = split(text)
    try:
        return ",".join(parts if len(parts) <= MAX_PARTS else resolve(text, num_heads).parts)
    except InterventionError:
        return ",".join(parts)


def undo(text: str) -> str:
    """Remove the last part of a line.

    >>> undo("0.3,1")
    '0.3'
    """
    return ",".join(split(text)[:-1])


def resolve(text: str, num_heads: int) -> Changes:
    """Parse a line for a model with `num_heads` heads per layer; the parts apply one after another.

    Raises:
        InterventionError: a part cannot be parsed.

    >>> sorted(resolve("0.1, 1, 0.1, 0.0, 1.1", num_heads=2).heads)
    [(0, 0), (1, 0)]
    >>> resolve("0.0s, r1.0.2-3:1", num_heads=2).parts
    ('0.1', 'r1.0.2-3:1')
    """
    heads: set[Head] = set()
    rows, patches = {}, {}
    for part in split(text):
        if match := _LAYER.fullmatch(part):
            heads_of_layer = {(int(match[1]), head) for head in range(num_heads)}
            restores = match[2] or heads_of_layer <= heads
            heads = heads - heads_of_layer if restores else heads | heads_of_layer
        elif match := _HEAD.fullmatch(part):
            layer, head = int(match[1]), int(match[2])
            if match[3]:  # "s": only this head of the layer stays
                heads = (heads | {(layer, other) for other in range(num_heads)}) - {(layer, head)}
            else:
                heads = heads ^ {(layer, head)}
        elif match := _ROW.fullmatch(part):
            row = (int(match[1]), int(match[2]), int(match[3]))
            rows.pop(row, None)
            if match[4]:
                rows[row] = () if match[4] == UNIFORM else _parse_weights(part, match[4])
        elif match := _OLD_PATCH.fullmatch(part) or _PATCH.fullmatch(part):
            parse_index = int if part.startswith("p") else _parse_layer
            target = (parse_index(match[1]), _parse_position(match[2]))
            patches.pop(target, None)
            if match[3]:
                if (target[1] is None) != (match[4] == EVERY):
                    raise _make_unreadable_error(part)
                patches[target] = (parse_index(match[3]), _parse_position(match[4]))
        else:
            raise _make_unreadable_error(part)
    return Changes(frozenset(heads), rows, patches)


def read_heads(text: str, num_heads: int) -> frozenset[Head]:
    """Read the heads of a line that contains only heads and layers, such as `0.3,2.11,4`.

    Raises:
        InterventionError: the line contains anything else, or no heads.
    """
    changes = resolve(text, num_heads)
    if changes.rows or changes.patches or not changes.heads:
        raise InterventionError("heads-unreadable", text=_truncate(text))
    return changes.heads


def _parse_weights(part: str, text: str) -> tuple[tuple[int, float], ...]:
    """Parse the weights of a row, such as "0:0.6-7:0.2" -> ((position, weight), ...); errors quote `part`."""
    matches = [_WEIGHT.fullmatch(weight) for weight in text.split("-")]
    if not all(matches):
        raise _make_unreadable_error(part)
    weights = tuple((int(weight[1]), float(weight[2])) for weight in matches if weight)
    if not sum(weight for _, weight in weights) > 0:
        raise InterventionError("attention-row-without-weight")
    return weights


def _parse_position(text: str) -> int | None:
    return None if text == EVERY else int(text)


def _parse_layer(layer: str) -> int:
    """Return the index of a hidden state, as in the keys of `Changes.patches`."""
    return 0 if layer == EMBEDDINGS else int(layer) + 1


def _make_unreadable_error(part: str) -> InterventionError:
    return InterventionError("intervention-unreadable", part=_truncate(part))


def _truncate(text: str) -> str:
    """Shorten a text for an error message to 40 characters."""
    return text if len(text) <= 40 else f"{text[:39]}…"

"""Validated examples, and functions that read the cells of a row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec


@dataclass(frozen=True, slots=True)
class Example:
    """One row of a task."""

    id: str
    """The id of the row; if the data has no ids, the index of the row from 0."""
    texts: tuple[str, ...]
    """One or two texts; a context and its choices; the tokens; or a question and its passage."""
    target: int | float | tuple[int, ...] | dict | None
    """The index of the label or choice, the value, the indices of the tags, or the answers as in SQuAD; None if the row
    has no label."""


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """An invalid row that was left out of the examples."""

    index: int
    """The index of the row among all rows of the data, from 0."""
    id: str | None
    """The id of the row; None if the id could not be read."""


@dataclass(frozen=True)
class Examples(Sequence):
    """The examples of one split."""

    name: str
    """The name of the file or data set, as shown in messages."""
    spec: TaskSpec
    labels: tuple[str, ...]
    """The names of the labels or tags, which targets are indices into; () for types without labels."""
    rows: tuple[Example, ...]
    skipped: tuple[SkippedRow, ...] = ()
    """The invalid rows that were left out, in order."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row):
        return self.rows[row]

    @property
    def is_labelled(self) -> bool:
        """Whether the examples have targets; either all of them have one, or none."""
        return self.rows[0].target is not None

    def select(self, rows: Sequence[int]) -> "Examples":
        """Select the examples at these indices."""
        return Examples(self.name, self.spec, self.labels, tuple(self.rows[row] for row in rows))


def hold_out(examples: Examples, share: float, order: Callable[[int], Sequence[int]]) -> tuple[Examples, Examples]:
    """Split examples into a training part and a held-out part, the fraction `share`.

    Args:
        order: number of examples -> a permutation of their indices; the examples at the first ones are held out.
    """
    count = round(share * len(examples))
    if not 0 < count < len(examples):
        raise DataError("too-few-rows-to-hold-out", name=examples.name, count=len(examples))
    rows = list(order(len(examples)))
    return examples.select(sorted(rows[count:])), examples.select(sorted(rows[:count]))


# -- cells


def read_text(row: dict, column: str) -> str:
    """Read the text in a column; a number is converted to text."""
    value = row.get(column)
    if value is None:
        raise DataError("cell-missing", column=repr(column))
    if isinstance(value, list | dict):
        raise DataError("cell-not-text", column=repr(column), type=type(value).__name__)
    return value if isinstance(value, str) else str(value)


def split_cell(cell: object) -> list:
    """Split a cell into tokens or tags; the cell contains a list, or a text with spaces between the tokens or tags."""
    return cell if isinstance(cell, list) else str(cell).split()


def read_label_name(cell: object) -> str:
    """Read the name of the label in a cell. A column of integers is read as floats if it has empty cells.

    >>> read_label_name(3.0), read_label_name(" good "), read_label_name(True)
    ('3', 'good', 'True')
    """
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def find_label_index(cell: object, labels: tuple[str, ...], names_by_number: tuple[str, ...]) -> int:
    """Find the label that a cell contains, by name or number, and return its index in `labels`.

    Args:
        names_by_number: the names of the labels that the data stores as the numbers 0, 1, 2, ...
    """
    name = read_label_name(cell)
    if name not in labels and name.isdecimal() and len(name) < 10 and int(name) < len(names_by_number):
        name = names_by_number[int(name)]
    if name not in labels:
        id = "label-unknown-of-many" if len(labels) > 8 else "label-unknown"
        raise DataError(id, label=repr(name), known=", ".join(labels[:8]))
    return labels.index(name)

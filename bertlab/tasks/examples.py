"""Validated examples of tasks with labels, values, choices or tags, and functions that read the cells of a row."""

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
    """One or two texts; for multiple choice the context and every choice; for tagging the tokens."""
    target: int | float | tuple[int, ...] | None
    """The index of the label or choice, the value, or the indices of the tags; None if the row has no label."""


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
    """The task."""
    labels: tuple[str, ...]
    """The names of the labels or tags; a target is an index into them. () for values and choices."""
    rows: tuple[Example, ...]
    """The examples."""
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
    """Split examples into a training part and a held-out part.

    Args:
        examples: the examples to split.
        share: the fraction of the examples to hold out.
        order: function: number of examples -> a permutation of their indices. The examples at the first of these
            indices are held out.

    Raises:
        DataError: one of the parts would be empty.
    """
    count = round(share * len(examples))
    if not 0 < count < len(examples):
        raise DataError("too-few-rows-to-hold-out", name=examples.name, count=len(examples))
    rows = list(order(len(examples)))
    return examples.select(sorted(rows[count:])), examples.select(sorted(rows[:count]))


# -- cells -------------------------------------------------------------------------------------------------------


def read_text(row: dict, column: str) -> str:
    """Read the text in a column; a number is converted to text.

    Raises:
        DataError: the cell is empty, or a list or object.
    """
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
    """Read the name of the label in a cell; 3.0 becomes "3".

    A column of integers is read as floats if it has empty cells.

    >>> read_label_name(3.0), read_label_name(" good "), read_label_name(True)
    ('3', 'good', 'True')
    """
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def find_label_index(cell: object, labels: tuple[str, ...], names_by_number: tuple[str, ...]) -> int:
    """Find the label that a cell contains, and return its index in `labels`.

    Args:
        cell: the name of the label, or the number that stands for it in the data.
        labels: the names of all labels.
        names_by_number: the names of the labels that the data stores as the numbers 0, 1, 2, ...

    Raises:
        DataError: the cell does not contain the name or number of a label.
    """
    name = read_label_name(cell)
    if name not in labels and name.isdecimal() and len(name) < 10 and int(name) < len(names_by_number):
        name = names_by_number[int(name)]
    if name not in labels:
        shown_names = ", ".join(labels[:8])
        if len(labels) > 8:
            raise DataError("label-unknown-of-many", label=repr(name), known=shown_names)
        raise DataError("label-unknown", label=repr(name), known=shown_names)
    return labels.index(name)

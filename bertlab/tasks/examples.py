"""Checked examples of a task with labels, values, choices or tags, and how the cells of a row are read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec


@dataclass(frozen=True, slots=True)
class Example:
    """One row of a task."""

    id: str
    """The id in the data, or the number of the row if the data has no ids."""
    texts: tuple[str, ...]
    """One or two texts; for multiple choice the context and every choice; for tagging the tokens."""
    target: int | float | tuple[int, ...] | None
    """The number of a label or choice, a value, the numbers of the tags, or None where the row has no label."""


@dataclass(frozen=True)
class Examples(Sequence):
    """The examples of one split."""

    name: str
    """The source, as shown in messages."""
    spec: TaskSpec
    """The task."""
    labels: tuple[str, ...]
    """The names of the labels or tags; targets are indices of them. () for values and choices."""
    rows: tuple[Example, ...]
    """The examples themselves."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row):
        return self.rows[row]

    @property
    def labelled(self) -> bool:
        """Whether the examples have targets; either all have, or none."""
        return self.rows[0].target is not None

    def of(self, rows: Sequence[int]) -> "Examples":
        """Only these rows."""
        return Examples(self.name, self.spec, self.labels, tuple(self.rows[row] for row in rows))


def hold_out(examples: Examples, share: float, order: Callable[[int], Sequence[int]]) -> tuple[Examples, Examples]:
    """Split examples in two.

    Args:
        share: the fraction of the examples in the second part.
        order: number of rows -> a permutation of their indices; the first of them go to the second part.

    Raises:
        DataError: too few rows for two parts.
    """
    count = round(share * len(examples))
    if not 0 < count < len(examples):
        raise DataError("too-few-rows-to-hold-out", name=examples.name, count=len(examples))
    rows = list(order(len(examples)))
    return examples.of(sorted(rows[count:])), examples.of(sorted(rows[:count]))


# -- cells -------------------------------------------------------------------------------------------------------


def read_text(row: dict, column: str) -> str:
    """The text in a column; a number becomes text.

    Raises:
        DataError: the cell is empty, or a list or object.
    """
    value = row.get(column)
    if value is None:
        raise DataError("cell-missing", column=repr(column))
    if isinstance(value, list | dict):
        raise DataError("cell-is-no-text", column=repr(column), type=type(value).__name__)
    return value if isinstance(value, str) else str(value)


def split_cell(cell: object) -> list:
    """The tokens or tags of a cell: a list, or a text with spaces between them."""
    return cell if isinstance(cell, list) else str(cell).split()


def label_name(cell: object) -> str:
    """The name of a label; 3.0 becomes "3", because tables read integer columns with empty cells as floats.

    >>> label_name(3.0), label_name(" good "), label_name(True)
    ('3', 'good', 'True')
    """
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def label_number(cell: object, labels: tuple[str, ...], numbered: tuple[str, ...]) -> int:
    """The index of a label in `labels`, from its name or from its number in `numbered`.

    Raises:
        DataError: it is neither.
    """
    name = label_name(cell)
    if name not in labels and name.isdecimal() and len(name) < 10 and int(name) < len(numbered):
        name = numbered[int(name)]
    if name not in labels:
        known = ", ".join(labels[:8])
        if len(labels) > 8:
            raise DataError("label-unknown-of-many", label=repr(name), known=known)
        raise DataError("label-unknown", label=repr(name), known=known)
    return labels.index(name)

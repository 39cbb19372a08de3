"""Read the rows of a file into memory, for tasks, predictions and uploads, and convert single cells to text."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.text.readers import parquet
from bertlab.text.readers.data_file import NO_LIMITS, DataFile, Limits
from bertlab.text.readers.encoding import is_unicode, make_printable
from bertlab.text.readers.invalid_rows import InvalidRows, make_row_error
from bertlab.text.readers.plain_text import read_lines
from bertlab.text.readers.registry import Section, format_of, shorten_names

# for a compressed file whose rows are held in memory
COMPRESSED_LIMITS = Limits(bytes=2 << 30, lines=5_000_000)


@dataclass(frozen=True)
class Rows:
    """Rows with named columns."""

    name: str | Message  # the name of the source in messages
    columns: tuple[str, ...]  # the columns of all rows, in order of their first appearance
    rows: list[dict]  # a row may lack columns
    label_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The label names of each column that contains label numbers, if the source stores such names."""
    skipped_numbers: frozenset[int] = frozenset()
    """The numbers (from 1) of the rows that could not be read and were left out."""

    def enumerate_rows(self) -> Iterator[tuple[int, dict]]:
        """Yield (number, row) for every row. Numbers count the rows of the source from 1, including skipped ones.

        >>> list(Rows("a", ("text",), [{"text": "Tea."}, {"text": "Rain."}], {}, frozenset({2})).enumerate_rows())
        [(1, {'text': 'Tea.'}), (3, {'text': 'Rain.'})]
        """
        return zip((number for number in count(1) if number not in self.skipped_numbers), self.rows, strict=False)

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> "Rows":
        """Return the first `count` rows; skipped numbers that come after the last of these rows are left out.

        >>> rows = Rows("a", ("text",), [{"text": "Tea."}, {"text": "Rain."}], {}, frozenset({2, 4}))
        >>> len(rows.first(1)), rows.first(1).skipped_numbers, rows.first(2).skipped_numbers
        (1, frozenset(), frozenset({2, 4}))
        """
        if count >= len(self.rows):
            return self
        last_number = list(self.enumerate_rows())[:count][-1][0]
        skipped_numbers = frozenset(number for number in self.skipped_numbers if number < last_number)
        return replace(self, rows=self.rows[:count], skipped_numbers=skipped_numbers)

    def require_columns(self, columns: Iterable[str]) -> None:
        """Raise DataError if one of these columns is missing."""
        if missing := [column for column in columns if column not in self.columns]:
            names = shorten_names(self.columns)
            raise DataError("rows-column-not-found", source=self.name, column=missing, columns=names)

    def find_label_column(self, names: Sequence[str], is_required: bool) -> str | None:
        """Find the first of these names that is a column, or a field of a column ("labels.label").

        Without such a column, the result is None or, if `is_required`, a DataError.
        """
        column = next((name for name in names if {name, name.partition(".")[0]} & {*self.columns}), None)
        if column is None and is_required:
            columns = shorten_names(self.columns)
            raise DataError("rows-label-not-found", source=self.name, column=names[0], columns=columns)
        return column


def read_file(
    path: str | Path,
    limits: Limits | None = None,
    default: str | None = None,
    invalid_rows: InvalidRows | None = None,
    by_line: bool = False,
) -> Rows:
    """Read all rows of a file. An error names the file and the row.

    Args:
        default: the suffix to assume for a file with an unknown suffix.
        invalid_rows: receives the errors of rows that cannot be read; without it, the first one raises.
        by_line: whether each line of plain text is a row, and blank lines count as skipped rows; otherwise a row is a
            document, which ends at a blank line.
    """
    file = DataFile(Path(path), limits or NO_LIMITS)
    if limits is None and file.size and file.compression:
        file = DataFile(file.path, COMPRESSED_LIMITS)
    format = format_of(file, default)
    file.check_content()
    header = format.columns(file)
    rows: list[dict] = []
    skipped: set[int] = set()
    by_line = by_line and not format.has_columns
    number = 0
    for record in read_lines(file) if by_line else format.read(file, Section(), None):
        previous, number = number, record.number if by_line else number + 1
        skipped.update(range(previous + 1, number))  # blank lines
        if record.reason is None:
            rows.append(record.values)
            continue
        error = make_row_error(file.name, record.number, record.reason)
        if invalid_rows is None:
            raise error
        invalid_rows.report(error)
        skipped.add(number)
    if not rows and skipped:
        raise DataError("no-usable-row", name=file.name, count=len(skipped))
    if not rows:
        raise DataError("file-without-rows", path=file.name)
    columns = header or tuple(dict.fromkeys(column for row in rows for column in row))
    label_names = parquet.label_names(file) if isinstance(format, parquet.Parquet) else {}
    return Rows(file.name, columns, rows, label_names, frozenset(skipped))


def concatenate(name: str | Message, parts: Sequence[Rows]) -> Rows:
    """Concatenate the rows of several files, which may have different columns."""
    columns = tuple(dict.fromkeys(column for part in parts for column in part.columns))
    skipped: set[int] = set()
    rows_before = 0
    for part in parts:
        skipped |= {rows_before + number for number in part.skipped_numbers}
        rows_before += len(part.rows) + len(part.skipped_numbers)
    return Rows(name, columns, [row for part in parts for row in part.rows], parts[0].label_names, frozenset(skipped))


def choose_evenly(count: int, limit: int) -> list[int]:
    """Choose the indices of at most `limit` rows, spread evenly over `count` rows, in ascending order.

    >>> choose_evenly(9, 3), choose_evenly(2, 3)
    ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, count - 1, min(count, limit)).round().astype(int).tolist()


def value_of(row: dict, column: str) -> object:
    """Return the value in a column, or None; "labels.label" is the field `label` of the value in `labels`."""
    if column in row:
        return row[column]
    value = row
    for part in column.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def is_blank(value: object) -> bool:
    """Whether a cell is empty: null, NaN, or only white space."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value).strip() == ""


def row_id(row: dict, column: str | None, number: int) -> str:
    """Return the id of a row: its value in a column or, if there is no such column, its number (from 1) minus 1."""
    if column is None or column not in row:
        return str(number - 1)
    if is_blank(row[column]):
        raise DataError("row-without-id", column=column)
    id = str(row[column])
    if not is_unicode(id):
        raise DataError("row-id-invalid", column=column)
    return id


def format_text(value: object) -> str:
    """Return a cell as text for a model: the result of `format_cell`, in NFC, the Unicode form of most vocabularies."""
    return unicodedata.normalize("NFC", format_cell(value))


def format_cell(value: object) -> str:
    """Return a cell as text that every file can contain; "" for a missing cell, null and NaN.

    >>> format_cell(3), format_cell(None), format_cell(float("nan")), format_cell("a\\ud800")
    ('3', '', '', 'a?')
    """
    return "" if value is None or value != value else make_printable(value)

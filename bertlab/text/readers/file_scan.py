"""Count the rows of a file, and read them one at a time; the rows of plain text are its lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.text.readers.data_file import DataFile, Limits
from bertlab.text.readers.plain_text import TEXT_COLUMN, read_lines
from bertlab.text.readers.registry import Record, Section, format_of
from bertlab.text.readers.rows import format_cell

# the limits for a file
MAX_ROWS = 100_000
MAX_BYTES = 200 << 20  # the maximum size of the file, and of its content after decompression
MAX_CHARACTERS = 200_000_000  # of all cells together; a small Parquet file can repeat a long text in every row
MAX_COLUMNS = 200
# the maximum number of rows in `FileScan.sample`, and of characters of each value
SAMPLE_ROWS, SAMPLE_CHARACTERS = 50, 500


@dataclass(frozen=True)
class FileScan:
    """The columns, the number of rows and the first rows of a file."""

    columns: tuple[str, ...]  # the names of the columns; `TEXT_COLUMN` alone for plain text
    num_rows: int  # the number of rows, including those that cannot be read
    sample: tuple[dict, ...] = ()
    """The first rows that can be read, at most `SAMPLE_ROWS`; each is {column: the beginning of the value as text}."""


def scan_file(path: Path) -> FileScan:
    """Count the rows of a file and collect the names of its columns, without holding its rows in memory."""
    file = _open(path)
    if file.size > MAX_BYTES:
        raise DataError("file-job-too-large", path=file.name, megabytes=MAX_BYTES >> 20)
    file.check_content()
    format = format_of(file)
    columns = dict.fromkeys((format.columns(file) or ()) if format.has_columns else (TEXT_COLUMN,))
    num_rows = num_invalid = num_characters = 0
    sample: list[dict] = []
    for record in read_records(path):
        values = record.values or {}
        num_rows += 1
        num_invalid += record.values is None
        columns.update(dict.fromkeys(values))
        if values and len(sample) < SAMPLE_ROWS:
            sample.append({name: format_cell(value)[:SAMPLE_CHARACTERS] for name, value in values.items()})
        num_characters += sum(len(value) for value in values.values() if isinstance(value, str))
        if num_rows > MAX_ROWS:
            raise DataError("file-job-too-many-rows", path=file.name, limit=MAX_ROWS)
        if num_characters > MAX_CHARACTERS:
            raise DataError("file-job-too-large", path=file.name, megabytes=MAX_BYTES >> 20)
        if len(columns) > MAX_COLUMNS:
            raise DataError("file-job-too-many-columns", path=file.name, limit=MAX_COLUMNS)
    if num_rows == 0:
        raise DataError("file-without-rows", path=file.name)
    if num_invalid == num_rows:
        raise DataError("no-usable-row", name=file.name, count=num_invalid)
    return FileScan(tuple(columns), num_rows, tuple(sample))


def read_records(path: Path) -> Iterator[Record]:
    """Yield the rows of a file in order, invalid ones too. Blank lines of plain text are left out."""
    file = _open(path)
    format = format_of(file)
    yield from format.read(file, Section()) if format.has_columns else read_lines(file)


def _open(path: Path) -> DataFile:
    # More lines than rows are allowed, because lines may be blank.
    return DataFile(path, Limits(bytes=MAX_BYTES, lines=10 * MAX_ROWS))

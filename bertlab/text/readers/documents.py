"""Read the texts of a corpus from files and data sets of the hub, in shards that worker processes read in parallel.

Rows are read one at a time, so that an invalid row can be named and skipped, and so that memory does not depend on the
amount of text.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from bertlab.config.errors import DataError, first_line
from bertlab.config.languages import Message
from bertlab.text.readers import hub
from bertlab.text.readers.data_file import DataFile
from bertlab.text.readers.encoding import make_printable
from bertlab.text.readers.invalid_rows import make_row_error
from bertlab.text.readers.json_values import json_type
from bertlab.text.readers.registry import FileFormat, Record, Section, find_suffix, format_of, shorten_names, suffixes

SHARD_BYTES = 4 << 20  # the approximate number of bytes of a file in one shard
HUB_ROWS = 1000  # the number of rows of a hub data set in one shard


class Text(NamedTuple):
    """The text of a row, or the reason why it has none."""

    number: int  # the number of the row within its shard, from 1; see `Shard.row_number`
    text: str | None  # None for an invalid row
    reason: Message | None


@dataclass(frozen=True)
class Shard(ABC):
    """A part of a source of text; one process reads it."""

    path: str  # the file, or the id of the data set on the hub
    label: str  # the file's name up to the first "-" or ".", or the hub id without owner, configuration and revision
    source: int  # the index of the source among all sources
    size: int  # the approximate size in bytes; 0 if unknown

    @abstractmethod
    def rows(self, column: str) -> Iterator[Record]:
        """Yield the rows of the shard, numbered from 1. Only `column` is needed; other columns may be left out."""

    @abstractmethod
    def row_number(self, number: int) -> int:
        """Convert a row's number within the shard to its number in the whole file or data set; both count from 1."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return make_printable(self.path)

    def text_of(self, row: Record, column: str) -> Text:
        """Return the text of a row, or the reason why it has none."""
        text, reason = None, row.reason
        if reason is None and column not in row.values:
            reason = Message("row-without-column", column=column, columns=shorten_names([*row.values]))
        elif reason is None:
            text = row.values[column]
            if text is None or text == "":
                reason = Message("row-without-text")
            elif not isinstance(text, str):
                reason = Message("row-value-not-text", column=column, type=json_type(text))
        return Text(row.number, text if reason is None else None, reason)


@dataclass(frozen=True)
class FileShard(Shard):
    """A section of a file."""

    format: FileFormat
    section: Section

    def rows(self, column: str) -> Iterator[Record]:
        return self.format.read(_data_file(self.path), self.section, [column] if self.format.has_columns else None)

    def row_number(self, number: int) -> int:
        rows_before = self.section.rows_before
        if rows_before is None:
            rows_before = _data_file(self.path).count_lines(self.section.start)
        return number + rows_before

    def text_of(self, row: Record, column: str) -> Text:
        # In a format without columns, a row has a single value, which is the text whatever `column` is.
        has_column = self.format.has_columns or row.values is None
        return super().text_of(row, column if has_column else next(iter(row.values)))


@dataclass(frozen=True)
class HubShard(Shard):
    """The rows from index `first` to `end` of a hub data set."""

    first: int
    end: int

    def rows(self, column: str) -> Iterator[Record]:
        rows = _hub_rows(self.path, stream=False)
        return (Record(i - self.first + 1, rows[i]) for i in range(self.first, self.end))

    def row_number(self, number: int) -> int:
        return self.first + number


@dataclass(frozen=True)
class StreamShard(Shard):
    """A shard of a hub data set that is streamed."""

    index: int  # the index of this shard among those of the data set
    num_shards: int
    kind: Literal["files", "rows"]
    """What one shard consists of: "files", one file of the data set; "rows", every n-th row, with n = `num_shards`."""

    @property
    def name(self) -> str:
        if self.kind == "rows" or self.num_shards == 1:
            return self.path
        # Rows are numbered within the shard, because it is unknown how many rows the earlier files have.
        return f"{self.path} shard {self.index + 1} of {self.num_shards}"

    def rows(self, column: str) -> Iterator[Record]:
        from datasets.distributed import split_dataset_by_node  # imported here as in `hub.list_read_errors`

        stream = split_dataset_by_node(_hub_rows(self.path, stream=True), self.index, self.num_shards)
        return (Record(number, row) for number, row in enumerate(stream, 1))

    def row_number(self, number: int) -> int:
        return number if self.kind == "files" else self.index + (number - 1) * self.num_shards + 1


def find_shards(
    sources: list[str], column: str = "text", stream: bool = False, workers: int = 1
) -> tuple[list[Shard], list[DataError]]:
    """Find the shards of all sources, in order, and the error of each file that cannot be used.

    Args:
        stream: stream hub data sets in at least `workers` shards instead of downloading them first.
    """
    if not sources:
        raise DataError("no-text-source")
    shards: list[Shard] = []
    errors: list[DataError] = []
    for index, source in enumerate(sources):
        if (files := files_of(source)) is None:
            shards += _hub_shards(source, index, column, stream, workers)
            continue
        for path in files:
            try:
                shards += _file_shards(path, index, column)
            except DataError as error:
                errors.append(error)
    return shards, errors


def files_of(source: str) -> list[Path] | None:
    """Return the files of a source, in order; None if it is a hub id."""
    path = Path(source)
    if path.is_dir():
        entries = ((p, p.relative_to(path).parts) for p in path.rglob("*"))
        if files := sorted(p for p, parts in entries if find_suffix(p) and not any(part[0] == "." for part in parts)):
            return files
        raise DataError("directory-without-files", path=make_printable(source), suffixes=suffixes())
    if path.exists():
        if find_suffix(path):
            return [path]
        raise DataError("file-format-unknown", path=make_printable(source), suffixes=suffixes())
    if find_suffix(path) or not hub.is_hub_id(source):
        raise DataError("file-not-found", path=make_printable(source))
    return None


def read_texts(shard: Shard, column: str = "text") -> Iterator[Text]:
    """Read the texts of a shard. If the rest of a shard cannot be read, the last text is an invalid row."""
    number, is_open = 0, False
    try:
        for row in shard.rows(column):
            number, is_open = row.number, True
            yield shard.text_of(row, column)
    except hub.list_read_errors() as error:
        if isinstance(error, DataError) and not isinstance(shard, FileShard) and not is_open:
            raise
        reason = error if isinstance(error, DataError) else first_line(error)
        yield Text(number + 1, None, Message("rows-after-unreadable", reason=reason))


def make_invalid_text_error(shard: Shard, text: Text) -> DataError:
    """Make the error that names an invalid row of a shard."""
    return make_row_error(shard.name, shard.row_number(text.number), text.reason or Message("row-without-text"))


def _data_file(path: str) -> DataFile:
    """Return a data file, the same object as before if the file has not changed."""
    try:
        stat = os.stat(path)
    except OSError:
        return DataFile(Path(path))
    return _cached_data_file(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)  # the next shard is usually of the same file, whose encoding is then not guessed again
def _cached_data_file(path: str, size: int, modified: int) -> DataFile:
    return DataFile(Path(path))


def _file_shards(path: Path, source: int, column: str) -> list[Shard]:
    file = DataFile(path)
    if not file.size:
        raise DataError("file-empty", path=file.name)
    format, label = format_of(file), path.name.split("-")[0].split(".")[0]
    format.check_text_column(file, column)
    sections = format.sections(file, SHARD_BYTES)
    return [FileShard(str(path), label, source, section.size, format, section) for section in sections]


def _hub_shards(name: str, source: int, column: str, stream: bool, workers: int) -> list[Shard]:
    rows = _hub_rows(name, stream=stream)
    try:
        columns = rows.column_names or list(next(iter(rows), {}))
    except hub.list_read_errors():
        columns = [column]  # reading the rows will then name the row that cannot be read
    if column not in columns:
        raise DataError("corpus-column-not-found", path=name, column=column, columns=shorten_names(columns))
    label = name.split("/")[1].partition("@")[0].partition(":")[0]
    if stream:
        # A shard is one file of the data set if there are enough files; otherwise every process must read all rows.
        kind, num_shards = ("files", rows.num_shards) if rows.num_shards >= workers else ("rows", workers)
        return [StreamShard(name, label, source, 0, index, num_shards, kind) for index in range(num_shards)]
    row_bytes = rows.data.nbytes / max(1, len(rows))
    spans = [(a, min(a + HUB_ROWS, len(rows))) for a in range(0, len(rows), HUB_ROWS)]
    return [HubShard(name, label, source, int(row_bytes * (b - a)), a, b) for a, b in spans]


@lru_cache(maxsize=4)
def _hub_rows(name: str, stream: bool):
    return hub.load(name, "train", stream)

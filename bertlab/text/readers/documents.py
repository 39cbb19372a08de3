"""Texts for a corpus, from files of any format and data sets of the hub, in shards that processes read at once.

Rows are read one at a time, so that an invalid one can be named and left out, and memory stays that of a shard however
much text there is.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from datasets.distributed import split_dataset_by_node

from bertlab.config.errors import DataError, first_line
from bertlab.config.languages import Message
from bertlab.text.readers import hub
from bertlab.text.readers.data_file import DataFile
from bertlab.text.readers.encoding import printable
from bertlab.text.readers.invalid_rows import invalid_row
from bertlab.text.readers.json_values import json_type
from bertlab.text.readers.registry import FileFormat, Record, Section, format_of, known_suffix, shorten_names, suffixes

SHARD_BYTES = 4 << 20  # of a file in one shard, about
HUB_ROWS = 1000  # of a data set of the hub in one shard
WITHOUT_TEXT = Message("row-without-text")


class Text(NamedTuple):
    """The text of a row, or why it has none."""

    number: int
    """The row within its shard, from 1; see `Shard.row_number`."""
    text: str | None
    """The text; None for an invalid row."""
    reason: Message | None
    """Why an invalid row cannot be used."""


@dataclass(frozen=True)
class Shard(ABC):
    """A part of a source of text that one process reads by itself."""

    path: str
    """The file, or the id of the data set on the hub."""
    label: str
    """The style of the text, from the file's name."""
    source: int
    """Which of the named sources it belongs to, from 0."""
    size: int
    """Bytes, about; 0 where unknown."""

    @abstractmethod
    def rows(self, column: str) -> Iterator[Record]:
        """The rows of the shard, numbered from 1, at least with this column."""

    @abstractmethod
    def row_number(self, number: int) -> int:
        """The number in the file or data set of a row numbered within the shard; both from 1."""

    @property
    def name(self) -> str:
        """What messages call the source of its rows."""
        return printable(self.path)

    def text_of(self, row: Record, column: str) -> Text:
        """The text of a row, or why it has none."""
        if row.reason is not None:
            return Text(row.number, None, row.reason)
        if column not in row.values:
            names = shorten_names([*row.values])
            return Text(row.number, None, Message("row-without-column", column=column, columns=names))
        text = row.values[column]
        if text is None or text == "":
            return Text(row.number, None, WITHOUT_TEXT)
        if not isinstance(text, str):
            return Text(row.number, None, Message("row-value-not-text", column=column, type=json_type(text)))
        return Text(row.number, text, None)


@dataclass(frozen=True)
class FileShard(Shard):
    """A section of a file."""

    format: FileFormat
    """How to read it."""
    section: Section
    """Which part of the file."""

    def rows(self, column: str) -> Iterator[Record]:
        columns = [column] if self.format.has_columns else None
        return self.format.read(_data_file(self.path), self.section, columns)

    def row_number(self, number: int) -> int:
        before = self.section.rows_before
        return number + (_data_file(self.path).count_lines(self.section.first) if before is None else before)

    def text_of(self, row: Record, column: str) -> Text:
        if self.format.has_columns or row.reason is not None:
            return super().text_of(row, column)
        return super().text_of(row, next(iter(row.values)))


@dataclass(frozen=True)
class HubShard(Shard):
    """Rows `first` to `last` of a data set of the hub."""

    first: int
    """Its first row, from 0."""
    last: int
    """The row after its last one."""

    def rows(self, column: str) -> Iterator[Record]:
        rows = _hub_rows(self.path, False)
        return (Record(i - self.first + 1, rows[i]) for i in range(self.first, self.last))

    def row_number(self, number: int) -> int:
        return self.first + number


@dataclass(frozen=True)
class StreamShard(Shard):
    """A share of a data set of the hub that is streamed."""

    share: int
    """Which share, from 0."""
    shares: int
    """How many there are."""
    kind: Literal["files", "rows"]
    """Whether a share is a file of the data set, or every n-th row of it."""

    @property
    def name(self) -> str:
        if self.kind == "rows" or self.shares == 1:
            return self.path
        # how many rows lie before a file of the data set is not known
        return f"{self.path} shard {self.share + 1} of {self.shares}"

    def rows(self, column: str) -> Iterator[Record]:
        stream = split_dataset_by_node(_hub_rows(self.path, True), self.share, self.shares)
        return (Record(number, row) for number, row in enumerate(stream, 1))

    def row_number(self, number: int) -> int:
        return number if self.kind == "files" else self.share + (number - 1) * self.shares + 1


def find_shards(
    sources: list[str], column: str = "text", stream: bool = False, workers: int = 1
) -> tuple[list[Shard], list[DataError]]:
    """Find everything the sources hold, in order.

    Args:
        sources: files of any registered format, plain or compressed, directories of such files, or hub ids
            ("owner/name" or "owner/name:config").
        column: the column that holds the text.
        stream: read hub data sets as they come, in at least `workers` shares, instead of downloading them first.

    Returns:
        the shards, and an error for each file that cannot be used.

    Raises:
        DataError: no source of that name, no such column in a hub data set, a file of an unknown format.
    """
    if not sources:
        raise DataError("no-text-source")
    found: list[Shard] = []
    invalid: list[DataError] = []
    for number, source in enumerate(sources):
        if (files := files_of(source)) is None:
            found += _hub_shards(source, number, column, stream, workers)
            continue
        for path in files:
            try:
                found += _file_shards(path, number, column)
            except DataError as error:
                invalid.append(error)
    return found, invalid


def files_of(source: str) -> list[Path] | None:
    """The files of a source, in order; None if it is on the hub.

    Raises:
        DataError: there are none, or a file of an unknown format.
    """
    path = Path(source)
    if path.is_dir():
        inside = ((p, p.relative_to(path).parts) for p in path.rglob("*"))
        if files := sorted(p for p, parts in inside if known_suffix(p) and not any(part[0] == "." for part in parts)):
            return files
        raise DataError("directory-without-files", path=printable(source), suffixes=suffixes())
    if path.exists():
        if known_suffix(path):
            return [path]
        raise DataError("file-format-unknown", path=printable(source), suffixes=suffixes())
    if known_suffix(path) or source.count("/") != 1:
        raise DataError("file-not-found", path=printable(source))
    return None


def read_texts(shard: Shard, column: str = "text") -> Iterator[Text]:
    """Read the texts of a shard; where its rest cannot be read, an invalid row says so.

    Raises:
        DataError: a hub data set cannot be opened.
    """
    number, is_open = 0, False
    try:
        for row in shard.rows(column):
            number, is_open = row.number, True
            yield shard.text_of(row, column)
    except hub.UNREADABLE as error:
        if isinstance(error, DataError) and not isinstance(shard, FileShard) and not is_open:
            raise
        reason = error if isinstance(error, DataError) else first_line(error)
        yield Text(number + 1, None, Message("rows-after-unreadable", reason=reason))


def invalid_text(shard: Shard, text: Text) -> DataError:
    """The error that names an invalid row of a shard."""
    return invalid_row(shard.name, shard.row_number(text.number), text.reason or WITHOUT_TEXT)


def _data_file(path: str) -> DataFile:
    try:
        stat = os.stat(path)
    except OSError:
        return DataFile(Path(path))
    return _cached_data_file(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)  # the shards of a file follow one another, and each needs its encoding
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
    rows = _hub_rows(name, stream)
    try:
        columns = rows.column_names or list(next(iter(rows), {}))
    except hub.UNREADABLE:
        columns = [column]  # the row that cannot be read is named when it is read
    if column not in columns:
        raise DataError("corpus-column-not-found", path=name, column=column, columns=shorten_names(columns))
    label = name.split("/")[1].split(":")[0]
    if stream:
        # one of the hub's own files each, or every process would go through all of them for its own rows
        kind, shares = ("files", rows.num_shards) if rows.num_shards >= workers else ("rows", workers)
        return [StreamShard(name, label, source, 0, share, shares, kind) for share in range(shares)]
    each = rows.data.nbytes / max(1, len(rows))
    spans = [(a, min(a + HUB_ROWS, len(rows))) for a in range(0, len(rows), HUB_ROWS)]
    return [HubShard(name, label, source, int(each * (b - a)), a, b) for a, b in spans]


@lru_cache(maxsize=4)
def _hub_rows(name: str, stream: bool):
    return hub.load(name, "train", stream)

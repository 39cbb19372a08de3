"""Where text comes from: files of six kinds and hub data sets, in shards that several processes can read at once.

`datasets` reads the hub. Files are read here, a row at a time, because only so can a damaged one be named with its row
and left out, and memory stays that of a shard however much text there is. Knows no tokens.
"""

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datasets.distributed import split_dataset_by_node

from bertlab.config.errors import DataError, first_line
from bertlab.config.languages import Message
from bertlab.text.readers import hub
from bertlab.text.readers.files import encoding_of
from bertlab.text.readers.rows import SAMPLE, listed, parted, quotes, table_reader

KINDS = {
    ".parquet": "parquet", ".jsonl": "lines", ".json": "json", ".csv": "commas", ".tsv": "tabs", ".txt": "paragraphs"
}  # fmt: skip
TABLES = {"commas": (",", True), "tabs": ("\t", False), "quoted tabs": ("\t", True)}  # kind -> delimiter, quoted
SHARD_BYTES = 4 << 20  # bytes of a file that are read in one go
DOCUMENT_BYTES = 1 << 20  # of a .txt without blank lines, or without line breaks, that become one document
NO_TEXT = str(Message("row-without-text"))
UTF_8 = "utf-8-sig"  # with or without a mark before all else
ROWS = 1000  # of a hub data set


@dataclass(frozen=True)
class Shard:
    """A stretch of a source: bytes first..last of a file; row group `first` of a Parquet file, which begins with row
    `last`; rows first..last of a hub data set; of one that is streamed, shard `first` of its `last` ("part"), or row
    `first` and every `last`-th after it ("share").

    label: the style of the text, from the file's name. nth: of which of the named sources. size: bytes, about.
    encoding: of a file of text, such that no character holds the byte of a quotation mark, a comma or a line break.
    """

    path: str
    kind: str
    label: str
    nth: int
    first: int
    last: int
    size: int
    encoding: str = UTF_8


@dataclass(frozen=True)
class Damage:
    """What cannot be used of a source: a row, counted from 1, or the whole of a file.

    path: of the file; of a hub data set its id, and of which shard of it where only so the row can be found.
    """

    path: str
    row: int | None
    why: str

    def __str__(self) -> str:
        return f"{self.path}{f' row {self.row:,}' if self.row else ''}: {self.why}"


def shards(
    sources: list[str], column: str = "text", stream: bool = False, workers: int = 1
) -> tuple[list[Shard], list[Damage]]:
    """Everything the sources hold, in order, and the files that cannot be opened.

    Args:
        sources: paths of .parquet, .jsonl, .json, .csv, .tsv or .txt files (in the last a blank line ends a document,
            and so does the line with which it reaches `DOCUMENT_BYTES`; a longer line is parted between words),
            directories of such files, or hub ids ("owner/name" or "owner/name:config").
        stream: take hub data sets as they come, in at least `workers` shares, instead of downloading them first.

    Raises:
        DataError: nothing of that name, no text in this column, a file of another kind.
    """
    if not sources:
        raise DataError("no source of text was named")
    found: list[Shard] = []
    damaged: list[Damage] = []
    for nth, source in enumerate(sources):
        if (files := files_of(source)) is None:
            found += _of_hub(source, nth, column, stream, workers)
            continue
        for file in files:
            try:
                found += _of_file(file, nth, column)
            except (OSError, pa.ArrowException) as error:
                damaged.append(Damage(str(file), None, f"cannot be read: {first_line(error)}"))
            except _Unusable as error:
                damaged.append(Damage(str(file), None, str(error)))
    return found, damaged


def files_of(source: str) -> list[Path] | None:
    """The files of a source, in order; None if it is on the hub. Raises DataError where there are none."""
    path = Path(source)
    if path.is_dir():
        inside = ((p, p.relative_to(path).parts) for p in path.rglob("*"))
        if files := sorted(p for p, parts in inside if _kind(p) and not any(part[0] == "." for part in parts)):
            return files
        raise DataError(f"{source} holds no {', '.join(KINDS)} file")
    if path.exists():
        if _kind(path):
            return [path]
        raise DataError(f"{source} is not one of {', '.join(KINDS)}")
    if _kind(path) or source.count("/") != 1:
        raise DataError(f"there is no file {source}")
    return None


class _Unusable(Exception):
    pass


def _kind(path: Path) -> str | None:
    return KINDS.get(path.suffix.lower())


def _of_file(path: Path, nth: int, column: str) -> list[Shard]:
    kind, label, size = _kind(path), path.name.split("-")[0].split(".")[0], path.stat().st_size
    if not size:
        raise _Unusable("is empty")
    if kind == "parquet":
        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
            schema = file.schema_arrow
        if column not in schema.names:
            raise _Unusable(_without(column, listed(schema.names)))
        if not (pa.types.is_string(held := schema.field(column).type) or pa.types.is_large_string(held)):
            raise DataError(f"{path} has no text in {column!r} but {held}: name the column that holds the text")
        rows = [0]
        for group in groups:
            rows.append(rows[-1] + group.num_rows)
        return [Shard(str(path), kind, label, nth, i, rows[i], g.total_byte_size) for i, g in enumerate(groups)]
    with path.open("rb") as file:
        if kind == "json":
            # an array is one value, so it is read whole; rows a line are told by their first character
            if file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
                return [Shard(str(path), kind, label, nth, 0, size, size)]
            kind = "lines"
        file.seek(0)
        begins = file.read(SAMPLE)
        if (encoding := encoding_of(begins)) == "utf-16":
            raise _Unusable("is UTF-16, not UTF-8: save it as UTF-8")
        if kind == "tabs" and quotes(begins.decode(encoding, "replace"), size <= SAMPLE):
            kind = "quoted tabs"
        if kind in TABLES:
            _place(path, kind, column, encoding)
        cuts = [0]
        while cuts[-1] + SHARD_BYTES < size:
            cuts.append(_next_start(file, cuts[-1], kind))
    cuts[-1:] = [cuts[-1], size] if cuts[-1] < size else [size]
    return [Shard(str(path), kind, label, nth, a, b, b - a, encoding) for a, b in pairwise(cuts)]


def _next_start(file, begin: int, kind: str) -> int:
    """Where the first row begins that is `SHARD_BYTES` or more after another."""
    at = begin + SHARD_BYTES
    if TABLES.get(kind, ("", False))[1]:  # a row's end is a line's end with an even number of quotation marks before it
        file.seek(begin)
        marks = file.read(SHARD_BYTES - 1).count(b'"')
        while (line := file.readline()) and (marks := marks + line.count(b'"')) % 2:
            pass
        return file.tell()
    file.seek(at - 1)
    if kind in ("lines", "tabs"):
        file.readline()
        return file.tell()
    _line(file)
    while (line := _line(file)) and line.strip() and file.tell() < at + DOCUMENT_BYTES:
        pass
    return file.tell()


def _of_hub(name: str, nth: int, column: str, stream: bool, workers: int) -> list[Shard]:
    rows = _hub_rows(name, stream)
    try:
        names = rows.column_names or list(next(iter(rows), {}))
    except hub.UNREADABLE:
        names = [column]  # who reads it will name the row
    if column not in names:
        raise DataError(f"{name} {_without(column, ', '.join(names) or 'no rows')}")
    label = name.split("/")[1].split(":")[0]
    if stream:
        # one of the hub's own shards each, or every reader would go through all of them for its own rows
        kind, shares = ("part", rows.num_shards) if rows.num_shards >= workers else ("share", workers)
        return [Shard(name, kind, label, nth, share, shares, 0) for share in range(shares)]
    each = rows.data.nbytes / max(1, len(rows))
    spans = [(a, min(a + ROWS, len(rows))) for a in range(0, len(rows), ROWS)]
    return [Shard(name, "rows", label, nth, a, b, int(each * (b - a))) for a, b in spans]


@lru_cache(maxsize=4)
def _hub_rows(name: str, stream: bool):
    return hub.load(name, "train", stream)


def texts(shard: Shard, column: str = "text") -> Iterator[tuple[int, str | None, str]]:
    """The rows of a shard: which one (see `row_number`), its text, and, where that is None, why.

    Raises DataError where a hub data set cannot be opened.
    """
    i = -1
    try:
        for i, text, why in _texts(shard, column):
            yield i, text, why
    except DataError:
        raise
    except hub.UNREADABLE as error:
        yield i + 1, None, f"and what comes after it cannot be read: {first_line(error)}"


def _texts(shard: Shard, column: str) -> Iterator[tuple[int, str | None, str]]:
    if shard.kind == "lines":
        yield from (
            (i, *_of_line(line, column, shard.encoding))
            for i, line in enumerate(_lines(shard))
            if line.strip(b"\xef\xbb\xbf \t\r\n")
        )
    elif shard.kind == "paragraphs":
        yield from _paragraphs(shard)
    elif shard.kind in TABLES:
        yield from _of_table(shard, column)
    elif shard.kind == "json":
        try:
            content = Path(shard.path).read_bytes()
            values = json.loads(content.decode(encoding_of(content)))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            yield 0, None, f"is no JSON array: {error}"
            return
        yield from ((i, *_of_value(value, column)) for i, value in enumerate(values))
    elif shard.kind == "parquet":
        yield from _of_row_group(shard, column)
    elif shard.kind == "rows":
        rows = _hub_rows(shard.path, False)
        yield from ((i, *_of_value(rows[shard.first + i], column)) for i in range(shard.last - shard.first))
    else:
        stream = split_dataset_by_node(_hub_rows(shard.path, True), shard.first, shard.last)
        yield from ((i, *_of_value(row, column)) for i, row in enumerate(stream))


def damage_of(shard: Shard, i: int, why: str) -> Damage:
    """What is wrong with the i-th row of a shard."""
    # how many rows lie before a shard of the hub is not known
    of = f" shard {shard.first + 1} of {shard.last}" if shard.kind == "part" and shard.last > 1 else ""
    return Damage(shard.path + of, row_number(shard, i), why)


def row_number(shard: Shard, i: int) -> int:
    """Of the i-th row of a shard, in its file, from 1: the line, or the line where a paragraph or a row of a table
    begins; else the row."""
    if shard.kind in ("lines", "paragraphs", *TABLES):
        with open(shard.path, "rb") as file:
            before = sum(
                file.read(min(SHARD_BYTES, shard.first - at)).count(b"\n") for at in range(0, shard.first, SHARD_BYTES)
            )
        return before + i + 1
    if shard.kind == "share":
        return shard.first + i * shard.last + 1
    return {"parquet": shard.last, "rows": shard.first}.get(shard.kind, 0) + i + 1


def _lines(shard: Shard) -> Iterator[bytes]:
    with open(shard.path, "rb") as file:
        file.seek(shard.first)
        at = shard.first
        while at < shard.last and (line := file.readline()):
            yield line
            at += len(line)


def _paragraphs(shard: Shard) -> Iterator[tuple[int, str | None, str]]:
    number, first, held, size = 0, 0, [], 0
    with open(shard.path, "rb") as file:
        file.seek(shard.first)
        while (left := shard.last - file.tell()) > 0 and (line := _line(file, left)):
            if line.strip():
                first = first if held else number
                held.append(line)
                size += len(line)
            whole = line.endswith(b"\n")
            if held and (not line.strip() or not whole or size >= DOCUMENT_BYTES):
                yield first, *_decoded(b"".join(held), shard.encoding)
                held, size = [], 0
            number += whole
    if held:
        yield first, *_decoded(b"".join(held), shard.encoding)


def _line(file, left: int | None = None) -> bytes:
    """The next line of a file; of one of more than `DOCUMENT_BYTES` the next words.

    Args:
        left: bytes that may be read.
    """
    line = file.readline(DOCUMENT_BYTES if left is None else min(left, DOCUMENT_BYTES))
    if len(line) < DOCUMENT_BYTES or line.endswith(b"\n") or len(line) == left:
        return line
    end = line.rfind(b" ") + 1
    if not end:  # no words: between two characters, then, of which one in UTF-8 has four bytes at most
        begins = (n for n in range(len(line) - 1, len(line) - 5, -1) if line[n] & 0xC0 != 0x80)
        end = next(begins, len(line))
    file.seek(end - len(line), os.SEEK_CUR)
    return line[:end]


def _place(path: str | Path, kind: str, column: str, encoding: str) -> tuple[int, int]:
    """Which column of a table holds the text, and how many there are. Raises _Unusable where none does."""
    with open(path, encoding=encoding, errors="surrogateescape", newline="") as file:
        try:
            columns = [name.strip() for name in next(table_reader(file, *TABLES[kind]), [])]
        except csv.Error as error:
            raise _Unusable(f"is damaged at line 1: {error}") from None
    if column not in columns:
        mark = parted(columns)
        how = f"is parted by {mark!r}, not by commas: save it with commas between" if mark else ""
        raise _Unusable(how or _without(column, listed(columns)))
    return columns.index(column), len(columns)


def _without(column: str, columns: str) -> str:
    return f"has no column {column!r}; it has {columns}: say with --column which holds the text"


def _of_table(shard: Shard, column: str) -> Iterator[tuple[int, str | None, str]]:
    place, columns = _place(shard.path, shard.kind, column, shard.encoding)
    plain = shard.encoding.removesuffix("-sig")
    lines = (line.decode(plain, "surrogateescape") for line in _lines(shard))
    reader, fields = table_reader(lines, *TABLES[shard.kind]), []
    while fields is not None:
        i = reader.line_num
        try:
            fields = next(reader, None)
        except csv.Error as error:
            more = f", and the {lost:,} lines after it with it" if (lost := reader.line_num - i - 1) else ""
            yield i, None, f"is damaged: {error}{more}"
            continue
        if not fields or shard.first + i == 0:
            continue
        if len(fields) != columns:
            yield i, None, f"has {len(fields)} fields, but there are {columns} columns"
            continue
        text, why = _decoded(fields[place].encode(plain, "surrogateescape"), shard.encoding)
        yield (i, text, why) if text is None or text else (i, None, NO_TEXT)


def _decoded(data: bytes, encoding: str) -> tuple[str | None, str]:
    try:
        return data.decode(encoding).replace("\r\n", "\n").rstrip("\n"), ""
    except UnicodeDecodeError as error:
        return None, _undecoded(error, encoding)


def _undecoded(error: UnicodeDecodeError, encoding: str = UTF_8) -> str:
    name = encoding.removesuffix("-sig").upper()
    return f"is not {name}: byte {error.start + 1} of it is {error.object[error.start]:#04x}"


def _of_line(line: bytes, column: str, encoding: str) -> tuple[str | None, str]:
    text, why = _decoded(line, encoding)
    if text is None:
        return None, why
    try:
        return _of_value(json.loads(text), column)
    except (json.JSONDecodeError, RecursionError) as error:
        return None, f"is no JSON: {error}"


def _of_value(value, column: str) -> tuple[str | None, str]:
    if not isinstance(value, dict):
        return None, f"is no JSON object but {type(value).__name__}"
    if column not in value:
        return None, _without(column, ", ".join(map(str, value)) or "none")
    text = value[column]
    if text is None or isinstance(text, str):
        return (text, "") if text else (None, NO_TEXT)
    return None, f"has no text in {column!r} but {type(text).__name__}"


def _of_row_group(shard: Shard, column: str) -> Iterator[tuple[int, str | None, str]]:
    i = 0
    with pq.ParquetFile(shard.path) as file:
        for batch in file.iter_batches(64, row_groups=[shard.first], columns=[column]):
            for value in batch.column(0):
                try:
                    yield i, value.as_py() or None, "" if value.as_py() else NO_TEXT
                except UnicodeDecodeError as error:
                    yield i, None, _undecoded(error)
                i += 1

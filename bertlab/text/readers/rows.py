"""The rows of a data set, from wherever they are: a file, a directory with a file for each split, or the hub.

Parquet, CSV, TSV, JSON, JSON lines, any of the last four gzipped. Knows no task.
"""

import csv
import io
import json
import math
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertlab.config.errors import DataError, NoSuchSplit
from bertlab.text.readers import hub
from bertlab.text.readers.files import parse_json, parse_json_lines, read_parquet, read_text

ALIASES = {"validation": ("validation", "dev", "valid"), "test": ("test",), "train": ("train",)}
PASTED = "the pasted table"
SHOWN = 40  # characters of a column's name, and columns, that a message tells
SAMPLE = 1 << 20  # characters of a table that tell how it is written
NAME = re.compile(r"\s*([\w(][\w .()/-]*(?<!\.))?\s*")  # of a column: no sentence
PART = re.compile(r"(.+)-(\d+)-of-(\d+)")  # of a split in several files, as the hub names them
SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".json", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".json.gz")


@dataclass(frozen=True)
class Rows:
    """name: what to call the source in a message. names: what the numbers of a column mean, where the source says."""

    name: str
    columns: tuple[str, ...]
    rows: list[dict]
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def needs(self, columns: Iterable[str]) -> None:
        """Raises DataError where one of these columns is missing, naming those that are there."""
        if missing := [column for column in columns if column not in self.columns]:
            raise DataError(
                f"{self.name} has no column {' or '.join(map(repr, missing))}; it has {listed(self.columns)}"
            )

    def label(self, names: Sequence[str], training: bool) -> str | None:
        """The first column of these names, or the one that a name such as "labels.label" lies in; None without any.

        Raises:
            DataError: there is none, and it is to be learned from.
        """
        found = next((name for name in names if {name, name.partition(".")[0]} & {*self.columns}), None)
        if found is None and training:
            raise DataError(f"{self.name} has no column {names[0]!r} to learn from; it has {listed(self.columns)}")
        return found


def read_split(source: str | Path, split: str) -> Rows:
    """One split of a data set.

    Args:
        source: a file (which is the split), a directory that has a file for it, or a hub id: "owner/name", with
            ":configuration" and "@revision" where it has them.

    Raises:
        DataError: nothing there, a damaged file, no such split, or a hub that cannot be reached; one line.
    """
    if found := find_split(source, split):
        parts = [read_file(path) for path in found]
        for path, part in zip(found, parts, strict=True):
            # of lines of JSON each has its own columns
            if ".json" not in path.name.lower() and (missing := {*parts[0].columns} - {*part.columns}):
                raise DataError(f"{path} has no column {listed(sorted(missing))}, as {parts[0].name} has")
        return joined(split_name(source, split, found), parts)
    rows = hub.load(str(source), split)
    names = {column: given for column, feature in rows.features.items() if (given := _hub_names(feature))}
    return Rows(f"{source} ({split})", tuple(rows.column_names), rows.to_list(), names)


def joined(name: str, parts: Sequence[Rows]) -> Rows:
    """Rows of several files one after the other, under one name; a part may lack columns of another.

    >>> joined("train", [Rows("a", ("text",), [{"text": "1"}]), Rows("b", ("text", "label"), [])]).columns
    ('text', 'label')
    """
    columns = tuple(dict.fromkeys(column for part in parts for column in part.columns))
    return Rows(name, columns, [row for part in parts for row in part.rows], parts[0].names)


def split_name(source: str | Path, split: str, files: Sequence[Path]) -> str:
    """What to call a split in a message: its one file, or the directory and the split."""
    return str(files[0]) if len(files) == 1 else f"{source} ({split}, {len(files)} files)"


def find_split(source: str | Path, split: str) -> tuple[Path, ...]:
    """The file that holds a split, or the files that do together, in order; none for a hub id.

    In a directory that is `train.parquet`, `train-v1.1.json`, `mine_train.csv`, or `train-00000-of-00002.parquet` and
    all the others of its kind; for the validation split `dev` and `valid` too.

    Raises:
        DataError: there is no such file, several would do, one of the parts is missing, or the source is neither file
            nor directory nor hub id.
    """
    if not str(source):
        raise DataError("these rows are not on the hub: name their file or directory with --data")
    path = Path(source)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.name.lower().endswith(SUFFIXES) and not p.name.startswith("."))
        for name in ALIASES.get(split, (split,)):
            own = [p for p in files if _is_of(p, name)]
            if own:
                return _whole(source, split, own)
        raise NoSuchSplit(
            f"{source} has no file for the split {split}; it has {', '.join(p.name for p in files) or 'none at all'}"
        )
    if path.exists():
        return (path,)
    if str(source).partition(":")[0].partition("@")[0].count("/") != 1 or str(source).lower().endswith(SUFFIXES):
        raise DataError(f"there is no file {source}")
    return ()


def has_split(source: str | Path, split: str) -> bool:
    """Whether a directory has a file for a split, or a data set of the hub has it; a file has none.

    Raises:
        DataError: several files of a directory would do, there is no such source, or the hub cannot be reached.
    """
    try:
        if not find_split(source, split):
            hub.load(str(source), split)
        return not Path(source).is_file()
    except NoSuchSplit:
        return False


def splits_there(source: str | Path, wanted: Sequence[str], plain: str) -> tuple[str, ...]:
    """Which of a task's splits a source has.

    Args:
        wanted: as the task calls them, ("validation_matched", "validation_mismatched"), say.
        plain: what others call them; a directory that has none of them but this one has this one.

    Returns:
        a file is the first of them, whatever it is called; () where there is none.
    """
    if Path(source).is_file():
        return tuple(wanted[:1])
    there = tuple(split for split in wanted if has_split(source, split))
    return there or ((plain,) if has_split(source, plain) else ())


def spaced(rows: int, few: int) -> list[int]:
    """`few` row numbers from all over a data set, in order; all of them where there are no more.

    >>> spaced(9, 3), spaced(2, 3)
    ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, rows - 1, min(rows, few)).round().astype(int).tolist()


def value_of(row: dict, column: str):
    """The value of a column; "labels.label" is a field inside of one."""
    if column in row:
        return row[column]
    value = row
    for part in column.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def listed(columns: Iterable[str]) -> str:
    """The columns of a table, as a message names them.

    >>> listed(("id", "text")), listed(())
    ('id, text', 'none')
    """
    names = list(columns)
    told = ", ".join(name if len(name) <= SHOWN else f"{name[:SHOWN]}…" for name in names[:SHOWN]) or "none"
    return " ".join(f"{told} and {len(names) - SHOWN} more".split()) if len(names) > SHOWN else " ".join(told.split())


def parted(columns: Sequence[str]) -> str:
    """What stands between the columns of a .csv that seems to have a single one, instead of a comma.

    >>> parted(["id;text"]), parted(["text"]), parted(["a;b", "c"])
    (';', '', '')
    """
    return next((mark for mark in ";\t" if mark in columns[0]), "") if len(columns) == 1 else ""


def blank(value: object) -> bool:
    """Whether a cell gives nothing: empty, null or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value).strip() == ""


def row_id(row: dict, column: str | None, number: int) -> str:
    """What a row calls itself; without such a column its number from 0.

    Args:
        number: the row's, from 1.

    Raises:
        DataError: the cell is there and empty.
    """
    if column is None or column not in row:
        return str(number - 1)
    if blank(row[column]):
        raise DataError(f"has no id in {column!r}")
    return str(row[column])


def _stem(path: Path) -> str:
    name = path.name.lower()
    return name.removesuffix(max((suffix for suffix in SUFFIXES if name.endswith(suffix)), key=len))


def _whole(source: str | Path, split: str, files: Sequence[Path]) -> tuple[Path, ...]:
    """The one file of a split, or its parts in order."""
    parts = {path: PART.fullmatch(_stem(path)) for path in files}
    kinds = {part and (part[1], part[3]) for part in parts.values()}
    numbers = sorted(int(part[2]) for part in parts.values() if part)
    if len(kinds) > 1 or (kinds == {None} and len(files) > 1) or len(set(numbers)) < len(numbers):
        raise DataError(f"{source} has several files for {split}: {', '.join(p.name for p in files)}; name one")
    if kinds == {None}:
        return tuple(files)
    ((_, whole),) = kinds
    if missing := set(range(int(whole))) - set(numbers):
        raise DataError(f"{source} has not all files of {split}: part {min(missing)} of {int(whole)} is missing")
    return tuple(sorted(files, key=lambda path: int(parts[path][2])))


def _is_of(path: Path, name: str) -> bool:
    stem = _stem(path)
    return stem == name or stem.startswith(f"{name}-") or stem.endswith((f"_{name}", f"-{name}"))


def read_file(path: str | Path) -> Rows:
    """The rows of one file.

    Raises:
        DataError: it is missing, damaged, empty or of another kind; the line or row that is wrong is named.
    """
    path = Path(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() in (".gz", *SUFFIXES)]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    if kind == ".parquet":
        rows = _parquet(path)
    elif kind in (".csv", ".tsv"):
        rows = _table(str(path), read_text(path), "\t" if kind == ".tsv" else ",")
    elif kind in (".json", ".jsonl"):
        rows = _json(path)
    else:
        raise DataError(f"{path} is not one of {', '.join(SUFFIXES)}")
    if not len(rows):
        raise DataError(f"{path} holds no rows")
    return rows


def _parquet(path: Path) -> Rows:
    table = read_parquet(path)
    told = (table.schema.metadata or {}).get(b"huggingface")
    features = json.loads(told)["info"]["features"] if told else {}
    names = {column: given for column, feature in features.items() if (given := _stored_names(feature))}
    return Rows(str(path), tuple(table.column_names), table.to_pylist(), names)


def _stored_names(feature: object) -> tuple[str, ...]:
    """The names of a ClassLabel, alone or in a list, as `datasets` writes them into a Parquet file."""
    if isinstance(feature, list):
        return _stored_names(feature[0]) if feature else ()
    if not isinstance(feature, dict):
        return ()
    return tuple(feature["names"]) if feature.get("_type") == "ClassLabel" else _stored_names(feature.get("feature"))


def _hub_names(feature: object) -> tuple[str, ...]:
    inner = getattr(feature, "feature", feature)
    return tuple(getattr(inner, "names", None) or ())


def pasted_table(text: str, known: Container[str]) -> Rows | None:
    """The rows of a table that somebody has pasted; None where the lines are texts.

    A table begins with a line of column names, one of which is `known` (in lower case); one that is blank is called by
    its number. Without such a line it is what has equally many fields, two or more, between the tabs of every line, and
    all its columns are called by number. Commas alone make no table, since sentences have them.

    Raises:
        DataError: a table that is damaged; its line is named.

    >>> pasted_table("Good, I think.\\nBad, I fear.", {"text"}) is None
    True
    >>> pasted_table("Green tea.\\tA bowl.\\nRain.\\tA boat.", {"text"}).columns
    ('1', '2')
    """
    text = text.strip("\r\n")
    head, _, body = text.partition("\n")
    delimiter = "," if "," in head and "\t" not in head else "\t"
    found, whole = _fields(text, delimiter)
    if not found or (whole and len(found) == 1):
        return None
    first, numbers = found[0], [str(number) for number in range(1, len(found[0]) + 1)]
    regular = whole and len({*map(len, found)}) == 1
    named = any(name.strip().lower() in known for name in first) and all(map(NAME.fullmatch, first))
    if named and (regular or (len(first) > 1 and (not whole or len(first) in map(len, found[1:])))):
        if "" in (names := [name.strip() for name in first]):
            head = delimiter.join(name or number for name, number in zip(names, numbers, strict=True))
        return _table(PASTED, f"{head}\n{body}", delimiter)
    if delimiter == "\t" and regular and len(first) > 1:
        return _table(PASTED, text, delimiter, numbers)
    return None


def _fields(text: str, delimiter: str) -> tuple[list[list[str]], bool]:
    """The lines of a table as far as they can be read, and whether that is all of them."""
    found: list[list[str]] = []
    try:
        for fields in filter(None, table_reader(io.StringIO(text, newline=""), delimiter, delimiter == ",")):
            found.append(fields)
    except csv.Error:
        return found, False
    return found, True


def table_reader(lines: Iterable[str], delimiter: str, quoted: bool = True):
    """A `csv.reader` of lines that keep their ends; it raises csv.Error where a quoted table is damaged."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    csv.field_size_limit(1 << 30)
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=quoted)


def quotes(text: str, whole: bool = True) -> bool:
    """Whether quotation marks of a table with tabs are around fields, as Excel and pandas put them, and not words of
    the text, as in GLUE: then a field that begins with one ends with one, every time.

    Args:
        text: the table, or its beginning if not `whole`.

    >>> quotes('a\\tb\\n1\\t"He said ""tea""."\\n'), quotes('a\\tb\\n1\\t"Tea," he said.\\n')
    (True, False)
    >>> quotes('a\\tb\\n1\\t"Two\\nlines."\\n'), quotes('a\\tb\\n1\\t"Two\\n2\\tmarks."\\n')
    (True, False)
    """
    if not re.search(r'(^|\t)"', text, re.MULTILINE):
        return False
    lines, rows = list(io.StringIO(text, newline="")), 0
    if not whole:
        lines.pop()  # which breaks off
    try:
        for _ in filter(None, table_reader(lines, "\t")):
            rows += 1
    except csv.Error as error:
        if whole or "end of data" not in str(error):  # where a beginning ends, a field may have to go on
            return False
    # where fields would have line breaks in them, lines by themselves must not make a table
    tabs = [line.count("\t") for line in lines if line.strip()]
    return rows == len(tabs) or len(set(tabs)) > 1


def _table(name: str, text: str, delimiter: str, columns: Sequence[str] = ()) -> Rows:
    """columns: their names, where the first line does not tell them."""
    quoted = delimiter == "," or quotes(text[:SAMPLE], len(text) <= SAMPLE)
    reader = table_reader(io.StringIO(text, newline=""), delimiter, quoted)
    rows: list[dict] = []
    try:
        for fields in reader:
            if not fields:
                continue
            if not columns:
                columns = [column.strip() for column in fields]
                if mark := parted(columns):
                    raise DataError(f"{name} is parted by {mark!r}, not by commas: save it with commas between")
                if len(set(columns)) < len(columns) or "" in columns:
                    raise DataError(f"{name}: its first line must name every column once, but has {listed(columns)}")
                continue
            if len(fields) != len(columns):
                raise DataError(
                    f"{name}: line {reader.line_num} has {len(fields)} fields, but there are {len(columns)} columns"
                )
            rows.append(dict(zip(columns, fields, strict=True)))
    except csv.Error as error:
        raise DataError(f"{name} is damaged at line {reader.line_num}: {error}") from None
    return Rows(name, tuple(columns), rows)


def _json(path: Path) -> Rows:
    text = read_text(path)
    return objects(path, parse_json(text, path) if text.lstrip().startswith("[") else parse_json_lines(text, path))


def objects(path: Path, rows: list) -> Rows:
    """Rows out of JSON's values.

    Raises:
        DataError: one of them is no object with columns.
    """
    if other := next((number for number, row in enumerate(rows, 1) if not isinstance(row, dict)), None):
        raise DataError(f"{path}: row {other} is no object with columns")
    columns: Iterable[str] = dict.fromkeys(column for row in rows for column in row)
    return Rows(str(path), tuple(columns), rows)

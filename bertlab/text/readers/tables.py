"""Tables as text: CSV, and tab-separated files with or without quotation marks around fields."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.text.readers.data_file import MAX_ROW_BYTES, SAMPLE_BYTES, DataFile
from bertlab.text.readers.encoding import is_unicode
from bertlab.text.readers.json_values import cut_at_lines, decoding_message, sections_between
from bertlab.text.readers.registry import FileFormat, Record, Section, shorten_names


class CommaSeparated(FileFormat):
    """CSV: commas between fields, quotation marks around those that have commas, quotes or line breaks."""

    suffixes = (".csv",)
    delimiter = ","

    def is_quoted(self, file: DataFile) -> bool:
        """Whether quotation marks stand around fields, not in their text."""
        return True

    def columns(self, file: DataFile) -> tuple[str, ...]:
        header = _rows(file, self.delimiter, self.is_quoted(file), Section())
        for _, fields, error in header:
            if error is not None:
                raise DataError("table-header-unreadable", path=file.name, reason=error)
            names = tuple(name.strip() for name in fields)
            if len(names) == 1 and (mark := next((mark for mark in ";\t" if mark in names[0]), "")):
                raise DataError("table-delimiter-not-comma", path=file.name, delimiter=repr(mark))
            if not all(map(is_unicode, names)):
                raise DataError("table-header-not-decodable", path=file.name)
            return number_blank(names)
        raise DataError("file-empty", path=file.name)

    def sections(self, file: DataFile, size: int) -> list[Section]:
        if not file.is_seekable:
            return super().sections(file, size)
        return _cut_between_quotes(file, size) if self.is_quoted(file) else cut_at_lines(file, size)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        names = self.columns(file)
        check_repeated(file.name, names, columns)
        rows = _rows(file, self.delimiter, self.is_quoted(file), section)
        if section.first == 0:
            next(rows)  # the names of the columns
        yield from table_records(rows, names, columns, file.encoding)


class TabSeparated(CommaSeparated):
    """TSV: tabs between fields; as GLUE has it, quotation marks belong to the text, or as Excel and pandas write it."""

    suffixes = (".tsv",)
    delimiter = "\t"

    def is_quoted(self, file: DataFile) -> bool:
        if file.is_utf_16:
            sample = file.sample.decode("utf-16", "replace")
        else:
            sample = file.sample.decode(file.encoding, "replace")
        return has_quoted_fields(sample, len(file.sample) < SAMPLE_BYTES)


def table_reader(lines: Iterable[str], delimiter: str, quoted: bool = True):
    """A `csv.reader` of lines with their ends; it raises csv.Error where a quoted table is damaged."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    csv.field_size_limit(MAX_ROW_BYTES)
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=quoted)


def has_quoted_fields(text: str, is_whole: bool = True) -> bool:
    """Whether quotation marks stand around fields of a tab-separated table, and are not part of its text.

    As Excel and pandas write it, every field that begins with a quotation mark also ends with one; in GLUE's files
    they are part of the text.

    Args:
        text: the table, or its beginning if not `is_whole`.

    >>> has_quoted_fields('a\\tb\\n1\\t"He said ""tea""."\\n'), has_quoted_fields('a\\tb\\n1\\t"Tea," he said.\\n')
    (True, False)
    >>> has_quoted_fields('a\\tb\\n1\\t"Two\\nlines."\\n'), has_quoted_fields('a\\tb\\n1\\t"Two\\n2\\tmarks."\\n')
    (True, False)
    """
    if not re.search(r'(^|\t)"', text, re.MULTILINE):
        return False
    lines, rows = list(io.StringIO(text, newline="")), 0
    if not is_whole:
        lines.pop()  # it is cut off
    try:
        for _ in filter(None, table_reader(lines, "\t")):
            rows += 1
    except csv.Error as error:
        if is_whole or "end of data" not in str(error):  # the sample may end within a quoted field
            return False
    # if fields had line breaks in them, the lines by themselves would not make a table
    tabs = [line.count("\t") for line in lines if line.strip()]
    return rows == len(tabs) or len(set(tabs)) > 1


def number_blank(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, a blank one replaced by the column's number.

    >>> number_blank(("", "text"))
    ('1', 'text')
    """
    return tuple(name or str(number) for number, name in enumerate(names, 1))


def check_repeated(source: object, names: Sequence[str], wanted: Sequence[str] | None) -> None:
    """Raise DataError where several columns that are needed have the same name.

    Args:
        wanted: the columns that are needed; None for all.
    """
    repeated = sorted({name for name in names if names.count(name) > 1})
    if wanted is not None:
        repeated = [name for name in repeated if name in wanted]
    if repeated:
        raise DataError("table-columns-repeated", source=source, columns=shorten_names(repeated))


def table_records(
    rows: Iterable[tuple[int, list[str], Message | None]],
    names: Sequence[str],
    wanted: Sequence[str] | None,
    encoding: str,
) -> Iterator[Record]:
    """Rows of a table as records.

    Args:
        rows: line number, fields, and the reason for a row that cannot be split into fields.
        names: of all columns.
        wanted: the columns that must be decodable; None for all.
        encoding: of fields with bytes that could not be decoded, which are surrogates there.
    """
    checked = [place for place, name in enumerate(names) if wanted is None or name in wanted]
    for number, fields, reason in rows:
        if reason is None and len(fields) != len(names):
            reason = Message("row-field-count", fields=len(fields), columns=len(names))
        if reason is None:
            reason = next((why for place in checked if (why := _undecodable(fields[place], encoding))), None)
        yield Record(number, None if reason else dict(zip(names, fields, strict=True)), reason)


def _undecodable(field: str, encoding: str) -> Message | None:
    if is_unicode(field):
        return None
    try:
        field.encode(encoding.removesuffix("-sig"), "surrogateescape").decode(encoding)
    except UnicodeDecodeError as error:
        return decoding_message(error, encoding)
    return None


def _rows(
    file: DataFile, delimiter: str, quoted: bool, section: Section
) -> Iterator[tuple[int, list[str], Message | None]]:
    """Line number, fields, and the reason for a row that cannot be split; bytes that are no text become surrogates."""
    lines = file.lines(section.first, section.last)
    encoding = file.encoding if section.first == 0 else file.encoding.removesuffix("-sig")
    yield from split_rows(_decode(lines, encoding), delimiter, quoted)


def _decode(lines: Iterable[bytes], encoding: str) -> Iterator[str]:
    for line in lines:
        text = line.decode(encoding, "surrogateescape")
        if "\r" in text.removesuffix("\r\n"):  # line breaks as old Macs wrote them
            yield from io.StringIO(text, newline="")
        else:
            yield text
        encoding = encoding.removesuffix("-sig")  # only the first line of a file has a byte order mark


def split_rows(lines: Iterable[str], delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str], Message | None]]:
    """Rows of a table: the line where each begins, its fields, and the reason where it cannot be split into fields."""
    reader = table_reader(lines, delimiter, quoted)
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if lost := reader.line_num - number:
                yield number, [], Message("row-table-damaged-lines", reason=str(error), lines=lost)
            else:
                yield number, [], Message("row-table-damaged", reason=str(error))
            continue
        if fields:
            yield number, fields, None


def _cut_between_quotes(file: DataFile, size: int) -> list[Section]:
    """Sections that end with a row: at the end of a line with an even number of quotation marks before it."""
    starts = [0]
    with file.open() as stream:
        while starts[-1] + size < file.size:
            stream.seek(starts[-1])
            marks = stream.read(size - 1).count(b'"')
            while line := stream.readline():
                marks += line.count(b'"')
                if marks % 2 == 0:
                    break
            starts.append(stream.tell())
    return sections_between(starts, file.size)

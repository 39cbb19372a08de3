"""Read CSV files, and tab-separated files with or without quotation marks around fields."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.text.readers.data_file import MAX_ROW_BYTES, SAMPLE_BYTES, DataFile
from bertlab.text.readers.encoding import decoding_message, is_unicode
from bertlab.text.readers.registry import FileFormat, Record, Section, cut_file, find_line_end, register, shorten_names

# the number of a row's first line, its fields, and the reason if the row cannot be split into fields
TableRow = tuple[int, list[str], Message | None]


@register
class CommaSeparated(FileFormat):
    """CSV: commas between fields, and quotation marks around fields that contain commas, quotes or line breaks."""

    suffixes = (".csv",)
    delimiter = ","

    def is_quoted(self, file: DataFile) -> bool:
        """Whether quotation marks enclose fields instead of being part of their text."""
        return True

    def columns(self, file: DataFile) -> tuple[str, ...]:
        _, fields, reason = next(self._read_rows(file, Section()), (1, [], None))
        if reason is not None:
            raise DataError("table-header-unreadable", path=file.name, reason=reason)
        if not fields:
            raise DataError("file-empty", path=file.name)
        names = tuple(name.strip() for name in fields)
        other_delimiters = [character for character in ";\t" if character in names[0]]
        if len(names) == 1 and other_delimiters:
            id = "table-delimiter-not-comma" if self.delimiter == "," else "table-delimiter-not-tab"
            raise DataError(id, path=file.name, delimiter=repr(other_delimiters[0]))
        if not all(map(is_unicode, names)):
            raise DataError("table-header-not-decodable", path=file.name)
        return name_blank_columns(names)

    def sections(self, file: DataFile, size: int) -> list[Section]:
        return cut_file(file, size, _find_row_end if self.is_quoted(file) else find_line_end)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        names = self.columns(file)
        check_repeated_columns(file.name, names, columns)
        rows = self._read_rows(file, section)
        if section.start == 0:
            next(rows)  # the names of the columns
        yield from make_records(rows, names, columns, file.encoding)

    def _read_rows(self, file: DataFile, section: Section) -> Iterator[TableRow]:
        lines = _decode(file.lines(section.start, section.end), file.encoding)
        return split_rows(lines, self.delimiter, self.is_quoted(file))


@register
class TabSeparated(CommaSeparated):
    """TSV: tabs between fields. Quotation marks enclose fields (Excel, pandas) or belong to the text (GLUE)."""

    suffixes = (".tsv",)
    delimiter = "\t"

    def is_quoted(self, file: DataFile) -> bool:
        sample = file.sample.decode("utf-16" if file.is_utf_16 else file.encoding, "replace")
        return has_quoted_fields(sample, len(file.sample) < SAMPLE_BYTES)


def make_table_reader(lines: Iterable[str], delimiter: str, quoted: bool = True):
    """Make a `csv.reader` for lines that end in line breaks; it raises csv.Error if a quoted table is damaged."""
    csv.field_size_limit(MAX_ROW_BYTES)
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=quoted)


def has_quoted_fields(text: str, is_whole: bool = True) -> bool:
    """Whether quotation marks enclose fields of a tab-separated table instead of being part of its text.

    In tables written by Excel and pandas, every field that begins with a quotation mark also ends with one. In GLUE's
    files, quotation marks are part of the text. `is_whole` is False if `text` is only the beginning of the table.

    >>> has_quoted_fields('a\\tb\\n1\\t"He said ""tea""."\\n'), has_quoted_fields('a\\tb\\n1\\t"Tea," he said.\\n')
    (True, False)
    >>> has_quoted_fields('a\\tb\\n1\\t"Two\\nlines."\\n'), has_quoted_fields('a\\tb\\n1\\t"Two\\n2\\tmarks."\\n')
    (True, False)
    """
    if not re.search(r'(^|\t)"', text, re.MULTILINE):
        return False
    lines, num_rows = list(io.StringIO(text, newline="")), 0
    if not is_whole:
        lines.pop()  # the last line is cut off
    try:
        for _ in filter(None, make_table_reader(lines, "\t")):
            num_rows += 1
    except csv.Error as error:
        if is_whole or "end of data" not in str(error):  # the sample may end within a quoted field
            return False
    # If there are fewer rows than lines, either quoted fields contain line breaks, or the quotation marks belong to the
    # text. In the first case, a row is spread over several lines, so not all lines have the same number of tabs.
    tab_counts = [line.count("\t") for line in lines if line.strip()]
    return num_rows == len(tab_counts) or len(set(tab_counts)) > 1


def name_blank_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Replace blank column names with the number of the column."""
    return tuple(name or str(number) for number, name in enumerate(names, 1))


def check_repeated_columns(source: object, names: Sequence[str], needed: Sequence[str] | None) -> None:
    """Raise DataError if several of the needed columns (None: all) have the same name."""
    repeated = {name for name in names if names.count(name) > 1 and (needed is None or name in needed)}
    if repeated:
        raise DataError("table-columns-repeated", source=source, columns=shorten_names(sorted(repeated)))


def make_records(
    rows: Iterable[TableRow], names: Sequence[str], needed: Sequence[str] | None, encoding: str
) -> Iterator[Record]:
    """Make records from the rows of a table whose undecodable bytes are surrogates.

    Args:
        needed: the columns that must be decodable; None for all.
    """
    needed_indices = [index for index, name in enumerate(names) if needed is None or name in needed]
    for number, fields, reason in rows:
        if reason is None and len(fields) != len(names):
            reason = Message("row-field-count", fields=len(fields), columns=len(names))
        if reason is None:
            undecodable = next((fields[i] for i in needed_indices if not is_unicode(fields[i])), None)
            reason = undecodable and _describe_undecodable(undecodable, encoding)
        yield Record(number, None if reason else dict(zip(names, fields, strict=True)), reason)


def _describe_undecodable(field: str, encoding: str) -> Message | None:
    try:
        field.encode(encoding.removesuffix("-sig"), "surrogateescape").decode(encoding)
    except UnicodeDecodeError as error:
        return decoding_message(error, encoding)
    return None


def _decode(lines: Iterable[bytes], encoding: str) -> Iterator[str]:
    """Decode lines; bytes that cannot be decoded become surrogates."""
    for line in lines:
        text = line.decode(encoding, "surrogateescape")
        if "\r" in text.removesuffix("\r\n"):  # a carriage return alone is the line break of old Macs
            yield from io.StringIO(text, newline="")
        else:
            yield text
        encoding = encoding.removesuffix("-sig")  # only the first line of a file has a byte order mark


def split_rows(lines: Iterable[str], delimiter: str, quoted: bool) -> Iterator[TableRow]:
    """Split the lines of a table into rows; blank lines are left out."""
    reader = make_table_reader(lines, delimiter, quoted)
    while True:
        number = reader.line_num + 1
        try:
            if fields := next(reader):
                yield number, fields, None
        except StopIteration:
            return
        except csv.Error as error:
            if lost_lines := reader.line_num - number:
                yield number, [], Message("row-table-damaged-lines", reason=str(error), lines=lost_lines)
            else:
                yield number, [], Message("row-table-damaged", reason=str(error))


def _find_row_end(stream: BinaryIO, start: int, size: int) -> int:
    """Return where a section ends (see `cut_file`): at a line end with an even number of quotation marks before it.

    Other line ends are inside quoted fields.
    """
    stream.seek(start)
    num_marks = stream.read(size - 1).count(b'"')
    while line := stream.readline():
        num_marks += line.count(b'"')
        if num_marks % 2 == 0:
            break
    return stream.tell()

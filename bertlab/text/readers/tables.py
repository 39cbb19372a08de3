"""Read CSV files, and tab-separated files with or without quotation marks around fields."""

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
    """CSV: commas between fields, and quotation marks around fields that contain commas, quotes or line breaks."""

    suffixes = (".csv",)
    delimiter = ","

    def is_quoted(self, file: DataFile) -> bool:
        """Whether quotation marks enclose fields instead of being part of their text."""
        return True

    def columns(self, file: DataFile) -> tuple[str, ...]:
        rows = _read_rows(file, self.delimiter, self.is_quoted(file), Section())
        for _, fields, reason in rows:  # ends with the first row, which has the names of the columns
            if reason is not None:
                raise DataError("table-header-unreadable", path=file.name, reason=reason)
            names = tuple(name.strip() for name in fields)
            other_delimiters = [character for character in ";\t" if character in names[0]]
            if len(names) == 1 and other_delimiters:
                id = "table-delimiter-not-comma" if self.delimiter == "," else "table-delimiter-not-tab"
                raise DataError(id, path=file.name, delimiter=repr(other_delimiters[0]))
            if not all(map(is_unicode, names)):
                raise DataError("table-header-not-decodable", path=file.name)
            return name_blank_columns(names)
        raise DataError("file-empty", path=file.name)

    def sections(self, file: DataFile, size: int) -> list[Section]:
        if not file.is_seekable:
            return super().sections(file, size)
        return _cut_outside_quotes(file, size) if self.is_quoted(file) else cut_at_lines(file, size)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        names = self.columns(file)
        check_repeated_columns(file.name, names, columns)
        rows = _read_rows(file, self.delimiter, self.is_quoted(file), section)
        if section.start == 0:
            next(rows)  # the names of the columns
        yield from make_records(rows, names, columns, file.encoding)


class TabSeparated(CommaSeparated):
    """TSV: tabs between fields. Quotation marks enclose fields (Excel, pandas) or belong to the text (GLUE)."""

    suffixes = (".tsv",)
    delimiter = "\t"

    def is_quoted(self, file: DataFile) -> bool:
        if file.is_utf_16:
            sample = file.sample.decode("utf-16", "replace")
        else:
            sample = file.sample.decode(file.encoding, "replace")
        return has_quoted_fields(sample, len(file.sample) < SAMPLE_BYTES)


def make_table_reader(lines: Iterable[str], delimiter: str, quoted: bool = True):
    """Make a `csv.reader` for lines that end in line breaks; it raises csv.Error if a quoted table is damaged."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    csv.field_size_limit(MAX_ROW_BYTES)
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=quoted)


def has_quoted_fields(text: str, is_whole: bool = True) -> bool:
    """Whether quotation marks enclose fields of a tab-separated table instead of being part of its text.

    In tables written by Excel and pandas, every field that begins with a quotation mark also ends with one. In GLUE's
    files, quotation marks are part of the text.

    Args:
        text: the table, or only its beginning.
        is_whole: whether `text` is the whole table.

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
    """Replace blank column names with the number of the column.

    >>> name_blank_columns(("", "text"))
    ('1', 'text')
    """
    return tuple(name or str(number) for number, name in enumerate(names, 1))


def check_repeated_columns(source: object, names: Sequence[str], needed: Sequence[str] | None) -> None:
    """Raise DataError if several needed columns have the same name.

    Args:
        needed: the columns that are needed; None for all.
    """
    repeated = sorted({name for name in names if names.count(name) > 1})
    if needed is not None:
        repeated = [name for name in repeated if name in needed]
    if repeated:
        raise DataError("table-columns-repeated", source=source, columns=shorten_names(repeated))


def make_records(
    rows: Iterable[tuple[int, list[str], Message | None]],
    names: Sequence[str],
    needed: Sequence[str] | None,
    encoding: str,
) -> Iterator[Record]:
    """Make records from the rows of a table.

    Args:
        rows: (line number, fields, reason) of each row; the reason is not None if the row cannot be split into fields.
        names: the names of all columns.
        needed: the columns that must be decodable; None for all.
        encoding: the encoding of the table. Bytes that could not be decoded are surrogates in the fields.
    """
    needed_indices = [index for index, name in enumerate(names) if needed is None or name in needed]
    for number, fields, reason in rows:
        if reason is None and len(fields) != len(names):
            reason = Message("row-field-count", fields=len(fields), columns=len(names))
        if reason is None:
            reason = next(
                (message for index in needed_indices if (message := _find_undecodable_byte(fields[index], encoding))),
                None,
            )
        yield Record(number, None if reason else dict(zip(names, fields, strict=True)), reason)


def _find_undecodable_byte(field: str, encoding: str) -> Message | None:
    """Describe the first undecodable byte of a field; None if there is no such byte."""
    if is_unicode(field):
        return None
    try:
        field.encode(encoding.removesuffix("-sig"), "surrogateescape").decode(encoding)
    except UnicodeDecodeError as error:
        return decoding_message(error, encoding)
    return None


def _read_rows(
    file: DataFile, delimiter: str, quoted: bool, section: Section
) -> Iterator[tuple[int, list[str], Message | None]]:
    """Read the rows of a section as `split_rows` does; bytes that cannot be decoded become surrogates."""
    lines = file.lines(section.start, section.end)
    encoding = file.encoding if section.start == 0 else file.encoding.removesuffix("-sig")
    yield from split_rows(_decode(lines, encoding), delimiter, quoted)


def _decode(lines: Iterable[bytes], encoding: str) -> Iterator[str]:
    """Decode lines; bytes that cannot be decoded become surrogates."""
    for line in lines:
        text = line.decode(encoding, "surrogateescape")
        if "\r" in text.removesuffix("\r\n"):  # a carriage return alone is the line break of old Macs
            yield from io.StringIO(text, newline="")
        else:
            yield text
        encoding = encoding.removesuffix("-sig")  # only the first line of a file has a byte order mark


def split_rows(lines: Iterable[str], delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str], Message | None]]:
    """Yield the number of each row's first line, its fields, and the reason if the row cannot be split into fields."""
    reader = make_table_reader(lines, delimiter, quoted)
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if lost_lines := reader.line_num - number:
                yield number, [], Message("row-table-damaged-lines", reason=str(error), lines=lost_lines)
            else:
                yield number, [], Message("row-table-damaged", reason=str(error))
            continue
        if fields:
            yield number, fields, None


def _cut_outside_quotes(file: DataFile, size: int) -> list[Section]:
    """Cut a file into sections of about `size` bytes; each ends at the end of a row.

    A row ends at a line end with an even number of quotation marks before it; other line ends are inside quoted fields.
    """
    starts = [0]
    with file.open() as stream:
        while starts[-1] + size < file.size:
            stream.seek(starts[-1])
            num_marks = stream.read(size - 1).count(b'"')
            while line := stream.readline():
                num_marks += line.count(b'"')
                if num_marks % 2 == 0:
                    break
            starts.append(stream.tell())
    return sections_between(starts, file.size)

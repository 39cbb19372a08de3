"""Recognise a table that a visitor has pasted into the app, and read it as CSV or TSV."""

import io
import re
from collections.abc import Container, Sequence

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.text.readers.encoding import UTF_8
from bertlab.text.readers.invalid_rows import make_row_error
from bertlab.text.readers.rows import Rows
from bertlab.text.readers.tables import (
    TableRow,
    check_repeated_columns,
    has_quoted_fields,
    make_records,
    name_blank_columns,
    split_rows,
)

PASTED_TABLE_NAME = Message("pasted-table")  # the name of a pasted table in messages
# Matches a column name or an empty text, but not a sentence.
COLUMN_NAME = re.compile(r"\s*([\w(][\w .()/-]*(?<!\.))?\s*")


def parse_pasted_table(text: str, known_columns: Container[str]) -> Rows | None:
    """Parse a pasted table; None if the text is not a table. An error names the damaged line.

    A table begins with a line of column names, at least one of which is in `known_columns`; a blank name is replaced
    with the column's number. Without such a line, lines with the same number of tabs make a table whose columns are
    named by number. Commas alone do not make a table, because sentences contain them.

    >>> parse_pasted_table("Good, I think.\\nBad, I fear.", {"text"}) is None
    True
    >>> parse_pasted_table("Green tea.\\tA bowl.\\nRain.\\tA boat.", {"text"}).columns
    ('1', '2')
    """
    text = text.strip("\r\n")
    first_line = text.partition("\n")[0]
    delimiter = "," if "," in first_line and "\t" not in first_line else "\t"
    rows = _split_text(text, delimiter, delimiter == ",")
    lengths = [len(fields) for _, fields, _ in rows]
    is_readable = all(reason is None for *_, reason in rows)
    if not rows or not lengths[0] or (is_readable and len(rows) == 1):
        return None
    first_row = rows[0][1]
    is_rectangular = is_readable and len(set(lengths)) == 1
    has_known_column = any(name.strip().lower() in known_columns for name in first_row)
    has_header = has_known_column and all(map(COLUMN_NAME.fullmatch, first_row))
    # After a header with several columns, a damaged table or one with rows of different lengths is parsed too, so that
    # an error names the line.
    may_be_damaged = len(first_row) > 1 and (not is_readable or len(first_row) in lengths[1:])
    if has_header and (is_rectangular or may_be_damaged):
        return _read_table(text, delimiter, name_blank_columns([name.strip() for name in first_row]), skip=1)
    if delimiter == "\t" and is_rectangular and len(first_row) > 1:
        return _read_table(text, delimiter, name_blank_columns([""] * len(first_row)), skip=0)
    return None


def _split_text(text: str, delimiter: str, quoted: bool) -> list[TableRow]:
    return list(split_rows(io.StringIO(text, newline=""), delimiter, quoted))


def _read_table(text: str, delimiter: str, columns: Sequence[str], skip: int) -> Rows:
    """Read all rows of a table except the first `skip`."""
    check_repeated_columns(PASTED_TABLE_NAME, columns, None)
    rows = _split_text(text, delimiter, delimiter == "," or has_quoted_fields(text))[skip:]
    values: list[dict] = []
    for record in make_records(rows, columns, None, UTF_8):
        if record.reason is not None:
            raise make_row_error(PASTED_TABLE_NAME, record.number, record.reason)
        values.append(record.values)
    if not values:
        raise DataError("pasted-table-empty")
    return Rows(PASTED_TABLE_NAME, tuple(columns), values)

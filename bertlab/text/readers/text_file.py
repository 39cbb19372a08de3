"""Read plain text or one column of a table, as texts (without line breaks) or as documents (which keep them)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.text.readers.data_file import DataFile, Limits
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.registry import format_of
from bertlab.text.readers.rows import Rows, format_cell, format_text, read_file
from bertlab.text.word_spans import has_visible_characters

# common names, in lower case, of the column with the text
TEXT_NAMES = (
    "text", "text1", "sentence", "sentence1", "document", "review", "question", "question1", "premise", "content",
    "comment", "글", "본문", "문장", "문장1", "리뷰", "감상", "댓글", "내용", "질문", "전제",
    "headline", "title", "제목",
)  # fmt: skip
# common names of the columns with the second text of a pair, with a whole document, and with a summary of the document
SECOND_TEXT_NAMES = ("pair", "sentence2", "hypothesis", "text2", "passage", "question2", "문장2", "가설", "지문")
DOCUMENT_NAMES = ("document", "article", "본문", *TEXT_NAMES)
REFERENCE_NAMES = ("summary", "highlights", "요약")
SAMPLE_ROWS = 100  # if no column has a common name: how many rows are read to find the column with the most words


@dataclass(frozen=True)
class TextFile:
    """The texts of a file."""

    texts: tuple[str, ...]  # the texts, without blank ones
    ids: tuple[str, ...]  # the value of the id column or, without one, the number of the row or line, from 1
    num_blank: int = 0  # the number of rows that were left out because they have no text
    references: tuple[str, ...] = ()
    """A reference summary of each document, "" where there is none; () without a column of references."""


def guess_column(columns: Sequence[str], names: Iterable[str]) -> str | None:
    """Return the column whose name, ignoring case, comes first in `names`; None if no column has one of them.

    >>> guess_column(["id", "Review"], TEXT_NAMES)
    'Review'
    """
    column_by_name = {column.lower(): column for column in reversed(columns)}
    return next((column_by_name[name] for name in names if name in column_by_name), None)


def choose_text_column(columns: Sequence[str], names: Iterable[str], rows: Iterable[Mapping]) -> str:
    """Return the column that `guess_column` finds or, without one, the column whose cells have the most words.

    >>> choose_text_column(["id", "bild"], TEXT_NAMES, [{"id": 7, "bild": "green tea"}])
    'bild'
    """
    if guess := guess_column(columns, names):
        return guess
    sample = list(islice(rows, SAMPLE_ROWS))

    def count_words(column: str) -> tuple[int, int]:
        cells = [format_text(row.get(column)) for row in sample]
        return sum(len(cell.split()) for cell in cells), sum(map(len, cells))

    return max(columns, key=count_words)  # the first column, if several have the same number


def read_texts(
    path: str | Path,
    column: str | None = None,
    id_column: str | None = None,
    limits: Limits | None = None,
    invalid_rows: InvalidRows | None = None,
) -> TextFile:
    """Read the texts of a file: the lines of plain text, or one column of a table.

    Line breaks within a text become spaces. A text of spaces and invisible characters is left out. Without a `column`,
    `choose_text_column` chooses it; without an `id_column`, it is the column `id`, if there is one.
    """
    rows = read_file(path, limits, invalid_rows=invalid_rows, by_line=True)
    return _collect_texts(rows, column, id_column, TEXT_NAMES, join_lines)


def read_documents(
    path: str | Path, column: str | None = None, id_column: str | None = None, reference_column: str | None = None
) -> TextFile:
    """Read the documents of a file: the whole of a plain-text file, or one column of a table.

    Documents keep their line breaks. A document without letters and digits is left out. The columns are those of
    `read_texts`; reference summaries are in `reference_column` or a column with a name of `REFERENCE_NAMES`.
    """
    rows = read_file(path)
    if not any((column, id_column, reference_column)) and not format_of(DataFile(Path(path))).has_columns:
        return make_document("\n\n".join(str(row["text"]) for row in rows.rows), rows.name)
    reference_column = reference_column or guess_column(rows.columns, REFERENCE_NAMES)
    return _collect_texts(rows, column, id_column, DOCUMENT_NAMES, _empty_if_no_words, reference_column)


def make_document(text: str, name: str | Message) -> TextFile:
    """Make a `TextFile` with one document, which must have letters or digits."""
    if not _empty_if_no_words(text):
        raise DataError("file-without-texts", path=name)
    return TextFile((text,), ("1",))


def _collect_texts(
    rows: Rows,
    column: str | None,
    id_column: str | None,
    names: Sequence[str],
    clean: Callable[[str], str],
    reference_column: str | None = None,
) -> TextFile:
    """Collect the texts of a column, with their ids and references; texts that `clean` makes empty are left out."""
    rows.require_columns([name for name in (column, id_column, reference_column) if name])
    candidates = [name for name in rows.columns if name not in (id_column, reference_column)] or rows.columns
    column = column or choose_text_column(candidates, names, rows.rows)
    id_column = id_column or ("id" if "id" in rows.columns and column != "id" else None)
    texts, ids, references = [], [], []
    for number, row in rows.enumerate_rows():
        if text := clean(format_text(row.get(column))):
            texts.append(text)
            ids.append(format_cell(row.get(id_column)) if id_column else str(number))
            references.append(format_text(row.get(reference_column)) if reference_column else "")
    if not texts:
        raise DataError("file-without-texts", path=rows.name)
    references = references if any(references) else []
    return TextFile(tuple(texts), tuple(ids), len(rows) - len(texts), tuple(references))


def join_lines(text: str) -> str:
    """Replace line breaks and other spaces by single spaces; return "" if the text has only invisible characters.

    >>> join_lines(" green\\n tea"), join_lines("\\u200b")
    ('green tea', '')
    """
    return " ".join(text.split()) if has_visible_characters(text) else ""


def _empty_if_no_words(text: str) -> str:
    return text if any(map(str.isalnum, text)) else ""

"""Read whole documents, and reference summaries of them if there are any, from a file or from standard input."""

from dataclasses import dataclass
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.explore.batch_predict import TEXT_NAMES, guess_column
from bertlab.text.readers.data_file import DataFile
from bertlab.text.readers.registry import format_of
from bertlab.text.readers.rows import read_file

REFERENCE_NAMES = ("summary", "highlights", "요약")
DOCUMENT_NAMES = ("document", "article", "본문", *TEXT_NAMES)


@dataclass(frozen=True)
class Documents:
    """The documents of a file."""

    texts: tuple[str, ...]
    """The documents that have letters or digits, with their line breaks."""
    ids: tuple[str, ...]
    """The id of each document: the value of the id column or, without one, the number of its row, from 1."""
    references: tuple[str, ...]
    """A reference summary of each document, "" where there is none; () without a column of references."""
    num_blank: int
    """The number of rows that were left out because their document has no letters or digits."""


def read_documents(
    path: str | Path, column: str | None = None, id_column: str | None = None, reference_column: str | None = None
) -> Documents:
    """Read the documents of a file: all of a plain text, or one column of a table.

    Args:
        path: the file, in any format of the registry of readers.
        column: the column of the documents; None guesses it by its name, else uses the first column.
        id_column: the column of the ids; None uses `id`, if there is such a column.
        reference_column: the column of reference summaries; None uses one of `REFERENCE_NAMES`, if there is one.

    Raises:
        DataError: the file cannot be read, lacks a column, or has no text.
    """
    rows = read_file(path)
    named = [name for name in (column, id_column, reference_column) if name]
    if not named and not format_of(DataFile(Path(path))).has_columns:
        return make_document("\n\n".join(str(row["text"]) for row in rows.rows), rows.name)
    rows.require_columns(named)
    reference_column = reference_column or guess_column(rows.columns, REFERENCE_NAMES)
    others = [name for name in rows.columns if name not in (id_column, reference_column)]
    column = column or guess_column(others, DOCUMENT_NAMES) or (others or rows.columns)[0]
    id_column = id_column or ("id" if "id" in rows.columns and column != "id" else None)
    texts, ids, references, blank = [], [], [], 0
    for number, row in rows.number_rows():
        text = _read_cell(row, column)
        if not _has_words(text):
            blank += 1
            continue
        texts.append(text)
        ids.append(_read_cell(row, id_column) if id_column else str(number))
        references.append(_read_cell(row, reference_column) if reference_column else "")
    if not texts:
        raise DataError("file-without-texts", path=rows.name)
    return Documents(tuple(texts), tuple(ids), tuple(references) if any(references) else (), blank)


def make_document(text: str, name: object) -> Documents:
    """Make the documents of a single text.

    Raises:
        DataError: the text has no letters or digits.
    """
    if not _has_words(text):
        raise DataError("file-without-texts", path=name)
    return Documents((text,), ("1",), (), 0)


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _read_cell(row: dict, column: str) -> str:
    cell = row.get(column)
    return "" if cell is None or cell != cell else str(cell)

"""Read the texts of a file, one for each row or line, with their ids, and write their vectors.

Shape legend: S texts, P vector.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertlab.config.errors import BertlabError, DataError
from bertlab.config.files import describe_system_error
from bertlab.explore.batch_predict import TEXT_NAMES, guess_column
from bertlab.text.readers.data_file import DataFile, Limits
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.registry import format_of
from bertlab.text.readers.rows import Rows, read_file

VECTOR_SUFFIXES = (".npy", ".parquet")


@dataclass(frozen=True)
class TextFile:
    """The texts of a file."""

    texts: tuple[str, ...]
    """The texts, without blank ones."""
    ids: tuple[str, ...]
    """The id of each text: the value of the id column or, without one, the number of its row or line, from 1."""
    num_blank: int
    """The number of blank rows or lines that were left out."""
    column: str
    """The name of the text column; "" for lines."""


def read_text_file(
    path: str | Path,
    column: str | None = None,
    id_column: str | None = None,
    limits: Limits | None = None,
    invalid_rows: InvalidRows | None = None,
) -> TextFile:
    """Read the texts of a file: the lines of plain text, or one column of a table.

    Args:
        path: the file, in any format of the registry of readers.
        column: the column of the texts; None guesses it by its name, else uses the first column.
        id_column: the column of the ids; None uses `id`, if there is such a column.
        limits: the maximum size and number of rows.
        invalid_rows: receives the errors of rows that cannot be read; without it, the first one raises.

    Raises:
        DataError: the file cannot be read, lacks a column, or has no text.
    """
    rows = read_file(path, limits, invalid_rows=invalid_rows)
    if not format_of(DataFile(Path(path))).has_columns and column is None and id_column is None:
        lines = [line for row in rows.rows for line in str(row["text"]).split("\n")]
        return _choose_texts(rows.name, lines, [str(number) for number in range(1, len(lines) + 1)], "")
    return read_text_rows(rows, column, id_column)


def read_text_rows(rows: Rows, column: str | None = None, id_column: str | None = None) -> TextFile:
    """Read the texts of a column; the arguments and errors are those of `read_text_file`."""
    rows.require_columns([name for name in (column, id_column) if name])
    column = column or guess_column(rows.columns, TEXT_NAMES) or rows.columns[0]
    id_column = id_column or ("id" if "id" in rows.columns and column != "id" else None)
    texts, ids = [], []
    for number, row in rows.number_rows():
        cell = row.get(column)
        texts.append("" if cell is None or cell != cell else str(cell))
        ids.append(str(row.get(id_column)) if id_column else str(number))
    return _choose_texts(rows.name, texts, ids, column)


def _choose_texts(name: object, texts: Sequence[str], ids: Sequence[str], column: str) -> TextFile:
    chosen = [(" ".join(text.split()), id) for text, id in zip(texts, ids, strict=True) if text.strip()]
    if not chosen:
        raise DataError("file-without-texts", path=name)
    return TextFile(tuple(text for text, _ in chosen), tuple(id for _, id in chosen), len(texts) - len(chosen), column)


def write_vectors(path: Path, file: TextFile, vectors_SP: np.ndarray) -> list[Path]:
    """Write vectors to a .npy file, with the ids and texts in a file NAME.ids.jsonl beside it, or to one .parquet file.

    Each file is written completely or not at all.

    Args:
        path: the file to write.
        file: the texts and their ids.
        vectors_SP: the vectors, float32.

    Returns:
        The written files.

    Raises:
        BertlabError: the suffix is neither .npy nor .parquet, or a file cannot be written.
    """
    if path.suffix not in VECTOR_SUFFIXES:
        raise BertlabError("vectors-suffix-unknown", path=path, suffixes=list(VECTOR_SUFFIXES))
    if path.suffix == ".parquet":
        return [_write(path, lambda target: _write_parquet(target, file, vectors_SP))]
    ids = path.with_suffix(".ids.jsonl")
    lines = [
        json.dumps({"id": id, "text": text}, ensure_ascii=False) for id, text in zip(file.ids, file.texts, strict=True)
    ]
    content = "".join(line + "\n" for line in lines).encode("utf-8", "replace")
    return [
        _write(ids, lambda target: target.write_bytes(content)),
        _write(path, lambda target: _save(target, vectors_SP)),
    ]


def _save(target: Path, vectors_SP: np.ndarray) -> None:
    with target.open("wb") as stream:  # given a path, numpy would append a suffix
        np.save(stream, vectors_SP)


def _write_parquet(target: Path, file: TextFile, vectors_SP: np.ndarray) -> None:
    import pyarrow
    import pyarrow.parquet

    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors_SP.ravel()), vectors_SP.shape[1])
    columns = {"id": pyarrow.array(file.ids), "text": pyarrow.array(file.texts), "vector": vectors}
    pyarrow.parquet.write_table(pyarrow.table(columns), target)


def _write(path: Path, fill) -> Path:
    """Let a function write a file beside `path`, then rename it to `path`."""
    temporary = path.with_name(f".{path.name}.building")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fill(temporary)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise BertlabError("file-not-writable", path=path, reason=describe_system_error(error)) from error
    return path

"""The results of a job on a whole file: stored as parts in Parquet, read as one table, exported as one file.

The name of a part says which rows it contains. A part is written completely or not at all.
"""

import csv
import json
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bertlab.abilities.files.batch import PREDICTION_COLUMNS
from bertlab.config.files import fill_atomically

INPUT_PREFIX, OUTPUT_PREFIX = "in:", "out:"  # prefixes of the column names in a part
STORED_NAME = b"field"  # key in the metadata of a column of the results; its value is the column's name in the parts


def count_results(directory: Path) -> int:
    """Count the rows whose results are stored."""
    return max((_find_range(part)[1] for part in _list_parts(directory)), default=0)


def count_unusable(directory: Path) -> int:
    """Count the rows whose stored result is an error instead of a prediction."""
    columns = (pq.read_table(part, columns=["error"])["error"] for part in _list_parts(directory))
    return sum(len(column) - column.null_count for column in columns)


def read_unusable(directory: Path, limit: int) -> list[tuple[int, str]]:
    """Return (row number, error) of the first rows that cannot be used, up to `limit` rows."""
    unusable: list[tuple[int, str]] = []
    for part in _list_parts(directory):
        table = pq.read_table(part, columns=["row", "error"])
        unusable += [(row["row"], row["error"]) for row in table.to_pylist() if row["error"] is not None]
        if len(unusable) >= limit:
            break
    return unusable[:limit]


def read_results(directory: Path, limit: int | None = None) -> pa.Table:
    """Read the results: for each row of the file its row number, its columns, the prediction and the error.

    If the file already has a column with the name of an added column, a number is appended to the added column's name.

    Args:
        directory: the directory of the job.
        limit: the maximum number of rows; None for all.
    """
    tables, num_rows = [], 0
    for part in _list_parts(directory):
        tables.append(pq.read_table(part))
        num_rows += len(tables[-1])
        if limit is not None and num_rows >= limit:
            break
    if not tables:
        return pa.table({})
    table = pa.concat_tables(tables, promote_options="permissive").slice(0, limit)
    names = _name_columns(table.column_names)
    fields = [table.schema.field(stored).with_name(name) for stored, name in names.items()]
    fields = [field.with_metadata({STORED_NAME: stored}) for field, stored in zip(fields, names, strict=True)]
    return pa.table([table[stored] for stored in names], schema=pa.schema(fields))


def list_added_columns(results: pa.Table) -> dict[str, str]:
    """List the columns of the results that are not from the input file.

    Returns:
        {name of the column in the results: "row", "error" or the name of a field of the prediction}.
    """
    stored_names = {field.name: field.metadata[STORED_NAME].decode() for field in results.schema}
    return {
        name: stored.removeprefix(OUTPUT_PREFIX)
        for name, stored in stored_names.items()
        if not stored.startswith(INPUT_PREFIX)
    }


def _name_columns(stored_names: Sequence[str]) -> dict[str, str]:
    """Name the columns of the results -> {name in the parts: name in the results}, in the order of the results.

    >>> _name_columns(["row", "error", "in:Predicted", "out:label"])
    {'row': 'row', 'in:Predicted': 'Predicted', 'out:label': 'predicted_2', 'error': 'error'}
    """
    inputs = [name for name in stored_names if name.startswith(INPUT_PREFIX)]
    outputs = [name for name in stored_names if name.startswith(OUTPUT_PREFIX)]
    names = {name: name.removeprefix(INPUT_PREFIX) for name in inputs}
    used_names = {name.lower() for name in names.values()}
    for name in ("row", *outputs, "error"):
        base = name.removeprefix(OUTPUT_PREFIX)
        base = PREDICTION_COLUMNS.get(base, base)
        numbered_names = (f"{base}_{number}" for number in count(2))
        names[name] = next(
            candidate for candidate in chain([base], numbered_names) if candidate.lower() not in used_names
        )
        used_names.add(names[name].lower())
    return {name: names[name] for name in ("row", *inputs, *outputs, "error")}


def export_results(directory: Path, suffix: str) -> Path:
    """Write the results so far to one file of the job's directory, and return its path.

    Args:
        directory: the directory of the job.
        suffix: ".csv" or ".parquet". In a CSV file, a vector is a JSON list.

    Raises:
        BertlabError: the file cannot be written.
    """
    path = directory / f"results-{count_results(directory)}{suffix}"
    if not path.exists():
        fill_atomically(path, lambda target: _export(read_results(directory), target, suffix), make_directory=False)
    return path


def _export(table: pa.Table, target: Path, suffix: str) -> None:
    """Write a table of results as CSV or Parquet; see `export_results`."""
    if suffix == ".parquet":
        pq.write_table(table, target)
        return
    with target.open("w", encoding="utf-8-sig", newline="") as stream:  # spreadsheets need the byte-order mark
        writer = csv.writer(stream)
        writer.writerow(table.column_names)
        for batch in table.to_batches(1_000):
            for row in batch.to_pylist():
                writer.writerow([json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()])


def write_part(directory: Path, first: int, rows: list[dict]) -> None:
    """Store the results of some rows; completely or not at all.

    Args:
        directory: the directory of the job.
        first: the number of results that are stored already.
        rows: {name of a column: value} of each row. "row" is the number of the row in the file, and "error" says why
            the row cannot be used, or is None. The names of the file's columns begin with `INPUT_PREFIX`, those of the
            prediction with `OUTPUT_PREFIX`.

    Raises:
        BertlabError: the file cannot be written.
    """
    columns = dict.fromkeys(name for row in rows for name in row)
    arrays = {}
    for name in columns:
        arrow_type = pa.list_(pa.float32()) if name == f"{OUTPUT_PREFIX}vector" else None
        arrow_type = pa.string() if name == "error" or name.startswith(INPUT_PREFIX) else arrow_type
        arrays[name] = pa.array([row.get(name) for row in rows], arrow_type)
    path = directory / f"part-{first:07d}-{first + len(rows):07d}.parquet"
    # the directory is not created, because it may have been removed while the rows were computed
    fill_atomically(path, lambda target: pq.write_table(pa.table(arrays), target), make_directory=False)


def _list_parts(directory: Path) -> list[Path]:
    """List the files of a job's parts, in the order of their rows."""
    return sorted(directory.glob("part-*.parquet"))


def _find_range(part: Path) -> tuple[int, int]:
    """Read the index of a part's first row, and the index after its last row, from the name of its file."""
    first, end = part.stem.split("-")[1:]
    return int(first), int(end)

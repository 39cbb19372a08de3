"""The results of a job on a whole file: parts in Parquet, read together, and exported as one CSV or Parquet file.

The name of a part says which rows it contains. A part exists completely or not at all.
"""

import csv
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bertlab.config.errors import BertlabError
from bertlab.config.files import describe_system_error

INPUT, OUTPUT = "in:", "out:"  # prefixes of the columns of a part
RENAMED = {"label": "predicted", "value": "predicted"}  # the file may have a column `label` of its own


def count_results(directory: Path) -> int:
    """Count the rows whose results are stored."""
    return max((_find_range(part)[1] for part in _list_parts(directory)), default=0)


def count_unusable(directory: Path) -> int:
    """Count the rows whose stored result is a reason instead of a prediction."""
    columns = (pq.read_table(part, columns=["error"])["error"] for part in _list_parts(directory))
    return sum(len(column) - column.null_count for column in columns)


def read_unusable(directory: Path, limit: int) -> list[tuple[int, str]]:
    """Return (row number, reason) of the first rows that cannot be used, up to `limit` rows."""
    found: list[tuple[int, str]] = []
    for part in _list_parts(directory):
        table = pq.read_table(part, columns=["row", "error"])
        found += [(row["row"], row["error"]) for row in table.to_pylist() if row["error"] is not None]
        if len(found) >= limit:
            break
    return found[:limit]


def read_results(directory: Path, limit: int | None = None) -> pa.Table:
    """Read the results: the number of each row in the file, its columns, the prediction and the error.

    A column of the prediction whose name the file has already gets a number.

    Args:
        directory: the directory of the job.
        limit: the maximum number of rows; None for all.
    """
    tables, count = [], 0
    for part in _list_parts(directory):
        tables.append(pq.read_table(part))
        count += len(tables[-1])
        if limit is not None and count >= limit:
            break
    if not tables:
        return pa.table({})
    table = pa.concat_tables(tables, promote_options="permissive").slice(0, limit)
    inputs = [name for name in table.column_names if name.startswith(INPUT)]
    outputs = [name for name in table.column_names if name.startswith(OUTPUT)]
    used = {name.removeprefix(INPUT).lower() for name in inputs}
    names = {name: name.removeprefix(INPUT) for name in inputs}
    for name in ("row", *outputs, "error"):
        base = name.removeprefix(OUTPUT)
        base = RENAMED.get(base, base)
        number, new = 2, base
        while new.lower() in used:
            number, new = number + 1, f"{base}_{number}"
        names[name] = new
        used.add(new.lower())
    order = ["row", *inputs, *outputs, "error"]
    return table.select(order).rename_columns([names[name] for name in order])


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
        _write(path, lambda target: _export(read_results(directory), target, suffix))
    return path


def _export(table: pa.Table, target: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pq.write_table(table, target)
        return
    with target.open("w", encoding="utf-8-sig", newline="") as stream:  # the mark tells spreadsheets the encoding
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
        rows: {name of a column: value} of each row. `row` is its number in the file, and `error` the reason if it
            cannot be used; names of columns of the file begin with `INPUT`, those of a prediction with `OUTPUT`.

    Raises:
        BertlabError: the file cannot be written.
    """
    columns = dict.fromkeys(name for row in rows for name in row)
    arrays = {}
    for name in columns:
        kind = pa.list_(pa.float32()) if name == f"{OUTPUT}vector" else None
        kind = pa.string() if name == "error" or name.startswith(INPUT) else kind
        arrays[name] = pa.array([row.get(name) for row in rows], kind)
    path = directory / f"part-{first:07d}-{first + len(rows):07d}.parquet"
    _write(path, lambda target: pq.write_table(pa.table(arrays), target))


def _list_parts(directory: Path) -> list[Path]:
    return sorted(directory.glob("part-*.parquet"))


def _find_range(part: Path) -> tuple[int, int]:
    first, end = part.stem.split("-")[1:]
    return int(first), int(end)


def _write(path: Path, fill: Callable[[Path], None]) -> None:
    """Let a function write a file beside `path`, then rename it to `path`."""
    temporary = path.with_name(f".{path.name}.building")
    try:
        fill(temporary)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise BertlabError("file-not-writable", path=path, reason=describe_system_error(error)) from error

"""Read Parquet files a few rows at a time; a value that cannot be read makes its row invalid."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from bertlab.config.errors import DataError, first_line
from bertlab.config.languages import Message
from bertlab.text.readers.data_file import DataFile
from bertlab.text.readers.encoding import decoding_message
from bertlab.text.readers.registry import FileFormat, Record, Section, register
from bertlab.text.readers.tables import check_repeated_columns

BATCH_ROWS, BATCH_BYTES = 64, 4 << 20  # the maximum number of rows read at once, and their approximate maximum size


@register
class Parquet(FileFormat):
    """Parquet files; a section is a row group."""

    suffixes = (".parquet",)

    def columns(self, file: DataFile) -> tuple[str, ...]:
        with _open_parquet(file) as parquet:
            return tuple(parquet.schema_arrow.names)

    def check_text_column(self, file: DataFile, column: str) -> None:
        super().check_text_column(file, column)
        with _open_parquet(file) as parquet:
            check_repeated_columns(file.name, parquet.schema_arrow.names, [column])
            column_type = parquet.schema_arrow.field(column).type
        value_type = column_type.value_type if pa.types.is_dictionary(column_type) else column_type
        if str(value_type) not in ("string", "large_string", "string_view"):
            raise DataError("corpus-column-not-text", path=file.name, column=column, type=str(column_type))

    def sections(self, file: DataFile, size: int) -> list[Section]:
        if file.compression is not None:
            return super().sections(file, size)
        sections, rows_before = [], 0
        with _open_parquet(file) as parquet:
            for i in range(parquet.num_row_groups):
                group = parquet.metadata.row_group(i)
                sections.append(Section(i, i + 1, group.total_byte_size, rows_before))
                rows_before += group.num_rows
        return sections

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        number = 1
        with _open_parquet(file) as parquet:
            check_repeated_columns(file.name, parquet.schema_arrow.names, columns)
            for group in range(section.start, parquet.num_row_groups if section.end is None else section.end):
                metadata = parquet.metadata.row_group(group)
                batch_rows = min(BATCH_ROWS, BATCH_BYTES * metadata.num_rows // max(1, metadata.total_byte_size))
                for batch in parquet.iter_batches(max(1, batch_rows), row_groups=[group], columns=columns):
                    for record in _read_records(batch, number):
                        file.check_lines(record.number)
                        yield record
                    number += len(batch)


def label_names(file: DataFile) -> dict[str, tuple[str, ...]]:
    """Return {column: label names}, for the columns whose label names `datasets` has stored in the file's metadata."""
    with _open_parquet(file) as parquet:
        metadata = parquet.schema_arrow.metadata or {}
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        names = {column: _class_names(feature) for column, feature in features.items()}
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):  # no such metadata, or not of this form
        return {}
    return {column: labels for column, labels in names.items() if labels}


def _class_names(feature: object) -> tuple[str, ...]:
    """Return the label names of a ClassLabel feature, or of one inside a list feature; () for other features."""
    if isinstance(feature, list):
        return _class_names(feature[0]) if feature else ()
    if not isinstance(feature, dict):
        return ()
    if feature.get("_type") != "ClassLabel":
        return _class_names(feature.get("feature"))
    names = feature["names"]
    return tuple(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else ()


@contextmanager
def _open_parquet(file: DataFile) -> Iterator:
    """Open a file with pyarrow; a file that is compressed as a whole is first unpacked into a temporary file."""
    import pyarrow.parquet  # imported here because most files have other formats

    with tempfile.TemporaryFile() if file.compression else file.open() as source:
        if file.compression:
            with file.open() as content:
                shutil.copyfileobj(content, source)
            source.seek(0)
        try:
            with pyarrow.parquet.ParquetFile(source) as parquet:
                yield parquet
        except (OSError, pa.ArrowException) as error:
            reason = " ".join(first_line(error).split())
            raise DataError("file-not-parquet", path=file.name, reason=reason) from None


def _read_records(batch, first_number: int) -> Iterator[Record]:
    """Yield the rows of a batch, numbered from `first_number`; if a value cannot be read, read the rows one by one."""
    try:
        yield from (Record(number, row) for number, row in enumerate(batch.to_pylist(), first_number))
    except (ValueError, OverflowError):  # bytes that are not UTF-8, dates beyond year 9999
        yield from (_read_record(batch.slice(i, 1), first_number + i) for i in range(len(batch)))


def _read_record(batch, number: int) -> Record:
    values = {}
    for column, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values[column] = array[0].as_py()
        except UnicodeDecodeError as error:
            return Record(number, None, decoding_message(error, "utf-8"))
        except (ValueError, OverflowError) as error:
            return Record(number, None, Message("row-value-unreadable", column=column, reason=first_line(error)))
    return Record(number, values)

"""The registry of the file formats that corpora, task rows, predictions and uploads can have.

To add a format, subclass `FileFormat` with its suffixes and `read`, and `register` an instance. Every command and every
upload field then accepts the format, plain or compressed (.gz, .xz, .zst).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.text.readers.data_file import COMPRESSED_SUFFIXES, DataFile
from bertlab.text.readers.encoding import make_printable

MAX_SHOWN = 40  # the maximum number of names in a message, and of characters of each name


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a file, or the reason why it is invalid."""

    number: int  # the line where the row begins, or the row's number if the format has no lines; from 1 in each section
    values: dict[str, object] | None  # the values by column; None for an invalid row
    reason: Message | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a file that can be read separately, so that several processes can share a large file."""

    start: int = 0  # where it begins, in bytes or another unit of the format (row groups of Parquet)
    end: int | None = None  # where it ends, in the same unit; None for the end of the file
    size: int = 0  # the approximate size in bytes; 0 if unknown
    rows_before: int | None = None  # rows or lines before it; None if the lines before byte `start` must be counted


class FileFormat(ABC):
    """A file format: how to read its rows.

    Example:
        class Recipes(FileFormat):
            suffixes = (".recipe",)

            def read(self, file, section, columns):
                for number, line in enumerate(file.lines(), 1):
                    title, _, text = line.decode().strip().partition(": ")
                    yield Record(number, {"title": title, "text": text})

        register(Recipes())
    """

    suffixes: tuple[str, ...] = ()
    """The suffixes of its file names, in lower case, with the dot and without a compression suffix."""
    has_columns: bool = True
    """Whether rows have named columns. Otherwise each row is one text, whatever column is requested."""
    requires_same_columns: bool = True
    """Whether all files of a split must have the same columns; False if any row may lack a column, as in JSON."""

    @abstractmethod
    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        """Read the rows of a section, in order, one at a time; invalid rows are records with a reason.

        Args:
            columns: the columns that are needed; None for all. Records may contain others too.
        """

    def columns(self, file: DataFile) -> tuple[str, ...] | None:
        """Return the columns of a file without reading its rows; None if only the rows contain them."""
        return None

    def check_text_column(self, file: DataFile, column: str) -> None:
        """Raise DataError if the header of the file shows that this column is missing or is not text."""
        names = self.columns(file) if self.has_columns else None
        if names is not None and column not in names:
            raise DataError("corpus-column-not-found", path=file.name, column=column, columns=shorten_names(names))

    def sections(self, file: DataFile, size: int) -> list[Section]:
        """Cut a file into sections of about `size` bytes, in order. By default the whole file is one section."""
        return [Section(size=file.size, rows_before=0)]


def cut_file(file: DataFile, size: int, find_cut: Callable[[BinaryIO, int, int], int]) -> list[Section]:
    """Cut a text file into sections of about `size` bytes; a file that is not seekable is one section.

    `find_cut` takes the open file, the byte where a section begins and `size`; it returns the byte where it ends.
    """
    if not file.is_seekable:
        return [Section(size=file.size, rows_before=0)]
    cuts = [0]
    with file.open() as stream:
        while cuts[-1] + size < file.size:
            cuts.append(find_cut(stream, cuts[-1], size))
    cuts += [file.size] if cuts[-1] < file.size else []
    return [Section(start, end, end - start) for start, end in pairwise(cuts)]


def find_line_end(stream: BinaryIO, start: int, size: int) -> int:
    """Return where the line ends that contains byte `start + size`; see `cut_file`."""
    stream.seek(start + size - 1)
    stream.readline()
    return stream.tell()


_FORMATS: dict[str, FileFormat] = {}  # suffix -> format


def register(format: type[FileFormat]) -> type[FileFormat]:
    """Add a file format, which replaces a format with the same suffixes; a decorator of its class.

    The class must be importable by name, because worker processes receive the format.
    """
    _FORMATS.update(dict.fromkeys(format.suffixes, format()))
    return format


def unregister(format: type[FileFormat]) -> None:
    """Remove a file format."""
    for suffix in format.suffixes:
        _FORMATS.pop(suffix, None)


def suffixes() -> list[str]:
    """Return the suffixes of all formats, without compression suffixes."""
    return list(_FORMATS)


def upload_suffixes() -> list[str]:
    """Return what may follow the last dot in the name of a readable file, as file upload fields need it."""
    return [suffix.removeprefix(".") for suffix in (*_FORMATS, *COMPRESSED_SUFFIXES)]


def find_suffix(path: str | Path) -> str | None:
    """Return the suffix of a file's format, followed by its compression suffix; None for an unknown format.

    >>> find_suffix("texts/A.JSONL.gz"), find_suffix("a.xlsx"), find_suffix("a.v2.gz")
    ('.jsonl.gz', None, None)
    """
    name = Path(path).name.lower()
    compression = next((suffix for suffix in COMPRESSED_SUFFIXES if name.endswith(suffix)), "")
    stem = name.removesuffix(compression)
    format_suffix = next((suffix for suffix in _FORMATS if stem.endswith(suffix) and stem != suffix), None)
    return None if format_suffix is None else format_suffix + compression


def format_of(file: DataFile, default: str | None = None) -> FileFormat:
    """Return the format of a file by its suffix, or by `default`; Parquet is also recognised by its first bytes."""
    if file.size and file.sample.startswith(b"PAR1"):
        return _FORMATS[".parquet"]
    suffix = find_suffix(file.path) or default
    if suffix is None:
        raise DataError("file-format-unknown", path=file.name, suffixes=suffixes())
    return _FORMATS["." + suffix.split(".")[1]]


def shorten_names(names: Sequence[str]) -> list[str]:
    """Shorten the names of columns or files for a message: printable, in one line, not too many and not too long.

    >>> shorten_names(("id", "a long name " * 9)), shorten_names(())
    (['id', 'a long name a long name a long name a lo…'], ['-'])
    """
    lines = [" ".join(make_printable(name).split()) for name in names]
    shortened = [line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…" for line in lines[:MAX_SHOWN]]
    return [*shortened, *([f"… ({len(names)})"] if len(names) > MAX_SHOWN else [])] or ["-"]

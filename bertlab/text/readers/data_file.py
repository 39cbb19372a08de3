"""Read a data file as a stream of bytes or lines: decompress it (gzip, xz, zstd), convert UTF-16, and enforce limits.

A file is never read as a whole, so memory does not grow with its size. A compressed file is rejected if its content is
many times larger than the file, because such files may be made to exhaust memory or disk.
"""

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from bertlab.config.errors import DataError, first_line
from bertlab.text.readers.encoding import UTF_8, encoding_of, is_unicode, make_printable

SAMPLE_BYTES = 1 << 20  # size of the beginning of a file from which its encoding and quoting are guessed
MAX_ROW_BYTES = 64 << 20  # maximum size of a line or of a value in a JSON array; a longer one is an invalid row
MAX_RATIO = 100  # maximum ratio of decompressed to compressed size; text seldom exceeds 10
MIN_CHECKED_BYTES = 16 << 20  # `MAX_RATIO` is checked only if the decompressed size is larger than this
BUFFER_BYTES = 1 << 18  # size of the blocks that are read at once

# the first bytes of a compressed file -> its compression
MAGIC = {b"\x1f\x8b": "gz", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zst"}
COMPRESSED_SUFFIXES = (".gz", ".xz", ".zst")  # the suffixes of compressed files


@dataclass(frozen=True)
class Limits:
    """The maximum size of the content of a file; reading more than that raises DataError."""

    bytes: int | None = None
    """Bytes after decompression; only compressed files are checked. None: no limit except `MAX_RATIO`."""
    lines: int | None = None
    """Lines, including empty ones, or rows if the format has no lines. None: no limit."""


NO_LIMITS = Limits()
UPLOAD_LIMITS = Limits(bytes=512 << 20, lines=1_000_000)
"""Limits for files that visitors of the app upload."""


@dataclass(frozen=True)
class DataFile:
    """A file of text or rows, possibly compressed."""

    path: Path
    """The path. Its suffix usually determines the format (see `registry.format_of`), but not the compression."""
    limits: Limits = NO_LIMITS
    """The maximum size of its content."""

    @cached_property
    def name(self) -> str:
        """The path as messages show it."""
        return make_printable(self.path)

    @cached_property
    def size(self) -> int:
        """Bytes on disk.

        Raises:
            DataError: the file cannot be read, or its name is not UTF-8.
        """
        self._check_name()
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise DataError("file-unreadable", path=self.name, reason=error.strerror) from None

    @cached_property
    def compression(self) -> str | None:
        """The compression, "gz", "xz" or "zst", according to the first bytes of the file; None if not compressed."""
        with self._open_raw() as file:
            start = file.read(8)
        return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)

    @cached_property
    def sample(self) -> bytes:
        """The first `SAMPLE_BYTES` after decompression, in the encoding of the file."""
        with self._open_decompressed() as file:
            return file.read(SAMPLE_BYTES)

    @cached_property
    def is_utf_16(self) -> bool:
        """Whether the content is UTF-16."""
        return encoding_of(self.sample[:4096]) == "utf-16"

    @cached_property
    def encoding(self) -> str:
        """The encoding of the bytes that `open` reads: "utf-8-sig" or "cp949"."""
        return UTF_8 if self.is_utf_16 else encoding_of(self.sample)

    @property
    def is_seekable(self) -> bool:
        """Whether reading can start at any byte: the file is neither compressed nor UTF-16."""
        return self.compression is None and not self.is_utf_16

    def open(self) -> BinaryIO:
        """Open the content as bytes: decompressed, and with UTF-16 converted to UTF-8. The stream supports seek() only
        if `is_seekable`.

        Raises:
            DataError: the data is damaged, or a compressed file is too large; raised while reading.
        """
        if not self.is_utf_16:
            return self._open_decompressed()
        return io.BufferedReader(_Utf8Stream(self._open_decompressed(), self.name), BUFFER_BYTES)

    def lines(self, start_byte: int = 0, end_byte: int | None = None) -> Iterator[bytes]:
        """Yield the lines with their line ends; one longer than `MAX_ROW_BYTES` is cut after `MAX_ROW_BYTES` + 1 bytes.

        Args:
            start_byte: the byte at which to begin (seekable files only).
            end_byte: the byte at which to end; a line that begins before it is still yielded as a whole.

        Raises:
            DataError: the data is damaged, or exceeds a limit.
        """
        num_lines, position = 0, start_byte
        with self.open() as file:
            if start_byte:
                file.seek(start_byte)
            while (end_byte is None or position < end_byte) and (line := file.readline(MAX_ROW_BYTES + 1)):
                position += len(line)
                num_lines += 1
                if self.limits.lines is not None and num_lines > self.limits.lines:
                    raise DataError("file-too-many-lines", path=self.name, lines=self.limits.lines)
                rest = line  # the part of the line that was read last
                while len(rest) > MAX_ROW_BYTES and not rest.endswith(b"\n"):
                    rest = file.readline(MAX_ROW_BYTES + 1)
                    position += len(rest)
                yield line

    def count_lines(self, end: int) -> int:
        """Count the lines in the first `end` bytes of a seekable file."""
        with self.open() as file:
            sizes = (min(BUFFER_BYTES, end - offset) for offset in range(0, end, BUFFER_BYTES))
            return sum(file.read(size).count(b"\n") for size in sizes)

    def _check_name(self) -> None:
        """Raise DataError if the path cannot be written as UTF-8."""
        if not is_unicode(str(self.path)):
            raise DataError("file-name-not-utf-8", path=self.name)

    def _open_raw(self) -> BinaryIO:
        """Open the bytes on disk, which may be compressed."""
        self._check_name()
        try:
            return self.path.open("rb")
        except OSError as error:
            raise DataError("file-unreadable", path=self.name, reason=error.strerror) from None

    def _open_decompressed(self) -> BinaryIO:
        """Open the content after decompression, in the encoding of the file."""
        if self.compression is None:
            return self._open_raw()
        return io.BufferedReader(_DecompressedStream(self), BUFFER_BYTES)


class _DecompressedStream(io.RawIOBase):
    """The content of a compressed file. Reading beyond its limits raises DataError."""

    def __init__(self, file: DataFile):
        self.file = file
        openers = {"gz": gzip.open, "xz": lzma.open, "zst": lambda path: pa.input_stream(str(path), "zstd")}
        self.stream = openers[file.compression](file.path)
        ratio_limit = max(MIN_CHECKED_BYTES, MAX_RATIO * file.size)
        content_limit = file.limits.bytes
        # in bytes of the content: how many may still be read, and how many may be read in total
        self.remaining = self.limit = ratio_limit if content_limit is None else min(ratio_limit, content_limit)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        try:
            data = self.stream.read(len(buffer))
        except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException):
            raise DataError("compressed-file-damaged", path=self.file.name, compression=self.file.compression) from None
        self.remaining -= len(data)
        if self.remaining < 0:
            id = "compressed-file-too-large" if self.limit == self.file.limits.bytes else "compression-ratio-too-high"
            raise DataError(id, path=self.file.name, megabytes=self.limit >> 20)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()


class _Utf8Stream(io.RawIOBase):
    """The content of a UTF-16 file as UTF-8."""

    def __init__(self, stream: BinaryIO, name: str):
        self.text = io.TextIOWrapper(stream, "utf-16", newline="")
        self.name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        try:
            data = self.text.read(max(1, len(buffer) // 4)).encode()  # at most four bytes per character
        except UnicodeError as error:
            raise DataError("file-not-utf-16", path=self.name, reason=first_line(error)) from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.text.close()
        super().close()

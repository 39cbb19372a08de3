"""Read a data file as a stream of bytes or lines: decompress it (gzip, xz, zstd), convert UTF-16, and enforce limits.

A file is never read as a whole, so memory does not grow with its size. A compressed file is rejected if its content is
many times larger than the file, because such files may be made to exhaust memory or disk.
"""

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
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
OPENERS = {"gz": gzip.open, "xz": lzma.open, "zst": lambda path: pa.input_stream(str(path), "zstd")}
COMPRESSED_SUFFIXES = (".gz", ".xz", ".zst")


@dataclass(frozen=True)
class Limits:
    """The maximum size of the content of a file; reading more than that raises DataError. None: no limit."""

    bytes: int | None = None  # bytes after decompression; only compressed files are checked
    lines: int | None = None  # lines, including empty ones, or rows if the format has no lines


NO_LIMITS = Limits()
UPLOAD_LIMITS = Limits(bytes=512 << 20, lines=1_000_000)  # for files that visitors of the app upload


@dataclass(frozen=True)
class DataFile:
    """A file of text or rows, possibly compressed."""

    path: Path  # its suffix usually determines the format (see `registry.format_of`), but not the compression
    limits: Limits = NO_LIMITS

    @cached_property
    def name(self) -> str:
        return make_printable(self.path)

    @cached_property
    def size(self) -> int:
        """Bytes on disk."""
        with self._open_raw() as file:
            return os.fstat(file.fileno()).st_size

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

    def check_content(self) -> None:
        """Raise DataError if the file is empty or has only white space."""
        if not self.sample.strip() and len(self.sample) < SAMPLE_BYTES:
            raise DataError("file-empty", path=self.name)

    @cached_property
    def is_utf_16(self) -> bool:
        return encoding_of(self.sample[:4096]) == "utf-16"

    @cached_property
    def encoding(self) -> str:
        """The encoding of the bytes that `open` reads: "utf-8-sig" or "cp949"."""
        return UTF_8 if self.is_utf_16 else encoding_of(self.sample)

    @property
    def is_seekable(self) -> bool:
        """Whether reading can start at any byte."""
        return self.compression is None and not self.is_utf_16

    def open(self) -> BinaryIO:
        """Open the content as bytes: decompressed, and with UTF-16 converted to UTF-8.

        The stream supports seek() only if `is_seekable`; reading raises DataError if the data is damaged or too large.
        """
        if not self.is_utf_16:
            return self._open_decompressed()
        text = io.TextIOWrapper(self._open_decompressed(), "utf-16", newline="")

        def read(size: int) -> bytes:
            try:
                return text.read(max(1, size // 4)).encode()  # at most four bytes per character
            except UnicodeError as error:
                raise DataError("file-not-utf-16", path=self.name, reason=first_line(error)) from None

        return io.BufferedReader(_Stream(read, text.close), BUFFER_BYTES)

    def lines(self, start_byte: int = 0, end_byte: int | None = None) -> Iterator[bytes]:
        """Yield the lines with their line ends; one longer than `MAX_ROW_BYTES` is cut one byte later."""
        num_lines, position = 0, start_byte
        with self.open() as file:
            if start_byte:
                file.seek(start_byte)
            while (end_byte is None or position < end_byte) and (line := file.readline(MAX_ROW_BYTES + 1)):
                num_lines += 1
                self.check_lines(num_lines)
                position += len(line)
                rest = line  # the part of the line that was read last
                while len(rest) > MAX_ROW_BYTES and not rest.endswith(b"\n"):
                    rest = file.readline(MAX_ROW_BYTES + 1)
                    position += len(rest)
                yield line

    def check_lines(self, number: int) -> None:
        """Raise DataError if a file may not have a line or row with this number."""
        if self.limits.lines is not None and number > self.limits.lines:
            raise DataError("file-too-many-lines", path=self.name, lines=self.limits.lines)

    def count_lines(self, end: int) -> int:
        """Count the lines in the first `end` bytes of a seekable file."""
        with self.open() as file:
            sizes = (min(BUFFER_BYTES, end - offset) for offset in range(0, end, BUFFER_BYTES))
            return sum(file.read(size).count(b"\n") for size in sizes)

    def _open_raw(self) -> BinaryIO:
        if not is_unicode(str(self.path)):
            raise DataError("file-name-not-utf-8", path=self.name)
        try:
            return self.path.open("rb")
        except OSError as error:
            raise DataError("file-unreadable", path=self.name, reason=error.strerror) from None

    def _open_decompressed(self) -> BinaryIO:
        if self.compression is None:
            return self._open_raw()
        stream = OPENERS[self.compression](self.path)
        limit = max(MIN_CHECKED_BYTES, MAX_RATIO * self.size)
        limit = limit if self.limits.bytes is None else min(limit, self.limits.bytes)
        position = 0

        def read(size: int) -> bytes:
            nonlocal position
            try:
                data = stream.read(size)
            except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException):
                raise DataError("compressed-file-damaged", path=self.name, compression=self.compression) from None
            position += len(data)
            if position > limit:
                id = "compressed-file-too-large" if limit == self.limits.bytes else "compression-ratio-too-high"
                raise DataError(id, path=self.name, megabytes=limit >> 20)
            return data

        return io.BufferedReader(_Stream(read, stream.close), BUFFER_BYTES)


class _Stream(io.RawIOBase):
    """The bytes that a function returns when it is called with their maximum number."""

    def __init__(self, read: Callable[[int], bytes], close: Callable[[], None]):
        self._read, self._close = read, close

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()

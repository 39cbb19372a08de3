"""Plain text: a blank line ends a document, and a long document is cut at the end of a line or between words."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from bertlab.text.readers.data_file import DataFile
from bertlab.text.readers.json_values import decoding_message, sections_between
from bertlab.text.readers.registry import FileFormat, Record, Section

DOCUMENT_BYTES = 1 << 20  # of a text without blank lines, or of a line, that become one document


class PlainText(FileFormat):
    """Text: each row is a document in the column `text`."""

    suffixes = (".txt",)
    has_columns = False

    def columns(self, file: DataFile) -> tuple[str, ...]:
        return ("text",)

    def sections(self, file: DataFile, size: int) -> list[Section]:
        if not file.is_seekable:
            return super().sections(file, size)
        starts = [0]
        with file.open() as stream:
            while starts[-1] + size < file.size:
                starts.append(_next_document(stream, starts[-1] + size))
        return sections_between(starts, file.size)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        number, first, parts, size = 0, 0, [], 0

        def record() -> Record:
            content = b"".join(parts)
            try:
                text = content.decode(file.encoding).replace("\r\n", "\n").rstrip("\n")
            except UnicodeDecodeError as error:
                return Record(first + 1, None, decoding_message(error, file.encoding))
            return Record(first + 1, {"text": text})

        with file.open() as stream:
            if section.first:
                stream.seek(section.first)
            left = None if section.last is None else section.last - section.first
            for line in _lines(stream, left):
                if line.strip():
                    first = first if parts else number
                    parts.append(line)
                    size += len(line)
                ends_line = line.endswith(b"\n")
                if parts and (not line.strip() or not ends_line or size >= DOCUMENT_BYTES):
                    yield record()
                    parts, size = [], 0
                number += ends_line
            if parts:
                yield record()


def _next_document(stream: BinaryIO, at: int) -> int:
    """Where the first document begins after byte `at` of a seekable stream."""
    stream.seek(at - 1)
    position = at - 1
    lines = _lines(stream, None)
    position += len(next(lines, b""))
    for line in lines:
        position += len(line)
        if not line.strip() or position >= at + DOCUMENT_BYTES:
            break
    return position


def _lines(stream: BinaryIO, left: int | None) -> Iterator[bytes]:
    """Lines of a stream; one of more than `DOCUMENT_BYTES` comes in parts that end with a space, or between characters.

    Args:
        left: bytes that may be read; None for all.
    """
    rest = b""
    while left is None or left > 0:
        allowed = DOCUMENT_BYTES if left is None else min(left, DOCUMENT_BYTES)
        line = rest if rest.endswith(b"\n") else rest + stream.readline(allowed - len(rest))
        rest = b""
        if not line:
            return
        if len(line) >= DOCUMENT_BYTES and not line.endswith(b"\n") and len(line) != left:
            end = line.rfind(b" ") + 1
            if not end:  # no words: cut between characters, of which one in UTF-8 has at most four bytes
                starts = (n for n in range(len(line) - 1, len(line) - 5, -1) if line[n] & 0xC0 != 0x80)
                end = next(starts, len(line))
            line, rest = line[:end], line[end:]
        if left is not None:
            left -= len(line)
        yield line

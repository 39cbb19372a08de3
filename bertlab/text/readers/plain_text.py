"""Read plain text: a blank line ends a document.

A document of more than `DOCUMENT_BYTES` is cut at the end of a line. A line of more than `DOCUMENT_BYTES` is cut
between words.
"""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from bertlab.config.languages import Message
from bertlab.text.readers.data_file import MAX_ROW_BYTES, DataFile
from bertlab.text.readers.json_values import decoding_message, sections_between
from bertlab.text.readers.registry import FileFormat, Record, Section

TEXT_COLUMN = "text"  # the name of the only column
DOCUMENT_BYTES = 1 << 20  # maximum size of a document; a longer one is cut into several documents


class PlainText(FileFormat):
    """Plain text; each row is a document in the column `text`."""

    suffixes = (".txt",)
    has_columns = False

    def columns(self, file: DataFile) -> tuple[str, ...]:
        return (TEXT_COLUMN,)

    def sections(self, file: DataFile, size: int) -> list[Section]:
        if not file.is_seekable:
            return super().sections(file, size)
        starts = [0]
        with file.open() as stream:
            while starts[-1] + size < file.size:
                starts.append(_find_next_document(stream, starts[-1] + size))
        return sections_between(starts, file.size)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        line_index = first_index = 0  # the indices of the current line and of the first line of the document
        parts, size = [], 0  # the lines of the document, and their size in bytes

        def make_record() -> Record:
            content = b"".join(parts)
            try:
                text = content.decode(file.encoding).replace("\r\n", "\n").rstrip("\n")
            except UnicodeDecodeError as error:
                return Record(first_index + 1, None, decoding_message(error, file.encoding))
            return Record(first_index + 1, {TEXT_COLUMN: text})

        with file.open() as stream:
            if section.start:
                stream.seek(section.start)
            remaining = None if section.end is None else section.end - section.start
            for line in _read_line_parts(stream, remaining):
                if line.strip():
                    first_index = first_index if parts else line_index
                    parts.append(line)
                    size += len(line)
                ends_line = line.endswith(b"\n")
                if parts and (not line.strip() or not ends_line or size >= DOCUMENT_BYTES):
                    yield make_record()
                    parts, size = [], 0
                line_index += ends_line
            if parts:
                yield make_record()


def read_lines(file: DataFile) -> Iterator[Record]:
    """Yield a record for each line of a file, except for blank lines; the record has the number of the line."""
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        if len(line) > MAX_ROW_BYTES:
            yield Record(number, None, Message("row-too-long", megabytes=MAX_ROW_BYTES >> 20))
            continue
        try:
            yield Record(number, {TEXT_COLUMN: line.decode(file.encoding).rstrip("\r\n")})
        except UnicodeDecodeError as error:
            yield Record(number, None, decoding_message(error, file.encoding))


def _find_next_document(stream: BinaryIO, offset: int) -> int:
    """Return the byte at which the first document after byte `offset` of a seekable stream begins."""
    stream.seek(offset - 1)
    position = offset - 1
    lines = _read_line_parts(stream, None)
    position += len(next(lines, b""))
    for line in lines:
        position += len(line)
        if not line.strip() or position >= offset + DOCUMENT_BYTES:
            break
    return position


def _read_line_parts(stream: BinaryIO, remaining: int | None) -> Iterator[bytes]:
    """Yield the lines of a stream; those longer than `DOCUMENT_BYTES` are cut into parts.

    They are cut after a space or, without one, anywhere except within a UTF-8 character.

    Args:
        remaining: the number of bytes that may be read; None for all.
    """
    rest = b""  # what was cut off from the line that was yielded last
    while remaining is None or remaining > 0:
        allowed = DOCUMENT_BYTES if remaining is None else min(remaining, DOCUMENT_BYTES)
        line = rest if rest.endswith(b"\n") else rest + stream.readline(allowed - len(rest))
        rest = b""
        if not line:
            return
        if len(line) >= DOCUMENT_BYTES and not line.endswith(b"\n") and len(line) != remaining:
            end = line.rfind(b" ") + 1
            if not end:  # no space: cut between characters, which have at most four bytes in UTF-8
                starts = (n for n in range(len(line) - 1, len(line) - 5, -1) if line[n] & 0xC0 != 0x80)
                end = next(starts, len(line))
            line, rest = line[:end], line[end:]
        if remaining is not None:
            remaining -= len(line)
        yield line

"""Read plain text: a blank line ends a document."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from bertlab.text.readers.data_file import MAX_ROW_BYTES, DataFile
from bertlab.text.readers.encoding import decoding_message
from bertlab.text.readers.json_values import TOO_LONG
from bertlab.text.readers.registry import FileFormat, Record, Section, cut_file, register

TEXT_COLUMN = "text"  # the name of the only column
DOCUMENT_BYTES = 1 << 20  # maximum size of a document; a longer one is cut into several documents


@register
class PlainText(FileFormat):
    """Plain text; each row is a document in the column `text`."""

    suffixes = (".txt",)
    has_columns = False

    def columns(self, file: DataFile) -> tuple[str, ...]:
        return (TEXT_COLUMN,)

    def sections(self, file: DataFile, size: int) -> list[Section]:
        return cut_file(file, size, _find_next_document)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        line_number = first_number = 1  # of the current line and of the first line of the document
        document = bytearray()
        with file.open() as stream:
            if section.start:
                stream.seek(section.start)
            remaining = None if section.end is None else section.end - section.start
            for line in _read_line_parts(stream, remaining):
                is_blank, ends_line = not line.strip(), line.endswith(b"\n")
                if not is_blank:
                    first_number = first_number if document else line_number
                    document += line
                if document and (is_blank or not ends_line or len(document) >= DOCUMENT_BYTES):
                    yield _make_record(first_number, document, file.encoding)
                    document = bytearray()
                line_number += ends_line
            if document:
                yield _make_record(first_number, document, file.encoding)


def read_lines(file: DataFile) -> Iterator[Record]:
    """Yield a record for each line of a file, except for blank lines; the record has the number of the line."""
    for number, line in enumerate(file.lines(), 1):
        if line.strip():
            is_too_long = len(line) > MAX_ROW_BYTES
            yield Record(number, None, TOO_LONG) if is_too_long else _make_record(number, line, file.encoding)


def _make_record(number: int, content: bytes | bytearray, encoding: str) -> Record:
    try:
        return Record(number, {TEXT_COLUMN: content.decode(encoding).replace("\r\n", "\n").rstrip("\n")})
    except UnicodeDecodeError as error:
        return Record(number, None, decoding_message(error, encoding))


def _find_next_document(stream: BinaryIO, start: int, size: int) -> int:
    """Return the byte at which the first document after byte `start + size` begins; see `cut_file`."""
    offset = start + size
    position = stream.seek(offset - 1)
    for index, line in enumerate(_read_line_parts(stream, None)):
        position += len(line)
        if index and (not line.strip() or position >= offset + DOCUMENT_BYTES):
            break
    return position


def _read_line_parts(stream: BinaryIO, remaining: int | None) -> Iterator[bytes]:
    """Yield the lines in the next `remaining` bytes (None: all); those longer than `DOCUMENT_BYTES` are cut into parts.

    They are cut after a space or, without one, anywhere except within a UTF-8 character.
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

"""Read JSON lines (one object per line) and JSON files (an array of objects, JSON lines, or a single object)."""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.text.readers.data_file import BUFFER_BYTES, MAX_ROW_BYTES, SAMPLE_BYTES, DataFile
from bertlab.text.readers.encoding import is_unicode
from bertlab.text.readers.registry import FileFormat, Record, Section

BLANK = b"\xef\xbb\xbf \t\r\n"  # bytes allowed before a value: a byte order mark and white space
# Python type -> name of the same type in JSON
JSON_TYPES = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean"}
WHITE_SPACE = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()
# Finds the end of a value without converting its integers; the conversion fails for integers with too many digits.
LENIENT_DECODER = json.JSONDecoder(parse_int=len)
TOO_LONG_INTEGER = Message("row-integer-too-long")  # the reason why a row with such an integer is invalid
# If a literal, number or escape sequence is cut off at the end of a block, the error is within this many characters of
# that end. The longest of these, an escaped surrogate pair, has 12 characters.
MAX_CUT_OFF_CHARACTERS = 16


class JsonLines(FileFormat):
    """One JSON object per line."""

    suffixes = (".jsonl",)
    requires_same_columns = False

    def sections(self, file: DataFile, size: int) -> list[Section]:
        return cut_at_lines(file, size) if file.is_seekable else super().sections(file, size)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        for number, line in enumerate(file.lines(section.start, section.end), 1):
            if line.strip(BLANK):
                yield parse_line(number, line, file.encoding)


class Json(FileFormat):
    """An array of objects, a single object over several lines, or JSON lines."""

    suffixes = (".json",)
    requires_same_columns = False

    def sections(self, file: DataFile, size: int) -> list[Section]:
        return JSON_LINES.sections(file, size) if _is_json_lines(file) else super().sections(file, size)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        return JSON_LINES.read(file, section, columns) if _is_json_lines(file) else _read_values(file)


JSON_LINES = JsonLines()  # reads the .json files that contain one object per line


def cut_at_lines(file: DataFile, size: int) -> list[Section]:
    """Split a seekable file into sections of about `size` bytes; each ends at the end of a line."""
    starts = [0]
    with file.open() as stream:
        while starts[-1] + size < file.size:
            stream.seek(starts[-1] + size - 1)
            stream.readline()
            starts.append(stream.tell())
    return sections_between(starts, file.size)


def sections_between(starts: list[int], size: int) -> list[Section]:
    """Return the sections that begin at the given byte offsets.

    Each section ends where the next one begins, and the last at the end of the file.

    Args:
        starts: byte offsets in ascending order; the last one may be the end of the file.
        size: the size of the file in bytes.
    """
    ends = [*starts[1:], size] if starts[-1] < size else starts[1:]
    edges = [starts[0], *ends]
    return [Section(start, end, end - start) for start, end in pairwise(edges)]


def parse_line(number: int, line: bytes, encoding: str) -> Record:
    """Parse one line of JSON into a record."""
    if len(line) > MAX_ROW_BYTES:
        return Record(number, None, Message("row-too-long", megabytes=MAX_ROW_BYTES >> 20))
    try:
        return as_record(number, json.loads(line.decode(encoding)))
    except UnicodeDecodeError as error:
        return Record(number, None, decoding_message(error, encoding))
    except json.JSONDecodeError as error:
        return Record(number, None, Message("row-not-json", reason=error.msg))
    except RecursionError:
        return Record(number, None, Message("row-json-too-deep"))
    except ValueError:  # an integer has more digits than `sys.get_int_max_str_digits()` allows
        return Record(number, None, TOO_LONG_INTEGER)


def as_record(number: int, value: object) -> Record:
    """Make a record from a JSON value; a value that is not an object is an invalid row."""
    if not isinstance(value, dict):
        return Record(number, None, Message("row-not-an-object", type=json_type(value)))
    if not all(map(is_unicode, value)):
        return Record(number, None, Message("row-column-name-invalid"))
    return Record(number, value)


def json_type(value: object) -> str:
    """Return the JSON name of a value's type.

    >>> json_type([1]), json_type(None)
    ('array', 'null')
    """
    return "null" if value is None else JSON_TYPES.get(type(value), type(value).__name__)


def decoding_message(error: UnicodeDecodeError, encoding: str) -> Message:
    """Describe the byte that makes a row invalid in the encoding of the file."""
    name = encoding.removesuffix("-sig").upper()
    value = f"{error.object[error.start]:#04x}"
    return Message("row-not-decodable", encoding=name, byte=error.start + 1, value=value)


def _is_json_lines(file: DataFile) -> bool:
    """Whether a .json file has one value per line: it is not an array, has several lines, and its first line does not
    look like the beginning of a longer value."""
    start = file.sample.lstrip(BLANK)
    if file.is_utf_16 or start[:1] == b"[":
        return False
    first_line, line_break, later_lines = start.partition(b"\n")
    if not line_break or not later_lines.strip():
        return len(file.sample) == SAMPLE_BYTES  # then the first line is very long, and others may follow
    record = parse_line(1, first_line, file.encoding)
    return record.reason is None or first_line.rstrip()[-1:] not in (b"{", b"[", b",")


def _read_values(file: DataFile) -> Iterator[Record]:
    """Yield the elements of an array, or consecutive values, decoding the file in blocks."""
    decoder = codecs.getincrementaldecoder(file.encoding)()
    text, position, number, in_array, at_end = "", 0, 0, False, False
    with file.open() as stream:

        def read_block() -> bool:
            """Append the next block to `text`; return whether there was one."""
            nonlocal text, position, at_end
            # The size of a block doubles while a value is incomplete, so a long value is parsed only a few times.
            data = stream.read(max(BUFFER_BYTES, len(text)))
            text, position, at_end = text[position:] + decoder.decode(data, final=not data), 0, not data
            return not at_end

        def skip_blank() -> str:
            """Move to the next character that is not white space and return it; return "" at the end."""
            nonlocal position
            while True:
                position = WHITE_SPACE.match(text, position).end()
                if position < len(text) or not read_block():
                    return text[position : position + 1]

        try:
            if skip_blank() == "[":
                in_array, position = True, position + 1
                if skip_blank() == "]":
                    return
            while skip_blank() or in_array:
                try:
                    value, end = DECODER.raw_decode(text, position)
                    if end == len(text) and not at_end:  # a number may continue in the next block
                        read_block()
                        continue
                except json.JSONDecodeError as error:
                    is_at_block_end = error.pos > len(text) - MAX_CUT_OFF_CHARACTERS
                    is_cut_off = (error.msg.startswith("Unterminated string") or is_at_block_end) and not at_end
                    if is_cut_off and len(text) - position <= MAX_ROW_BYTES:
                        read_block()
                        continue
                    too_long = Message("row-too-long", megabytes=MAX_ROW_BYTES >> 20)
                    not_json = Message("row-not-json", reason=error.msg)
                    yield _unreadable_row(number + 1, too_long if is_cut_off else not_json, in_array)
                    return
                except DataError:  # this is a `ValueError` too, but comes from reading the file
                    raise
                except ValueError:  # an integer with too many digits
                    value, end = TOO_LONG_INTEGER, LENIENT_DECODER.raw_decode(text, position)[1]
                number, position = number + 1, end
                if file.limits.lines is not None and number > file.limits.lines:
                    raise DataError("file-too-many-lines", path=file.name, lines=file.limits.lines)
                yield Record(number, None, value) if value is TOO_LONG_INTEGER else as_record(number, value)
                if in_array:
                    separator = skip_blank()
                    position += 1
                    if separator == "]":
                        return
                    if separator != ",":
                        yield _unreadable_row(
                            number + 1, Message("row-not-json", reason="Expecting ',' or ']'"), in_array
                        )
                        return
        except UnicodeDecodeError as error:
            yield _unreadable_row(number + 1, decoding_message(error, file.encoding), in_array)
        except RecursionError:
            yield _unreadable_row(number + 1, Message("row-json-too-deep"), in_array)


def _unreadable_row(number: int, reason: Message, in_array: bool) -> Record:
    """Make the record of an invalid value, at which reading stops.

    In an array, the reason in the record says that later rows are lost.
    """
    return Record(number, None, Message("rows-after-unreadable", reason=reason) if in_array else reason)

"""Read JSON lines (one object per line) and JSON files (an array of objects, JSON lines, or a single object)."""

import codecs
import json
import re
from collections.abc import Iterator, Sequence

from bertlab.config.languages import Message
from bertlab.text.readers.data_file import BUFFER_BYTES, MAX_ROW_BYTES, SAMPLE_BYTES, DataFile
from bertlab.text.readers.encoding import decoding_message, is_unicode
from bertlab.text.readers.registry import FileFormat, Record, Section, cut_file, find_line_end, register

BLANK = b"\xef\xbb\xbf \t\r\n"  # bytes allowed before a value: a byte order mark and white space
# Python type -> name of the same type in JSON
JSON_TYPES = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean"}
WHITE_SPACE = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()
# Finds the end of a value without converting its integers; the conversion fails for integers with too many digits.
LENIENT_DECODER = json.JSONDecoder(parse_int=len)
TOO_LONG = Message("row-too-long", megabytes=MAX_ROW_BYTES >> 20)
TOO_LONG_INTEGER = Message("row-integer-too-long")
# If a literal, number or escape sequence is cut off at the end of a block, the error is within this many characters of
# that end. The longest of these, an escaped surrogate pair, has 12 characters.
MAX_CUT_OFF_CHARACTERS = 16


@register
class JsonLines(FileFormat):
    """One JSON object per line."""

    suffixes = (".jsonl",)
    requires_same_columns = False

    def sections(self, file: DataFile, size: int) -> list[Section]:
        return cut_file(file, size, find_line_end)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        for number, line in enumerate(file.lines(section.start, section.end), 1):
            if line.strip(BLANK):
                yield parse_line(number, line, file.encoding)


@register
class Json(JsonLines):
    """An array of objects, a single object over several lines, or JSON lines."""

    suffixes = (".json",)

    def sections(self, file: DataFile, size: int) -> list[Section]:
        return super().sections(file, size) if _is_json_lines(file) else FileFormat.sections(self, file, size)

    def read(self, file: DataFile, section: Section, columns: Sequence[str] | None = None) -> Iterator[Record]:
        return super().read(file, section) if _is_json_lines(file) else _read_values(file)


def parse_line(number: int, line: bytes, encoding: str) -> Record:
    """Parse one line of JSON into a record."""
    if len(line) > MAX_ROW_BYTES:
        return Record(number, None, TOO_LONG)
    try:
        return _make_record(number, json.loads(line.decode(encoding)))
    except UnicodeDecodeError as error:
        return Record(number, None, decoding_message(error, encoding))
    except json.JSONDecodeError as error:
        return Record(number, None, Message("row-not-json", reason=error.msg))
    except RecursionError:
        return Record(number, None, Message("row-json-too-deep"))
    except ValueError:  # an integer has more digits than `sys.get_int_max_str_digits()` allows
        return Record(number, None, TOO_LONG_INTEGER)


def json_type(value: object) -> str:
    """Return the JSON name of a value's type."""
    return "null" if value is None else JSON_TYPES.get(type(value), type(value).__name__)


def _make_record(number: int, value: object) -> Record:
    if not isinstance(value, dict):
        return Record(number, None, Message("row-not-an-object", type=json_type(value)))
    if not all(map(is_unicode, value)):
        return Record(number, None, Message("row-column-name-invalid"))
    return Record(number, value)


def _is_json_lines(file: DataFile) -> bool:
    """Whether a .json file has one value per line, by whether its first line looks like a whole value."""
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
    text, position, at_end = "", 0, False

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

    def read_value() -> object:
        nonlocal position
        while True:
            try:
                value, end = DECODER.raw_decode(text, position)
            except json.JSONDecodeError as error:
                is_at_block_end = error.pos > len(text) - MAX_CUT_OFF_CHARACTERS
                if at_end or not (is_at_block_end or error.msg.startswith("Unterminated string")):
                    raise
                end = len(text)
                if end - position > MAX_ROW_BYTES:
                    raise OverflowError from None
            except ValueError:  # an integer with too many digits
                value, end = TOO_LONG_INTEGER, LENIENT_DECODER.raw_decode(text, position)[1]
            if end < len(text) or at_end:
                position = end
                return value
            read_block()  # the value is cut off, or is a number that may continue in the next block

    number, is_array = 0, False
    with file.open() as stream:
        try:
            if skip_blank() == "[":
                is_array, position = True, position + 1
                if skip_blank() == "]":
                    return
            while skip_blank() or is_array:
                value, number = read_value(), number + 1
                file.check_lines(number)
                yield Record(number, None, value) if value is TOO_LONG_INTEGER else _make_record(number, value)
                if is_array:
                    separator, position = skip_blank(), position + 1
                    if separator == "]":
                        return
                    if separator != ",":
                        raise json.JSONDecodeError("Expecting ',' or ']'", text, position - 1)
            return
        except UnicodeDecodeError as error:
            reason = decoding_message(error, file.encoding)
        except json.JSONDecodeError as error:
            reason = Message("row-not-json", reason=error.msg)
        except RecursionError:
            reason = Message("row-json-too-deep")
        except OverflowError:
            reason = TOO_LONG
        yield Record(number + 1, None, Message("rows-after-unreadable", reason=reason) if is_array else reason)

"""What is in a file of data: text, gzipped or not, JSON, lines of JSON, a Parquet table; or one line saying what is
wrong with it. Knows no rows."""

import codecs
import gzip
import json
import zlib
from pathlib import Path

import pyarrow
import pyarrow.parquet

from bertlab.config.errors import DataError


def is_parquet(path: Path) -> bool:
    """Whether a file says at its beginning that it is Parquet.

    Raises:
        DataError: it cannot be read.
    """
    return _bytes(path, 4) == b"PAR1"


def read_parquet(path: Path) -> pyarrow.Table:
    """Raises DataError: it cannot be read, or is damaged."""
    try:
        return pyarrow.parquet.read_table(path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    except pyarrow.ArrowException as error:
        raise DataError(f"{path} is damaged Parquet: {' '.join(str(error).split())}") from None


def read_text(path: Path) -> str:
    """A text in UTF-8 or what Excel saves instead (see `encoding_of`), gzipped or not, without the mark that some
    programs begin it with.

    Raises:
        DataError: it cannot be read, is empty or no text.
    """
    content = _bytes(path)
    try:
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        text = content.decode(encoding_of(content))
    except (OSError, EOFError, zlib.error):
        raise DataError(f"{path} is damaged: its gzip data breaks off or is corrupt") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text") from None
    if not text.strip():
        raise DataError(f"{path} is empty")
    return text


def encoding_of(content: bytes) -> str:
    """What a file, or its beginning, is written in, as Python calls it: UTF-8, or else what Korean Excel and Notepad
    save unasked (cp949), or what Excel calls Unicode (utf-16), as far as can be told.

    >>> encoding_of("비가 온다".encode("cp949")), encoding_of("비가 온다".encode()[:-1])
    ('cp949', 'utf-8-sig')
    """
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") and b"\0" in content:  # a mark, and half of a space or line break
        return "utf-16"
    read = content.decode(errors="replace")
    damaged = read.count("\ufffd")
    if not damaged or damaged < sum(character > "\x7f" for character in read) / 2:
        return "utf-8-sig"  # or such with a damaged place, or cut off
    try:
        korean = codecs.getincrementaldecoder("cp949")().decode(content)  # which may break off
    except UnicodeDecodeError:
        return "utf-8-sig"
    foreign = [character for character in korean if character > "\x7f"]
    return "cp949" if sum("가" <= character <= "힣" for character in foreign) > len(foreign) / 2 else "utf-8-sig"


def parse_json(text: str, path: Path, or_lines: bool = False) -> object:
    """Raises DataError, with the line, where it is no JSON; with `or_lines` a value a line will do as well."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if or_lines and error.msg == "Extra data":
            return parse_json_lines(text, path)
        raise DataError(f"{path} is not JSON: {error.msg} at line {error.lineno}") from None


def parse_json_lines(text: str, path: Path) -> list:
    """A value a line. Raises DataError, with the line, where it is none."""
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            raise DataError(f"{path} is not JSON lines: {error.msg} at line {number}") from None
    return values


def _bytes(path: Path, size: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None

"""Guess the encoding of a text file: UTF-8, or one of those that Excel and Korean editors use instead."""

import codecs

from bertlab.config.languages import Message

UTF_8 = "utf-8-sig"  # Python's name for UTF-8 with an optional byte order mark at the beginning


def encoding_of(content: bytes) -> str:
    """Guess the encoding of a file from its beginning: "utf-8-sig", "cp949" (Korean Excel) or "utf-16" (Excel).

    >>> encoding_of("비가 온다".encode("cp949")), encoding_of("비가 온다".encode()[:-1])
    ('cp949', 'utf-8-sig')
    """
    # In UTF-16, a byte order mark comes first, and one of the two bytes of every space and line break is zero.
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") and b"\0" in content:
        return "utf-16"
    text = content.decode(errors="replace")
    undecodable = text.count("\ufffd")
    if not undecodable or undecodable < sum(character > "\x7f" for character in text) / 2:
        return UTF_8  # only a few bytes are damaged, or a character is cut off at the end
    try:
        # The decoder is incremental, because the last character may be cut off.
        decoded = codecs.getincrementaldecoder("cp949")().decode(content)
    except UnicodeDecodeError:
        return UTF_8
    non_ascii = [character for character in decoded if character > "\x7f"]
    return "cp949" if sum("가" <= character <= "힣" for character in non_ascii) > len(non_ascii) / 2 else UTF_8


def make_printable(text: object) -> str:
    """Replace lone surrogates with "?", because no terminal or file can contain them."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8, that is, has no lone surrogates."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def decoding_message(error: UnicodeDecodeError, encoding: str) -> Message:
    """Describe the byte that makes a row invalid in the encoding of the file."""
    name = encoding.removesuffix("-sig").upper()
    value = f"{error.object[error.start]:#04x}"
    return Message("row-not-decodable", encoding=name, byte=error.start + 1, value=value)

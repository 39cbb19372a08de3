"""Tables of plain text: columns that are aligned in a terminal, also with Korean text."""

import unicodedata
from collections.abc import Iterable, Sequence


def format_table(rows: Iterable[Sequence[str]], align: str) -> list[str]:
    """Align rows in columns that are two spaces apart.

    Args:
        rows: the cells of every row.
        align: one character for each column: < for left, > for right.

    >>> format_table([("tea", "9"), ("찻잔", "10")], "<>")
    ['tea    9', '찻잔  10']
    """
    rows = list(rows)
    widths = [max(map(display_columns, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for cell, width, side in zip(row, widths, align, strict=True):
            space = " " * (width - display_columns(cell))
            cells.append(cell + space if side == "<" else space + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def display_columns(text: str) -> int:
    """The width of a text in a terminal: two columns for a wide character, none for a combining one.

    >>> display_columns("tea"), display_columns("찻잔"), display_columns("e\\u0301")
    (3, 4, 1)
    """
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )

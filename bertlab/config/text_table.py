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
    widths = [max(map(measure_display_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for cell, width, side in zip(row, widths, align, strict=True):
            space = " " * (width - measure_display_width(cell))
            cells.append(cell + space if side == "<" else space + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def measure_display_width(text: str) -> int:
    """Return the number of terminal columns that a text takes: two for a wide character, none for a combining one.

    >>> measure_display_width("tea"), measure_display_width("찻잔"), measure_display_width("e\\u0301")
    (3, 4, 1)
    """
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )

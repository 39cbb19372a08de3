"""Tables of plain text: columns that are aligned in a terminal, also with Korean text."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len


def format_table(rows: Iterable[Sequence[str]], align: str) -> list[str]:
    """Align rows in columns that are two spaces apart.

    Args:
        align: one character for each column: < for left, > for right.

    >>> format_table([("tea", "9"), ("찻잔", "10")], "<>")
    ['tea    9', '찻잔  10']
    """
    rows = list(rows)
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for cell, width, side in zip(row, widths, align, strict=True):
            space = " " * (width - cell_len(cell))
            cells.append(cell + space if side == "<" else space + cell)
        lines.append("  ".join(cells).rstrip())
    return lines

"""Shorten texts to fit in a figure or a table, by their number of characters or by their width on the screen."""

from itertools import accumulate

from rich.cells import cell_len


def shorten(text: str, max_length: int) -> str:
    """Shorten a text to at most `max_length` characters, including an ellipsis."""
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def shorten_to_width(text: str, max_width: int, *, tail: int = 0) -> str:
    """Shorten a text to the width of `max_width` Latin letters, keeping its last `tail` characters.

    >>> shorten_to_width("governor", 9), shorten_to_width("등대지기", 9), shorten_to_width("등대지기의", 9)
    ('governor', '등대지기', '등대지기…')
    >>> shorten_to_width("whale oil, later paraffin", 15, tail=6)
    'whale oi…raffin'
    """
    if cell_len(text) <= max_width:
        return text
    ending = text[len(text) - tail :]
    max_beginning_width = max_width - cell_len(ending) - 1  # the ellipsis takes the remaining letter
    widths = accumulate(map(cell_len, text))
    return text[: sum(width <= max_beginning_width for width in widths)] + "…" + ending

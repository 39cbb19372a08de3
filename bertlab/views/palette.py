"""The colours of every view: one file, `static/palette.json`, read here and, through `assets`, by JavaScript.

Blue means helpful, positive or first; orange means harmful, negative or second; grey is for comparison. A JSON file
whose path is in `BERTLAB_PALETTE` replaces entries.

Among colours that stand out from a light and a dark background, those of series and heads have the largest minimum
OKLab distance under normal vision, protanopia, deuteranopia and tritanopia. The contrast of a scale's colours to both
backgrounds must grow with the absolute value.
"""

import json
import os
from importlib.resources import files
from pathlib import Path


def load_palette(replacement: str | Path | None = None) -> dict:
    """Load the shipped palette; the entries of a second file replace those of the same name, also within a theme."""
    palette = json.loads(files(__package__).joinpath("static", "palette.json").read_text(encoding="utf-8"))
    if replacement:
        replacements = json.loads(Path(replacement).read_text(encoding="utf-8"))
        themes = replacements.pop("themes", {})
        palette |= replacements
        for name, theme in palette["themes"].items():
            theme |= themes.get(name, {})
    return palette


PALETTE = load_palette(os.environ.get("BERTLAB_PALETTE"))


def channels(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue parts (0..255) of a hexadecimal colour.

    >>> channels("#3b82d6")
    (59, 130, 214)
    """
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


def transparent(colour: str, opacity: float) -> str:
    """Write a hexadecimal colour with an opacity, for CSS and Plotly.

    >>> transparent("#3b82d6", 0.5)
    'rgba(59, 130, 214, 0.5)'
    """
    return f"rgba({', '.join(map(str, channels(colour)))}, {opacity:g})"

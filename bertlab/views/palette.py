"""The colours of every view: one file, `static/palette.json`, read here and, through `assets`, by JavaScript.

Blue means helpful, positive or first; orange means harmful, negative or second; grey is for comparison. The
environment variable `BERTLAB_PALETTE` names a JSON file whose entries replace those of the shipped palette.

    blue, orange, grey   the colours with a meaning
    series               the colours of curves, in the order of their use
    marks                the colours of marked text: answers, entities, sentences
    grid                 the grid lines of a figure
    diverging            a scale from orange (−1) through transparent (0) to blue (1)
    sequential           a scale from transparent (0) to blue (1)
    themes               the light and the dark colours of the canvas views: ink, ground (background), accent, search
                         results, sentences A and B, signed values, the ramp of probabilities, and two
                         lists of colours for heads: for up to 12 and for up to 16

The colours of the series and of the heads were found by a search. Among colours that stand out from a light and a dark
background, they have the largest minimum OKLab distance under normal vision and under simulated protanopia,
deuteranopia and tritanopia.

Both scales, diverging and sequential, are drawn on light and on dark backgrounds, so the contrast of a colour to both
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

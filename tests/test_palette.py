"""The colour scales of heat maps are readable in the light and in the dark theme."""

import numpy as np
import pytest

from bertlab.views.palette import PALETTE, channels

STEPS = np.linspace(0, 1, 21)
SCALES = {
    "sequential": (PALETTE["sequential"], STEPS),
    "positive half of diverging": (PALETTE["diverging"], 0.5 + STEPS / 2),
    "negative half of diverging": (PALETTE["diverging"], 0.5 - STEPS / 2),
}


def luminance(rgb_3) -> float:
    """Relative luminance of a colour with channels from 0 to 255 (WCAG 2.1)."""
    shares_3 = np.asarray(rgb_3) / 255
    linear_3 = np.where(shares_3 <= 0.03928, shares_3 / 12.92, ((shares_3 + 0.055) / 1.055) ** 2.4)
    return float(linear_3 @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", SCALES)
def test_a_larger_value_stands_out_more_from_the_background(name, theme):
    scale, steps = SCALES[name]
    positions = [position for position, _ in scale]
    colours = np.array(
        [colour[len("rgba(") : -1].split(",") for _, colour in scale], float
    )  # red, green, blue, opacity
    ground = np.array(channels(PALETTE["themes"][theme]["ground"]))
    contrasts = []
    for step in steps:
        *rgb, opacity = (np.interp(step, positions, channel) for channel in colours.T)
        pair = luminance(opacity * np.array(rgb) + (1 - opacity) * ground), luminance(ground)
        contrasts.append((max(pair) + 0.05) / (min(pair) + 0.05))
    assert np.all(np.diff(contrasts) > 0), contrasts
    assert contrasts[-1] > 2

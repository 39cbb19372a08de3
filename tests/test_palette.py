"""The colour scales of heat maps are readable in both themes, and blue means helpful on every page."""

import numpy as np
import pytest

from bertlab.abilities.results import HeadEffects, WordEffect, WordEffects
from bertlab.abilities.surgery import figures as change_figures
from bertlab.views import labels
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


def test_what_helps_is_blue_and_what_hurts_is_orange():
    """A positive word effect helps, as does a head without which the log-odds fall."""
    words = WordEffects("positive", (WordEffect("fine", 0, 4, False, 1.5), WordEffect("dull", 5, 9, False, -1.5)))
    assert list(labels.word_bars(words).data[0].marker.color) == [PALETTE["blue"], PALETTE["orange"]]
    marks = labels.word_effects_html("fine dull", words).split("<mark")[1:]
    for name, mark in zip(("blue", "orange"), marks, strict=True):
        assert f"rgba({','.join(map(str, channels(PALETTE[name])))}" in mark.replace(", ", ",")
    heads = HeadEffects("masked_lm", (), "tea", 0.0, (0,), np.array([[-1.5, 1.5]]))
    lowest, *_, highest = change_figures.head_map(heads).data[0].colorscale
    assert (lowest[1], highest[1]) == (PALETTE["diverging"][-1][1], PALETTE["diverging"][0][1])
    for name, (_, colour) in (("blue", lowest), ("orange", highest)):
        red, _, blue = (float(part) for part in colour[len("rgba(") : -1].split(",")[:3])
        assert (blue > red) == (name == "blue"), colour

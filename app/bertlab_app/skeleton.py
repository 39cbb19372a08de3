"""The skeleton: grey bars that stand in for a page until it is computed."""

import html

BAR_STYLE = "border-radius:0.4rem;background:color-mix(in srgb,currentColor 12%,transparent)"
HEIGHTS = ("1.5rem", "1.5rem", "14rem")  # the heights of the three bars, as CSS lengths


def draw(container, text: str = "") -> None:
    """Draw the skeleton."""
    line = f'<span class="small">{html.escape(text)}</span>' if text else ""
    bars = "".join(f'<div style="{BAR_STYLE};height:{height}"></div>' for height in HEIGHTS)
    style = "display:grid;gap:0.9rem"
    container.html(f'<div class="skeleton" role="status" aria-busy="true" style="{style}">{line}{bars}</div>')

"""The skeleton: grey bars that stand in for a page until it is computed.

The bars are drawn before the modules of the app are imported, because that import takes seconds in a new server.
Therefore this module imports none of these modules, and the bars have a style of their own, not that of
`static/app.css`.
"""

import html

BAR_STYLE = "border-radius:0.4rem;background:color-mix(in srgb,currentColor 12%,transparent)"
HEIGHTS = ("1.5rem", "1.5rem", "14rem")  # the heights of the three bars, as CSS lengths


def draw(container, text: str = "") -> None:
    """Draw the skeleton.

    Args:
        container: the result of `st.empty`. To remove the skeleton, empty it.
        text: a line that says what the page is doing; "" for no line.
    """
    line = f'<span class="small">{html.escape(text)}</span>' if text else ""
    bars = "".join(f'<div style="{BAR_STYLE};height:{height}"></div>' for height in HEIGHTS)
    style = "display:grid;gap:0.9rem"
    container.html(f'<div class="skeleton" role="status" aria-busy="true" style="{style}">{line}{bars}</div>')

"""Figures as files: their numbers as columns, and the Python lines that draw them again.

The browser makes the SVG, PNG, CSV and HTML files (`static/save.js`).
"""

import math
from collections.abc import Iterable

import numpy as np

Columns = dict[str, list]


def tidy(rows: Columns) -> Columns:
    """Convert columns to values that JSON can hold.

    Numbers get six significant digits, NaN and infinity become None, and lone surrogates become "?".

    >>> tidy({"word": ["tea"], "probability": [np.float32(1 / 3)]})
    {'word': ['tea'], 'probability': [0.333333]}
    """
    return {name: [_plain(value) for value in values] for name, values in rows.items()}


def python_lines(source: str, steps: Iterable[str]) -> str:
    """Write a script that draws a figure again: it opens the checkpoint as `session`, then runs the steps.

    The steps may use `figures` without importing it. Steps that begin with "import" or "from" go to the top. A figure
    that a step assigns to `figure` is shown.

    >>> print(python_lines("strongest", ["figure = figures.nsp_gauge(session.next_sentence('Tea?', 'Yes.'))"]))
    import bertlab
    from bertlab.views import figures
    <BLANKLINE>
    session = bertlab.load('strongest')
    figure = figures.nsp_gauge(session.next_sentence('Tea?', 'Yes.'))
    figure.show()
    <BLANKLINE>
    """
    steps = list(steps)
    above = [step for step in steps if step.startswith(("import ", "from "))]
    below = [step for step in steps if step not in above]
    uses = "from bertlab.views import figures"
    if any("figures." in step for step in below) and uses not in above:
        above.append(uses)
    opened = [f"session = bertlab.load({source!r})"] if source else []
    head = [*(["import bertlab"] if opened else []), *sorted(above, key=lambda line: line.split()[1])]
    last_lines = ["figure.show()"] if any(step.startswith("figure = ") for step in below) else []
    return "\n".join([*head, "", *opened, *below, *last_lines, ""])


def _plain(value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value if isinstance(value, int | bool | None) else str(value)

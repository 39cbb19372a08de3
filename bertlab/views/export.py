"""Prepare figures for saving: their data as columns, and a Python script that draws them again.

The browser makes the SVG, PNG, CSV and HTML files (`static/save.js`).
"""

import math
from collections.abc import Iterable

import numpy as np

Columns = dict[str, list]  # the values of each column, by column name


def tidy(columns: Columns) -> Columns:
    """Convert values for JSON: six significant digits, None for NaN and infinity, "?" for lone surrogates.

    >>> tidy({"word": ["tea"], "probability": [np.float32(1 / 3)]})
    {'word': ['tea'], 'probability': [0.333333]}
    """
    return {name: [_to_json_value(value) for value in values] for name, values in columns.items()}


def python_lines(source: str, steps: Iterable[str]) -> str:
    """Write a script that opens a checkpoint (unless `source` is "") as `session`, then executes `steps`.

    Imports among the steps are moved to the top, `figures` is imported if it is used, and a `figure` is shown.

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
    imports = [step for step in steps if step.startswith(("import ", "from "))]
    other_steps = [step for step in steps if step not in imports]
    figures_import = "from bertlab.views import figures"
    if any("figures." in step for step in other_steps) and figures_import not in imports:
        imports.append(figures_import)
    session_lines = [f"session = bertlab.load({source!r})"] if source else []
    import_lines = [*(["import bertlab"] if session_lines else []), *sorted(imports, key=lambda line: line.split()[1])]
    last_lines = ["figure.show()"] if any(step.startswith("figure = ") for step in other_steps) else []
    return "\n".join([*import_lines, "", *session_lines, *other_steps, *last_lines, ""])


def _to_json_value(value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value if isinstance(value, int | bool | None) else str(value)

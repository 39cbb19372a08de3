"""A reproduced table of the paper as Markdown, and as a Plotly figure beside the paper's results.

Both take the dictionary that `training.paper.reproduce.result` returns.
"""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertlab.views.figures import BLUE, GREY, TEMPLATE, escape_markup


def markdown(result: dict) -> list[str]:
    """The lines of the title, the table (mean and spread, the paper's result in brackets) and the conclusion.

    >>> column = {"title": "SST-2", "task": "sst2", "paper": "MNLI", "lower": False}
    >>> cell = {"values": [70.0, 71.0], "mean": 70.5, "spread": 0.7, "paper": 84.2}
    >>> row = {"title": "80 / 10 / 10", "cells": {"sst2": cell}, "tokens": 12000}
    >>> result = {"table": "table8", "title": "Masks", "source": "Table 8", "columns": {"sst2": column}}
    >>> print("\\n".join(markdown(result | {"rows": {"m": row}, "sentence": "All agree."})))
    **table8: Masks** (Table 8; in brackets the paper's)
    <BLANKLINE>
    | | SST-2: sst2 (MNLI) | tokens |
    |---|---|---|
    | 80 / 10 / 10 | 70.50 ± 0.70 (84.2) | 12,000 |
    <BLANKLINE>
    All agree.
    """
    tokens = any("tokens" in row for row in result["rows"].values())
    heads = [_head(column) for column in result["columns"].values()] + (["tokens"] if tokens else [])
    lines = [f"**{result['table']}: {result['title']}** ({result['source']}; in brackets the paper's)", ""]
    lines += [f"| | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    for row in result["rows"].values():
        texts = [_text(row["cells"].get(name)) for name in result["columns"]]
        texts += [f"{row['tokens']:,}" if "tokens" in row else ""] if tokens else []
        lines.append(f"| {row['title']} | {' | '.join(texts)} |")
    return [*lines, "", result["sentence"]]


def figure(result: dict) -> go.Figure:
    """One panel for each column: the difference of every row from the reference row, here and in the paper.

    Differences are comparable where the results themselves are not, since model size and data differ from the paper's.
    """
    titles = [escape_markup(_head(column)) for column in result["columns"].values()]
    drawn = make_subplots(1, max(1, len(titles)), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
    names = [name for name in result["rows"] if name != result["against"]]
    for place, column in enumerate(result["columns"], 1):
        base = result["rows"].get(result["against"], {"cells": {}})["cells"].get(column)
        for who, key, colour in (("here", "mean", BLUE), ("the paper", "paper", GREY)):
            values, errors = [], []
            for name in names:
                cell = result["rows"][name]["cells"].get(column)
                known = base and cell and None not in (cell[key], base[key])
                values.append(cell[key] - base[key] if known else None)
                errors.append((cell["spread"] or 0) if known and key == "mean" else 0)
            drawn.add_bar(
                x=values, y=[escape_markup(result["rows"][name]["title"]) for name in names], orientation="h", name=who,
                marker={"color": colour, "pattern": {"shape": "" if key == "mean" else "/"}}, legendgroup=who,
                showlegend=place == 1, error_x={"array": errors, "visible": any(errors)},
                hovertemplate=f"%{{y}}, {who}: %{{x:+.2f}}<extra></extra>", row=1, col=place,
            )  # fmt: skip
    begin = result["rows"].get(result["against"], {"title": result["against"]})["title"]
    drawn.update_layout(
        template=TEMPLATE, height=170 + 56 * len(names), barmode="group", legend={"y": -0.12, "yanchor": "top"},
        title={"text": escape_markup(f"{result['title']}: difference from “{begin}”"), "x": 0.01},
        margin={"t": 84, "l": 8},
    )  # fmt: skip
    drawn.update_yaxes(autorange="reversed", automargin=True)
    drawn.update_xaxes(zeroline=True, zerolinecolor=GREY)
    return drawn


def _head(column: dict) -> str:
    here = f": {column['task']}" if column["task"] else ""
    return f"{column['title']}{here} ({column['paper']})" if column["paper"] else column["title"]


def _text(cell: dict | None) -> str:
    if not cell:
        return ""
    spread = f" ± {cell['spread']:.2f}" if cell["spread"] is not None else ""
    return f"{cell['mean']:.2f}{spread}" + (f" ({cell['paper']})" if cell["paper"] is not None else "")

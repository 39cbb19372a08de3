"""A reproduced table of the paper -> Markdown, and a Plotly figure of ours beside the paper's.

Takes what `training.paper.reproduce.result` gives, a plain dictionary; knows no run.
"""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertlab.views.figures import BLUE, GREY, TEMPLATE, safe


def markdown(told: dict) -> list[str]:
    """Lines: the title, the table (ours with spread, the paper's in brackets), and the sentence.

    >>> column = {"title": "SST-2", "task": "sst2", "paper": "MNLI", "lower": False}
    >>> cell = {"values": [70.0, 71.0], "mean": 70.5, "spread": 0.7, "paper": 84.2}
    >>> row = {"title": "80 / 10 / 10", "cells": {"sst2": cell}, "tokens": 12000}
    >>> told = {"table": "table8", "title": "Masks", "source": "Table 8", "columns": {"sst2": column}}
    >>> print("\\n".join(markdown(told | {"rows": {"m": row}, "sentence": "All agree."})))
    **table8: Masks** (Table 8; in brackets the paper's)
    <BLANKLINE>
    | | SST-2: sst2 (MNLI) | tokens |
    |---|---|---|
    | 80 / 10 / 10 | 70.50 ± 0.70 (84.2) | 12,000 |
    <BLANKLINE>
    All agree.
    """
    tokens = any("tokens" in row for row in told["rows"].values())
    heads = [_head(column) for column in told["columns"].values()] + (["tokens"] if tokens else [])
    lines = [f"**{told['table']}: {told['title']}** ({told['source']}; in brackets the paper's)", ""]
    lines += [f"| | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    for row in told["rows"].values():
        texts = [_text(row["cells"].get(name)) for name in told["columns"]]
        texts += [f"{row['tokens']:,}" if "tokens" in row else ""] if tokens else []
        lines.append(f"| {row['title']} | {' | '.join(texts)} |")
    return [*lines, "", told["sentence"]]


def figure(told: dict) -> go.Figure:
    """A panel for each column: a row's distance from the row they are compared with, ours and the paper's, since the
    figures themselves are of models of other sizes and other data."""
    titles = [safe(_head(column)) for column in told["columns"].values()]
    drawn = make_subplots(1, max(1, len(titles)), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
    names = [name for name in told["rows"] if name != told["against"]]
    for place, column in enumerate(told["columns"], 1):
        base = told["rows"].get(told["against"], {"cells": {}})["cells"].get(column)
        for who, key, colour in (("here", "mean", BLUE), ("the paper", "paper", GREY)):
            values, errors = [], []
            for name in names:
                cell = told["rows"][name]["cells"].get(column)
                known = base and cell and None not in (cell[key], base[key])
                values.append(cell[key] - base[key] if known else None)
                errors.append((cell["spread"] or 0) if known and key == "mean" else 0)
            drawn.add_bar(
                x=values, y=[safe(told["rows"][name]["title"]) for name in names], orientation="h", name=who,
                marker={"color": colour, "pattern": {"shape": "" if key == "mean" else "/"}}, legendgroup=who,
                showlegend=place == 1, error_x={"array": errors, "visible": any(errors)},
                hovertemplate=f"%{{y}}, {who}: %{{x:+.2f}}<extra></extra>", row=1, col=place,
            )  # fmt: skip
    begin = told["rows"].get(told["against"], {"title": told["against"]})["title"]
    drawn.update_layout(
        template=TEMPLATE, height=170 + 56 * len(names), barmode="group", legend={"y": -0.12, "yanchor": "top"},
        title={"text": safe(f"{told['title']}: difference from “{begin}”"), "x": 0.01}, margin={"t": 84, "l": 8},
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

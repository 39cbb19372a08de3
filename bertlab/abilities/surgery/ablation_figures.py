"""A reproduced ablation table of the BERT paper, with the paper's results: as Markdown and as a Plotly figure.

`markdown` and `figure` take the dictionary that `training.paper.reproduce.read_table` returns.
"""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertlab.views.figures import BLUE, GREY, TEMPLATE, escape_markup


def markdown(table: dict) -> list[str]:
    """Return the lines of the title, the table (mean and spread over the seeds) and the conclusion.

    >>> column = {"title": "SST-2", "task": "sst2", "paper_task": "MNLI", "lower": False}
    >>> cell = {"values": [70.0, 71.0], "mean": 70.5, "spread": 0.7, "paper": 84.2}
    >>> row = {"title": "80 / 10 / 10", "cells": {"sst2": cell}, "tokens": 12000}
    >>> table = {"table": "table8", "title": "Masks", "source": "Table 8", "columns": {"sst2": column}}
    >>> print("\\n".join(markdown(table | {"rows": {"m": row}, "sentence": "All agree."})))
    **table8: Masks** (Table 8; the paper's results in brackets)
    <BLANKLINE>
    | | SST-2: sst2 (MNLI) | tokens |
    |---|---|---|
    | 80 / 10 / 10 | 70.50 ± 0.70 (84.2) | 12,000 |
    <BLANKLINE>
    All agree.
    """
    has_tokens = any("tokens" in row for row in table["rows"].values())
    headings = [_column_heading(column) for column in table["columns"].values()] + (["tokens"] if has_tokens else [])
    lines = [f"**{table['table']}: {table['title']}** ({table['source']}; the paper's results in brackets)", ""]
    lines += [f"| | {' | '.join(headings)} |", f"|{'---|' * (len(headings) + 1)}"]
    for row in table["rows"].values():
        texts = [_format_cell(row["cells"].get(name)) for name in table["columns"]]
        texts += [f"{row['tokens']:,}" if "tokens" in row else ""] if has_tokens else []
        lines.append(f"| {row['title']} | {' | '.join(texts)} |")
    return [*lines, "", table["sentence"]]


def figure(table: dict) -> go.Figure:
    """Draw how much every row differs from the reference row, in our results and in the paper's: one panel per column.

    The key of the reference row is `table["against"]`. Our models and our data differ from the paper's in size, so
    our results cannot be compared with the paper's directly, but the differences can.
    """
    titles = [escape_markup(_column_heading(column)) for column in table["columns"].values()]
    chart = make_subplots(1, max(1, len(titles)), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
    names = [name for name in table["rows"] if name != table["against"]]  # all rows but the reference row
    for panel, column in enumerate(table["columns"], 1):
        reference_cell = table["rows"].get(table["against"], {"cells": {}})["cells"].get(column)
        # (name in the legend, key of the result in a cell, colour of the bars)
        for source, key, colour in (("here", "mean", BLUE), ("the paper", "paper", GREY)):
            values, errors = [], []
            for name in names:
                cell = table["rows"][name]["cells"].get(column)
                has_difference = reference_cell and cell and None not in (cell[key], reference_cell[key])
                values.append(cell[key] - reference_cell[key] if has_difference else None)
                errors.append((cell["spread"] or 0) if has_difference and key == "mean" else 0)
            chart.add_bar(
                x=values, y=[escape_markup(table["rows"][name]["title"]) for name in names], orientation="h",
                name=source, legendgroup=source,
                marker={"color": colour, "pattern": {"shape": "" if key == "mean" else "/"}},
                showlegend=panel == 1, error_x={"array": errors, "visible": any(errors)},
                hovertemplate=f"%{{y}}, {source}: %{{x:+.2f}}<extra></extra>", row=1, col=panel,
            )  # fmt: skip
    reference = table["rows"].get(table["against"], {"title": table["against"]})["title"]
    chart.update_layout(
        template=TEMPLATE, height=170 + 56 * len(names), barmode="group", legend={"y": -0.12, "yanchor": "top"},
        title={"text": escape_markup(f"{table['title']}: difference from “{reference}”"), "x": 0.01},
        margin={"t": 84, "l": 8},
    )  # fmt: skip
    chart.update_yaxes(autorange="reversed", automargin=True)
    chart.update_xaxes(zeroline=True, zerolinecolor=GREY)
    return chart


def _column_heading(column: dict) -> str:
    """Return the heading of a column: its title, our task if there is one, and in brackets the task of the paper.

    >>> _column_heading({"title": "SST-2", "task": "sst2", "paper_task": "MNLI"})
    'SST-2: sst2 (MNLI)'
    >>> _column_heading({"title": "Dev Set NER F1", "task": "ner", "paper_task": ""})
    'Dev Set NER F1'
    """
    task = f": {column['task']}" if column["task"] else ""
    return f"{column['title']}{task} ({column['paper_task']})" if column["paper_task"] else column["title"]


def _format_cell(cell: dict | None) -> str:
    """Write the mean and the spread of a cell and, in brackets, the paper's result."""
    if not cell:
        return ""
    spread = f" ± {cell['spread']:.2f}" if cell["spread"] is not None else ""
    return f"{cell['mean']:.2f}{spread}" + (f" ({cell['paper']})" if cell["paper"] is not None else "")

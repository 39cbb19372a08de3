"""A reproduced table of results on the paper's tasks, with the published results: as Markdown and as a figure.

`markdown` and `figure` take the result of `training.paper.benchmarks.summarise_benchmark`.
"""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertlab.config.languages import DEFAULT, render
from bertlab.views.export import Columns
from bertlab.views.figures import BLUE, GREY, TEMPLATE, add_bars, empty_figure, escape_markup

# (name of the system, split: "test", "dev" or "validation", result in percent)
TaskResult = tuple[str, str, float]

MISSING = "–"  # the text of a cell without a result
# key of an average in a row -> heading of its column
AVERAGES = {"paper_average": "average of the columns", "glue_average": "GLUE average"}


def markdown(table: dict) -> list[str]:
    """Return the lines of the title, the table (our row last, with the spread over the seeds) and the conclusion.

    >>> column = {"name": "rte.accuracy", "title": "RTE", "task": "rte"}
    >>> base = {"title": "BERT base", "split": "test", "source": "paper", "values": {"rte.accuracy": 66.4}}
    >>> ours = {"title": "ours", "split": "validation", "source": "here", "values": {}, "spreads": {}}
    >>> table = {"table": "table1", "title": "GLUE", "source": "Table 1", "columns": [column]}
    >>> print("\\n".join(markdown(table | {"rows": [base, ours], "sentence": "Missing: RTE."})))
    **table1: GLUE** (Table 1)
    <BLANKLINE>
    | | rows | RTE |
    |---|---|---|
    | BERT base | test | 66.4 |
    | ours | validation | – |
    <BLANKLINE>
    Missing: RTE.
    """
    averages = [name for name in AVERAGES if any(name in row for row in table["rows"])]
    headings = ["rows", *(column["title"] for column in table["columns"]), *(AVERAGES[name] for name in averages)]
    lines = [f"**{table['table']}: {table['title']}** ({table['source']})", ""]
    lines += [f"| | {' | '.join(headings)} |", f"|{'---|' * (len(headings) + 1)}"]
    for row in table["rows"]:
        texts = [_format_value(row, column["name"]) for column in table["columns"]]
        texts += [MISSING if row.get(name) is None else f"{row[name]:.1f}" for name in averages]
        lines.append(f"| {row['title']} | {row['split']} | {' | '.join(texts)} |")
    return [*lines, "", table["sentence"]]


def figure(table: dict) -> go.Figure:
    """Draw the results of every row as points, one group of points for each column."""
    chart = go.Figure(layout={"template": TEMPLATE, "height": 420})
    titles = [escape_markup(column["title"]) for column in table["columns"]]
    for index, row in enumerate(table["rows"]):
        is_ours = row is table["rows"][-1]
        name = f"{row['title']} ({row['split']})"
        chart.add_scatter(
            x=titles, y=[row["values"].get(column["name"]) for column in table["columns"]], mode="markers",
            name=escape_markup(name),
            marker={
                "size": 15 if is_ours else 10, "symbol": "diamond" if is_ours else "circle",
                "color": BLUE if is_ours else GREY, "opacity": 1 if is_ours else 1 - 0.6 * index / len(table["rows"]),
            },
            hovertemplate=f"{escape_markup(name)}, %{{x}}: %{{y:.1f}}<extra></extra>",
        )  # fmt: skip
    title = {"text": escape_markup(f"{table['title']}: published results and ours"), "x": 0.01}
    return chart.update_layout(title=title, margin={"t": 84, "l": 8}, yaxis={"title": "%"})


def task_bars(results: Sequence[TaskResult], *, lang: str = DEFAULT) -> go.Figure:
    """Draw the results of several systems on one metric as horizontal bars; ours ("validation") are blue."""
    rows = list(results)[::-1]
    chart = empty_figure(height=50 + 32 * max(1, len(rows)))
    names = [f"{name} · {render(f'figure-split-{split}', lang)}" for name, split, _ in rows]
    values = [value for _, _, value in rows]
    colours = [BLUE if split == "validation" else GREY for _, split, _ in rows]
    add_bars(chart, values, names, [f"{value:.1f}" for value in values], colours)
    return chart.update_xaxes(range=[min(0, *values, 0), 112], visible=False)


def result_columns(results: Sequence[TaskResult]) -> Columns:
    """Return the data of `task_bars` as columns of a CSV file."""
    names, splits, values = zip(*results, strict=True)
    return {"system": list(names), "split": list(splits), "result": list(values)}


def _format_value(row: dict, name: str) -> str:
    if name not in row["values"]:
        return MISSING
    spread = row.get("spreads", {}).get(name)
    return f"{row['values'][name]:.1f}" + (f" ± {spread:.1f}" if spread is not None else "")

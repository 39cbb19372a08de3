"""Tables 1 to 4 of the paper: GLUE, SQuAD v1.1, SQuAD v2.0 and SWAG, with the published results beside ours.

A cell is the result for one task and one seed, even if the task has several columns in the paper, as MNLI has.
Source: Devlin et al. 2019 (arXiv 1810.04805), section 4.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from bertlab.config.paper import (
    COLUMNS,
    PUBLISHED,
    TITLES,
    compute_glue_average,
    compute_glue_task_scores,
    compute_paper_average,
)
from bertlab.training.paper.ablations import Column, Row, Table

OURS = "ours"  # the name of the row with our results
# Name of a table -> the section of the paper that contains it.
SECTIONS = {"table1": "4.1", "table2": "4.2", "table3": "4.3", "table4": "4.4"}

# Name of a table -> the table, with one row for our checkpoint and one column for each task.
BENCHMARK_TABLES = {
    name: Table(
        TITLES[name],
        f"table {name[-1]}, section {SECTIONS[name]}",
        {column.task: Column(column.title, "finetune", column.task) for column in columns},
        {OURS: Row("our checkpoint", "", {})},
    )
    for name, columns in COLUMNS.items()
}


def summarise_benchmark(table: str, title: str, cells: Mapping[str, Sequence[Mapping]]) -> dict:
    """Combine our finished cells, {task: a cell for each seed}, with the published results.

    "figures" of a cell contains all metrics in percent.
    """
    ours, spreads = {}, {}  # name of a column -> mean, and standard deviation, over the seeds
    for name, results in cells.items():
        for metric in results[0]["figures"] if results else ():
            values = [result["figures"].get(metric) for result in results]
            if all(isinstance(value, int | float) for value in values):
                ours[f"{name}.{metric}"] = statistics.mean(values)
                if len(values) > 1:
                    spreads[f"{name}.{metric}"] = statistics.stdev(values)
    columns = [
        {"name": column.name, "title": column.title, "task": column.task}
        for column in COLUMNS[table]
        if column.name in ours or any(column.name in row.values for row in PUBLISHED[table])
    ]
    rows = [
        {"title": row.title, "split": row.split, "source": row.source, "values": row.values}
        | ({"published_average": row.average} | _compute_averages(row.values) if table == "table1" else {})
        for row in PUBLISHED[table]
    ]
    own_row = {"title": title, "split": "validation", "source": "here", "values": ours, "spreads": spreads}
    rows.append(own_row | (_compute_averages(ours) if table == "table1" else {}))
    missing_titles = [column["title"] for column in columns if column["name"] not in ours]
    result = {
        "table": table,
        "title": TITLES[table],
        "source": f"Devlin et al. 2019, {BENCHMARK_TABLES[table].source}",
        "columns": columns,
        "rows": rows,
        "missing": missing_titles,
    }
    return result | {"sentence": _summarise(result)}


def _compute_averages(values: Mapping[str, float]) -> dict:
    return {"paper_average": compute_paper_average(values), "glue_average": compute_glue_average(values)}


def _summarise(table: dict) -> str:
    ours, sentences = table["rows"][-1]["values"], []
    if table["missing"]:
        sentences.append(f"Missing: {', '.join(table['missing'])}.")
    present_columns = [column["name"] for column in table["columns"] if column["name"] in ours]
    if table["table"] == "table1" and present_columns and table["missing"]:
        means = [
            f"{row['title']} {statistics.mean(row['values'][name] for name in present_columns):.1f}"
            for row in (table["rows"][-1], *table["rows"][:-1])
        ]
        count = len(compute_glue_task_scores(ours))
        columns_text = "1 column" if len(present_columns) == 1 else f"{len(present_columns)} columns"
        sentences.append(
            f"No average, because only {count} of 8 tasks are there. Mean of the {columns_text} that we have:"
        )
        sentences[-1] += f" {', '.join(means)}."
    sentences.append("Our results are on the validation rows at hand, so compare them with test results with care.")
    return " ".join(sentences)


def read_cells(directory: Path) -> tuple[str, dict[str, list[dict]]]:
    """Read what `bertlab reproduce` wrote for one of tables 1 to 4 -> the checkpoint, and the metrics by task and seed.

    ("", {}) if the directory contains none of these tables.
    """
    settings = _read_json(directory / "reproduce.json")
    if settings.get("table") not in BENCHMARK_TABLES:
        return "", {}
    metrics_by_task: dict[str, list[dict]] = {}
    for name in BENCHMARK_TABLES[settings["table"]].columns:
        for path in sorted(directory.glob(f"{OURS}-seed*/{name}.json")):
            if metrics := select_metrics(_read_json(path).get("figures")):
                metrics_by_task.setdefault(name, []).append(metrics)
    return str(settings.get("from_", "")), metrics_by_task


def select_metrics(metrics: object) -> dict[str, float]:
    """Select the finite numbers among the values of a dictionary from a file; {} for anything but a dictionary."""
    items = metrics.items() if isinstance(metrics, dict) else ()
    return {name: value for name, value in items if type(value) in (int, float) and math.isfinite(value)}


def _read_json(path: Path) -> dict:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

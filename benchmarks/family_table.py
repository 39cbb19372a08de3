"""The tables of `bertlab bench families`: means and spreads over the seeds, as Markdown and as recorded results."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.family_runs import GLUE, TASKS, describe_pretraining

# These dictionaries contain the names in the tables: task, metric or family -> name.
TASK_TITLES = {"sst2": "SST-2", "mrpc": "MRPC", "stsb": "STS-B", "cola": "CoLA", "squad": "SQuAD"}
METRIC_TITLES = {
    "accuracy": "accuracy", "f1": "F1", "spearman": "Spearman", "matthews": "Matthews correlation",
}  # fmt: skip
FAMILY_TITLES = {
    "bert": "BERT", "roberta": "RoBERTa's recipe", "albert": "ALBERT", "electra": "ELECTRA", "modernbert": "ModernBERT",
    "distilbert": "DistilBERT",
}  # fmt: skip
INTRODUCTION = """\
# BERT and the families after it, at the same size and time

`bertlab bench families --document docs/families.md` writes this file from `benchmarks/families.jsonl`, to which every
finished run appends a row; a family or a value without a finished run is not listed yet. Values are means over the
seeds, followed by ± the standard deviation if there are several. All families have the same number of layers, hidden
size, heads, vocabulary, text, batches, optimiser and learning rate, and the same CPU time with one thread. They differ
in what their papers change: the architecture and the objectives. ALBERT shares the weights of all layers, and ALBERT
and ELECTRA have narrower embeddings, so the numbers of parameters differ.

- **Masked-token accuracy** and **bits per character** are measured on the same held-out inputs without sentence pairs,
  with the same 15 % of the tokens masked. ELECTRA's are those of its generator, whose layers are a quarter as wide.
- **Parameters** are those of the embeddings and the layers, without output layers and generator.
- The learning rate was chosen for BERT of sizes 2 x 128 and 4 x 256 in earlier experiments (docs/lab-notebook.md), and
  nothing was tuned for another family. Where a paper recommends other settings for its larger models, such as
  ELECTRA's larger batches, they were not tried.
- All but ModernBERT, which has no position embeddings, start with heads that attend to neighbouring tokens. DistilBERT
  starts from its teacher, whose own training is not counted (*scratch*: five hours with one thread).
- Always predicting the most frequent label gives 50.9 on SST-2, 81.2 on MRPC and 0 on CoLA; a constant prediction
  gives 0 on STS-B.
- ModernBERT is computed with padding and without bertlab's faster implementations, so its speed is partly due to our
  code.
- Tokens per second are measured in processor time. They also depend on what else the machine computed meanwhile, and so
  does the number of tokens.
"""


@dataclass(frozen=True)
class FamilySummary:
    """The values of a family in the table: the means over its seeds."""

    family: str  # the family, a key of `FAMILY_TITLES`
    seeds: int  # the number of pre-training runs
    values: dict[str, tuple[float, float | None, int]]
    """Name of the value -> mean over the seeds, their standard deviation (None for one seed), number of seeds."""


@dataclass(frozen=True)
class FamilyTable:
    """A table of runs with the same settings."""

    settings: dict  # the settings that all rows have in common
    hardware: str  # the machines
    dates: tuple[str, str]  # the days of the first and the last run, as YYYY-MM-DD
    families: tuple[FamilySummary, ...]  # the families


def summarise(groups: Sequence[Sequence[dict]]) -> list[FamilyTable]:
    """Make a table of each group of rows with the same settings."""
    tables = []
    for rows in groups:
        if not rows:
            continue
        families = [family for family in FAMILY_TITLES if any(row["family"] == family for row in rows)]
        days = sorted(row["date"] for row in rows)
        hardware = ", ".join(dict.fromkeys(row["hardware"] for row in rows))
        summaries = tuple(_summarise_family(family, rows) for family in families)
        tables.append(FamilyTable(rows[0]["settings"], hardware, (days[0], days[-1]), summaries))
    return tables


def _summarise_family(family: str, rows: Sequence[dict]) -> FamilySummary:
    family_rows = [row for row in rows if row["family"] == family]
    pretraining = [row for row in family_rows if row["part"] == "pretraining"]
    values: dict[str, list[float]] = {}  # name of a value -> the values of the seeds
    for row in pretraining:
        for name, value in row.items():
            if isinstance(value, int | float) and name != "seed":
                values.setdefault(name, []).append(value)
    for row in family_rows:
        if row["part"] in TASKS:
            values.setdefault(row["part"], []).append(row["value"])
    glue_rows = [row for row in family_rows if row["part"] in GLUE]
    glue_scores = {  # seed -> {task: score}
        seed: {row["part"]: row["value"] for row in glue_rows if row["seed"] == seed}
        for seed in {row["seed"] for row in glue_rows}
    }
    values["glue"] = [statistics.mean(scores.values()) for scores in glue_scores.values() if len(scores) == len(GLUE)]
    summary = {
        name: (
            statistics.mean(seed_values),
            statistics.stdev(seed_values) if len(seed_values) > 1 else None,
            len(seed_values),
        )
        for name, seed_values in values.items()
        if seed_values
    }
    return FamilySummary(family, len(pretraining), summary)


def format_document(tables: Sequence[FamilyTable]) -> list[str]:
    """Return the lines of docs/families.md, with the newest table first."""
    lines = INTRODUCTION.splitlines()
    for table in reversed(tables):
        lines += ["", *_format_table(table)]
    return lines


def _format_table(table: FamilyTable) -> list[str]:
    settings = table.settings
    size = f"{settings['layers']} x {settings['hidden']}"
    days = " to ".join(dict.fromkeys(table.dates))
    tasks = ", ".join(
        f"{TASK_TITLES[name]} ({METRIC_TITLES[recipe['metric']]}; {_count_rows(settings, name):,} rows, "
        f"epochs: {recipe['epochs']:g}{_describe_validation(recipe)})"
        for name, recipe in settings["tasks"].items()
    )
    lines = [
        f"## {size}, {settings['minutes']:g} minutes",
        "",
        f"{settings['attention_heads']} heads, batches of {settings['batch_size']} x {settings['max_tokens']} tokens, "
        f"{100 * settings['chosen_share']:g} % of them predicted (ModernBERT: 30 %), Muon with a learning rate of "
        f"{settings['lr']:g}, {settings['precision']}; teacher: *{settings['teacher']}*. "
        f"Text: {settings['corpus']['tokens']:,} tokens; held out: {settings['evaluation_rows']:,} inputs. "
        f"{days}, {table.hardware}.",
        "",
        "| family | trained on | seeds | parameters | million tokens | tokens/s | masked-token accuracy "
        "| bits per character |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for summary in table.families:
        values = summary.values
        lines.append(
            f"| {FAMILY_TITLES[summary.family]} | {describe_pretraining(summary.family)} | {summary.seeds} "
            f"| {values['parameters'][0] / 1e6:.2f} M | {_format_value(values, 'tokens', 2, 1e-6)} "
            f"| {_format_value(values, 'tokens_per_second', 0)} | {_format_value(values, 'masked_accuracy', 1, 100)} % "
            f"| {_format_value(values, 'bits_per_character', 2)} |"
        )
    for values in (summary.values for summary in table.families if "replaced_recall" in summary.values):
        recall, precision = (_format_value(values, f"replaced_{name}", 1, 100) for name in ("recall", "precision"))
        note = f"ELECTRA's discriminator finds {recall} % of the replaced tokens, with a precision of {precision} %."
        lines += ["", note]
    titles = " | ".join(TASK_TITLES.values())
    lines += ["", f"Fine-tuned on {tasks}, with AdamW at {settings['finetuning']['lr']:g}; in per cent:", ""]
    lines += [
        f"| family | seeds | {titles} | mean of {len(GLUE)} GLUE tasks |",
        "|---|---:|" + "---:|" * (len(TASKS) + 1),
    ]
    for summary in table.families:
        cells = [_format_value(summary.values, name, 1) for name in (*TASKS, "glue")]
        seeds = max((summary.values[name][2] for name in TASKS if name in summary.values), default=0)
        lines.append(f"| {FAMILY_TITLES[summary.family]} | {seeds} | {' | '.join(cells)} |")
    return lines


def _describe_validation(recipe: dict) -> str:
    return f", evaluated on {recipe['validation_rows']:,} rows" if recipe["validation_rows"] else ""


def _count_rows(settings: dict, name: str) -> int:
    return min(settings["tasks"][name]["rows"], settings["task_rows"] or 10**9)


def _format_value(values: dict, name: str, decimals: int, scale: float = 1.0) -> str:
    """Return a mean with its standard deviation; "" if there is no value.

    >>> _format_value({"sst2": (70.0, 1.26, 3)}, "sst2", 1)
    '70.0 ± 1.3'
    >>> _format_value({"tokens": (2e6, None, 1)}, "tokens", 1, 1e-6)
    '2.0'
    """
    if name not in values:
        return ""
    mean, deviation, _ = values[name]
    spread = "" if deviation is None else f" ± {scale * deviation:,.{decimals}f}"
    return f"{scale * mean:,.{decimals}f}{spread}"

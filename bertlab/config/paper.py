"""The eleven tasks of the BERT paper, and published results on them, as data.

Sources: Devlin et al. 2019 (arXiv 1810.04805), tables 1 to 4; README of github.com/google-research/bert for the
small models, which Turc et al. 2019 (arXiv 1908.08962) describe.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# The sources of published results: the BERT paper, and the README with the results of the small models.
PAPER = "arXiv 1810.04805"
SMALL_MODELS = "github.com/google-research/bert"
Split = Literal["test", "dev"]


@dataclass(frozen=True)
class Measure:
    """A metric on a task: a column of one of the paper's tables."""

    task: str  # the task, a name of `config.tasks.TASKS`
    metric: str  # the metric, a name in the results of an evaluation of the task
    title: str  # the name of the column, such as "MNLI-mm"

    @property
    def name(self) -> str:
        """The key of the values of this metric, such as "qqp.f1"."""
        return f"{self.task}.{self.metric}"


@dataclass(frozen=True)
class PaperTask:
    """A task of the paper."""

    name: str  # the name of the task in `config.tasks.TASKS`
    title: str
    table: str  # the table of the paper that reports it, such as "table1"
    training_rows: int
    """The number of rows of the training set, as in the paper or the data set's publication; approximate in GLUE."""
    metrics: tuple[str, ...]  # the metrics that the paper or GLUE reports; the first is the paper's
    text_example: tuple[str, ...]  # the texts of an example that we wrote, in the order of the task's columns
    answer: str


@dataclass(frozen=True)
class PublishedRow:
    """The published results of one system in one table."""

    title: str  # the system, such as "BERT base"
    split: Split  # the rows that the results were measured on: the test set or the development set
    source: str  # the publication
    values: dict[str, float]  # the results in percent, by `Measure.name`
    average: float | None = None  # the published average over the tasks; None if there is none


# The columns of tables 1 to 4, in the paper's order. Table 1 is GLUE; `GLUE_METRICS` also has the second metrics of its
# tasks, which GLUE averages with the first.
COLUMNS = {
    "table1": (
        Measure("mnli", "accuracy", "MNLI-m"),
        Measure("mnli", "mismatched_accuracy", "MNLI-mm"),
        Measure("qqp", "f1", "QQP F1"),
        Measure("qnli", "accuracy", "QNLI"),
        Measure("sst2", "accuracy", "SST-2"),
        Measure("cola", "matthews", "CoLA Matthews"),
        Measure("stsb", "spearman", "STS-B Spearman"),
        Measure("mrpc", "f1", "MRPC F1"),
        Measure("rte", "accuracy", "RTE"),
    ),
    "table2": (Measure("squad", "exact_match", "EM"), Measure("squad", "f1", "F1")),
    "table3": (Measure("squad_v2", "exact_match", "EM"), Measure("squad_v2", "f1", "F1")),
    # ComVE is not in the paper. It replaces SWAG if the SWAG data set is not available.
    "table4": (Measure("swag", "accuracy", "SWAG"), Measure("comve", "accuracy", "ComVE (not in the paper)")),
}
# table -> the benchmark that it reports
TITLES = {"table1": "GLUE", "table2": "SQuAD v1.1", "table3": "SQuAD v2.0", "table4": "SWAG"}
REPLACEMENT_TASKS = {"swag": "comve"}  # task -> the task that replaces it if its data set is not available

# Task of GLUE -> its metrics; GLUE uses their mean as the score of the task. WNLI is excluded, as in the paper.
GLUE_METRICS = {
    "mnli": ("accuracy", "mismatched_accuracy"),
    "qqp": ("f1", "accuracy"),
    "qnli": ("accuracy",),
    "sst2": ("accuracy",),
    "cola": ("matthews",),
    "stsb": ("spearman", "pearson"),
    "mrpc": ("f1", "accuracy"),
    "rte": ("accuracy",),
}

# the eleven tasks, in the order of the tables
TASKS = (
    PaperTask("mnli", "MNLI", "table1", 393_000, GLUE_METRICS["mnli"],
              ("The bakery sold its last loaf before noon.", "There was bread left in the evening."),
              "contradiction"),
    PaperTask("qqp", "QQP", "table1", 364_000, GLUE_METRICS["qqp"],
              ("How can I sharpen a kitchen knife at home?", "What is a good way to sharpen knives myself?"),
              "duplicate"),
    PaperTask("qnli", "QNLI", "table1", 105_000, GLUE_METRICS["qnli"],
              ("When does the ferry leave?", "The ferry leaves the north pier at half past six."), "entailment"),
    PaperTask("sst2", "SST-2", "table1", 67_000, GLUE_METRICS["sst2"],
              ("A slow start, but the last half hour is a small wonder.",), "positive"),
    PaperTask("cola", "CoLA", "table1", 8_500, GLUE_METRICS["cola"],
              ("The gardener watered the roses that yesterday.",), "unacceptable"),
    PaperTask("stsb", "STS-B", "table1", 5_700, GLUE_METRICS["stsb"],
              ("A woman is slicing an onion in the kitchen.", "In the kitchen, a woman is cutting up an onion."),
              "≈ 5 / 5"),
    PaperTask("mrpc", "MRPC", "table1", 3_700, GLUE_METRICS["mrpc"],
              ("The council voted on Monday to close the old bridge.",
               "The old bridge will be closed, the council decided on Monday."), "equivalent"),
    PaperTask("rte", "RTE", "table1", 2_500, GLUE_METRICS["rte"],
              ("The museum bought two paintings by Anna Berg at an auction in Oslo.",
               "Paintings by Anna Berg were sold in Oslo."), "entailment"),
    PaperTask("squad", "SQuAD v1.1", "table2", 87_599, ("exact_match", "f1"),
              ("The lighthouse was built in 1874, and its last keeper left in 1987.",
               "When did the last keeper leave?"), "1987"),
    PaperTask("squad_v2", "SQuAD v2.0", "table3", 130_319, ("exact_match", "f1"),
              ("The lighthouse was built in 1874, and its last keeper left in 1987.",
               "Who painted the lighthouse?"), "no answer"),
    PaperTask("swag", "SWAG", "table4", 73_546, ("accuracy",),
              ("She fills the kettle and puts it on the stove.", "She waits until the water boils.",
               "She folds the stove into her pocket.", "She swims across the kettle.", "She paints the water red."),
              "She waits until the water boils."),
)  # fmt: skip


def _make_glue_row(
    title: str, split: Split, source: str, average: float, **results: float | tuple[float, ...]
) -> PublishedRow:
    """Make a row of GLUE.

    Args:
        results: task -> the value of its first metric, or its values in the order of `GLUE_METRICS`.
    """
    values: dict[str, float] = {}
    for task, result in results.items():
        task_values = result if isinstance(result, tuple) else (result,)
        values |= {f"{task}.{metric}": value for metric, value in zip(GLUE_METRICS[task], task_values, strict=False)}
    return PublishedRow(title, split, source, values, average)


# table -> the published results on its tasks
PUBLISHED = {
    # In the paper, the average is the mean of the nine columns.
    "table1": (
        _make_glue_row(
            "BERT large", "test", PAPER, 82.1,
            mnli=(86.7, 85.9), qqp=72.1, qnli=92.7, sst2=94.9, cola=60.5, stsb=86.5, mrpc=89.3, rte=70.1,
        ),
        _make_glue_row(
            "BERT base", "test", PAPER, 79.6,
            mnli=(84.6, 83.4), qqp=71.2, qnli=90.5, sst2=93.5, cola=52.1, stsb=85.8, mrpc=88.9, rte=66.4,
        ),
        # The README gives Pearson before Spearman for STS-B; here Spearman comes first, as in `GLUE_METRICS`. The
        # average given for each of these four models is its GLUE score, which includes WNLI (62.3 for each model).
        _make_glue_row(
            "BERT medium (8/512)", "test", SMALL_MODELS, 73.5,
            mnli=(80.0, 79.1), qqp=(69.6, 87.9), qnli=87.7, sst2=89.6, cola=38.0, stsb=(78.4, 80.4),
            mrpc=(86.6, 81.6), rte=62.2,
        ),
        _make_glue_row(
            "BERT small (4/512)", "test", SMALL_MODELS, 71.2,
            mnli=(77.6, 77.0), qqp=(68.1, 87.0), qnli=86.4, sst2=89.7, cola=27.8, stsb=(77.0, 78.8),
            mrpc=(83.4, 76.2), rte=61.8,
        ),
        _make_glue_row(
            "BERT mini (4/256)", "test", SMALL_MODELS, 65.8,
            mnli=(74.8, 74.3), qqp=(66.4, 86.2), qnli=84.1, sst2=85.9, cola=0.0, stsb=(73.3, 75.4),
            mrpc=(81.1, 71.8), rte=57.9,
        ),
        _make_glue_row(
            "BERT tiny (2/128)", "test", SMALL_MODELS, 64.2,
            mnli=(70.2, 70.3), qqp=(62.2, 83.4), qnli=81.5, sst2=83.2, cola=0.0, stsb=(73.6, 74.3),
            mrpc=(81.1, 71.1), rte=57.2,
        ),
    ),
    "table2": (
        PublishedRow("Human", "test", PAPER, {"squad.exact_match": 82.3, "squad.f1": 91.2}),
        PublishedRow("BERT large (single)", "dev", PAPER, {"squad.exact_match": 84.1, "squad.f1": 90.9}),
        PublishedRow("BERT base (single)", "dev", PAPER, {"squad.exact_match": 80.8, "squad.f1": 88.5}),
    ),
    "table3": (
        PublishedRow("Human", "test", PAPER, {"squad_v2.exact_match": 86.9, "squad_v2.f1": 89.5}),
        PublishedRow("Human", "dev", PAPER, {"squad_v2.exact_match": 86.3, "squad_v2.f1": 89.0}),
        PublishedRow("BERT large (single)", "test", PAPER, {"squad_v2.exact_match": 80.0, "squad_v2.f1": 83.1}),
        PublishedRow("BERT large (single)", "dev", PAPER, {"squad_v2.exact_match": 78.7, "squad_v2.f1": 81.9}),
    ),
    "table4": (
        PublishedRow("Human (5 annotations)", "test", PAPER, {"swag.accuracy": 88.0}),
        PublishedRow("Human (expert)", "test", PAPER, {"swag.accuracy": 85.0}),
        PublishedRow("BERT large", "test", PAPER, {"swag.accuracy": 86.3}),
        PublishedRow("BERT large", "dev", PAPER, {"swag.accuracy": 86.6}),
        PublishedRow("BERT base", "dev", PAPER, {"swag.accuracy": 81.6}),
        PublishedRow("OpenAI GPT", "test", PAPER, {"swag.accuracy": 78.0}),
        PublishedRow("ESIM+ELMo", "test", PAPER, {"swag.accuracy": 59.2}),
        PublishedRow("ESIM+ELMo", "dev", PAPER, {"swag.accuracy": 59.1}),
        PublishedRow("ESIM+GloVe", "test", PAPER, {"swag.accuracy": 52.7}),
        PublishedRow("ESIM+GloVe", "dev", PAPER, {"swag.accuracy": 51.9}),
    ),
}  # fmt: skip


def compute_paper_average(values: Mapping[str, float]) -> float | None:
    """Compute the average of table 1: the mean of its nine columns; None if one is missing.

    Source: Devlin et al. 2019, table 1, whose averages 79.6 and 82.1 are these means.
    """
    names = [column.name for column in COLUMNS["table1"]]
    return statistics.mean(values[name] for name in names) if all(name in values for name in names) else None


def compute_glue_task_scores(values: Mapping[str, float]) -> dict[str, float]:
    """Compute GLUE's score of each task: the mean of its metrics. A task that lacks a metric is left out.

    >>> compute_glue_task_scores({"mrpc.f1": 80.0, "mrpc.accuracy": 70.0, "qqp.f1": 60.0})
    {'mrpc': 75.0}
    """
    scores = {}
    for task, metrics in GLUE_METRICS.items():
        results = [values.get(f"{task}.{metric}") for metric in metrics]
        if None not in results:
            scores[task] = statistics.mean(results)
    return scores


def compute_glue_average(values: Mapping[str, float]) -> float | None:
    """Compute GLUE's average over the tasks, without WNLI; None if a metric is missing.

    The score of a task is the mean of its metrics; the two test sets of MNLI count as two metrics of one task.

    Source: Wang et al. 2018 (arXiv 1804.07461), section 4.
    """
    scores = compute_glue_task_scores(values)
    return statistics.mean(scores.values()) if len(scores) == len(GLUE_METRICS) else None

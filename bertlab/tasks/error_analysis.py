"""The results of an error analysis: scored rows, a confusion matrix, and metrics for groups of questions.

Shape legend: G labels of the data (gold), P predictions.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.text.readers.rows import Rows

ANALYSIS_BATCH_SIZE = 16  # inputs in a batch; few, so that the progress bar of an error analysis is updated often


@dataclass(frozen=True)
class ScoredRow:
    """A labelled row with its prediction and score."""

    id: str
    texts: tuple[str, ...]
    """As `Example.texts`."""
    gold: str
    """The label, as text."""
    prediction: str
    score: float
    """From 0 (wrong) to 1 (correct): the F1 of an answer, or the share of correct tags or sentences. Always 0 for
    regression."""
    probability: float | None
    """The probability of the label; the lowest one of the gold tags or sentences; the sum of those of the gold answers
    among the best spans. None for regression."""
    values: tuple[float, float] | None = None
    """For regression, the label and the prediction as numbers."""

    @property
    def ease(self) -> tuple[float, ...]:
        """The sort key of `ErrorAnalysis.sort_by_difficulty`: the harder the row, the lower the key."""
        if self.values is not None:
            return (-abs(self.values[0] - self.values[1]),)
        return (self.probability, self.score)


@dataclass(frozen=True)
class ConfusionMatrix:
    """A confusion matrix; each cell lists the data rows that it counts."""

    names: tuple[str, ...]
    """The labels. "" means no entity: the prediction for a missed entity, or the label of a wrongly predicted one."""
    cells: dict[tuple[int, int], tuple[int, ...]]
    """(index of the label, index of the prediction) -> the indices of the data rows that the cell counts. A data row
    with several entities may be in several cells."""
    counts_rows: bool = True
    """Whether each data row is in exactly one cell; only then `majority_share` is an accuracy."""

    @cached_property
    def counts_GP(self) -> np.ndarray:
        """How often each label (row) received each prediction (column)."""
        counts_GP = np.zeros((len(self.names), len(self.names)), np.int64)
        for cell, rows in self.cells.items():
            counts_GP[cell] = len(rows)
        return counts_GP

    @property
    def shares_GP(self) -> np.ndarray:
        """`counts_GP`, with each row divided by its sum; 0 for a label that does not occur."""
        return self.counts_GP / np.maximum(self.counts_GP.sum(1, keepdims=True), 1)

    @property
    def majority_share(self) -> float:
        """The accuracy of always predicting the most frequent label."""
        return float(self.counts_GP.sum(1).max() / self.counts_GP.sum())


def build_confusion_matrix(
    names: Sequence[str], pairs: Sequence[tuple[tuple[int, int], int]], counts_rows: bool = True
) -> ConfusionMatrix:
    """Build a confusion matrix from ((index of the label, index of the prediction), index of the data row)."""
    cells = defaultdict(list)
    for cell, row in pairs:
        cells[cell].append(row)
    return ConfusionMatrix(tuple(names), {cell: tuple(rows) for cell, rows in cells.items()}, counts_rows)


@dataclass(frozen=True)
class QuestionGroup:
    """A group of questions, such as those with the question word "who", and its metrics in percent."""

    name: str
    rows: tuple[int, ...]
    """The indices of the questions in the group."""
    exact_match: float
    f1: float


@dataclass(frozen=True)
class TaskAnalysis:
    """The part of an error analysis that a task type computes."""

    metrics: dict[str, float]
    """The task's metrics in percent."""
    rows: list[ScoredRow]
    """One scored row per example, in order."""
    confusion: ConfusionMatrix | None = None
    """For classification, multiple choice and tagging."""
    groups: dict[str, tuple[QuestionGroup, ...]] | None = None
    """For question answering: the groups by question word ("question") and by words in the answer ("length")."""


@dataclass(frozen=True)
class ErrorAnalysis:
    """The result of an error analysis."""

    name: str
    """The name of the file or data set."""
    spec: TaskSpec
    metrics: dict[str, float]
    """The task's metrics in percent."""
    rows: tuple[ScoredRow, ...]
    total: int
    """The number of rows in the file or data set."""
    num_valid: int
    """The number of valid rows."""
    invalid_rows: tuple[BertlabError, ...]
    """One error for each invalid row."""
    confusion: ConfusionMatrix | None = None
    groups: dict[str, tuple[QuestionGroup, ...]] | None = None
    """As in `TaskAnalysis`."""

    def sort_by_difficulty(self, rows: Sequence[int] | None = None) -> list[int]:
        """Sort rows (all, or those with these indices) from the hardest to the easiest; return their indices."""
        indices = range(len(self.rows)) if rows is None else sorted(set(rows))
        return sorted(indices, key=lambda row: self.rows[row].ease)


@dataclass(frozen=True)
class AnalysisRows(Rows):
    """Rows to analyse, and the errors of the rows that could not be read."""

    invalid_rows: tuple[BertlabError, ...] = ()

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


@dataclass(frozen=True)
class ScoredRow:
    """A labelled row with its prediction and score."""

    id: str
    """The id of the row."""
    texts: tuple[str, ...]
    """The texts: one or two texts, a context and its choices, the tokens, or a question and its passage."""
    gold: str
    """The label, as text."""
    prediction: str
    """The prediction, as text."""
    score: float
    """From 0 (wrong) to 1 (correct): the F1 of an answer, or the share of correct tags or sentences. Always 0 for
    regression."""
    probability: float | None
    """The probability of the label. For tags, the lowest probability of a gold tag in the sentence; for a summary, the
    lowest probability of a gold sentence; for an answer, the sum of the probabilities of the gold answers among the
    best spans. None for regression."""
    values: tuple[float, float] | None = None
    """For regression, the label and the prediction as numbers; otherwise None."""

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


def build_confusion_matrix(names: Sequence[str], pairs: Sequence[tuple[tuple[int, int], int]]) -> ConfusionMatrix:
    """Build a confusion matrix.

    Args:
        names: the labels, in the order of the matrix's rows and columns.
        pairs: ((index of the label, index of the prediction), index of the data row) for each prediction to count.
    """
    cells = defaultdict(list)
    for cell, row in pairs:
        cells[cell].append(row)
    return ConfusionMatrix(tuple(names), {cell: tuple(rows) for cell, rows in cells.items()})


@dataclass(frozen=True)
class QuestionGroup:
    """A group of questions and its metrics."""

    name: str
    """The name of the group, such as the question word "who"."""
    rows: tuple[int, ...]
    """The indices of the questions in the group."""
    exact_match: float
    """EM in percent."""
    f1: float
    """F1 in percent."""


@dataclass(frozen=True)
class TaskAnalysis:
    """The part of an error analysis that a task type computes."""

    metrics: dict[str, float]
    """The task's metrics in percent."""
    rows: list[ScoredRow]
    """One scored row per example, in order."""
    confusion: ConfusionMatrix | None = None
    """For classification, multiple choice and tagging; otherwise None."""
    groups: dict[str, tuple[QuestionGroup, ...]] | None = None
    """For question answering, see `ErrorAnalysis.groups`; otherwise None."""


@dataclass(frozen=True)
class ErrorAnalysis:
    """The result of an error analysis."""

    name: str
    """The name of the file or data set."""
    spec: TaskSpec
    """The task."""
    metrics: dict[str, float]
    """The task's metrics in percent."""
    rows: tuple[ScoredRow, ...]
    """The rows with their predictions and scores."""
    total: int
    """The number of rows in the file or data set."""
    num_valid: int
    """The number of valid rows."""
    invalid_rows: tuple[BertlabError, ...]
    """One error for each invalid row."""
    confusion: ConfusionMatrix | None = None
    """For classification, multiple choice and tagging; otherwise None."""
    groups: dict[str, tuple[QuestionGroup, ...]] | None = None
    """For question answering: under the key "question" the groups by question word, and under the key "length" the
    groups by the number of words in the answer. Otherwise None."""

    def sort_by_difficulty(self, rows: Sequence[int] | None = None) -> list[int]:
        """Sort rows from the hardest to the easiest: by the probability of the label or, in regression, by the error.

        Args:
            rows: the indices of the rows to sort; None sorts all rows.

        Returns:
            The sorted indices.
        """
        indices = range(len(self.rows)) if rows is None else sorted(set(rows))
        return sorted(indices, key=lambda row: self.rows[row].ease)


@dataclass(frozen=True)
class AnalysisRows(Rows):
    """Rows to analyse, and the errors of the rows that could not be read."""

    invalid_rows: tuple[BertlabError, ...] = ()
    """One error for each invalid row."""

"""The results of an error analysis: every row judged, a confusion matrix, groups of questions.

Shape legend: G labels of the data (gold), P predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.text.readers.rows import Rows


@dataclass(frozen=True)
class Judged:
    """A row and how its prediction compares with its label."""

    id: str
    """Of the row."""
    texts: tuple[str, ...]
    """One or two texts; a context and its choices; the tokens; or question and passage."""
    gold: str
    """The label, as text."""
    prediction: str
    """The prediction, as text."""
    score: float
    """1 correct, 0 wrong; between them the F1 of an answer or the share of correct tags."""
    probability: float | None
    """The probability of the label; of a sentence's tags the lowest, of an answer its share of the n-best. None for
    values."""
    values: tuple[float, float] | None = None
    """Label and prediction where they are values."""

    @property
    def ease(self) -> tuple[float, ...]:
        """A sorting key, lowest for the hardest rows."""
        if self.values is not None:
            return (-abs(self.values[0] - self.values[1]),)
        return (self.probability, self.score)


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix that remembers the rows behind each cell."""

    names: tuple[str, ...]
    """The labels. "" stands for no entity: a missed entity is predicted to be it, an invented one labelled with it."""
    cells: dict[tuple[int, int], tuple[int, ...]]
    """(label, prediction) -> the number of the row for each count. A row with several entities is in several cells."""

    @cached_property
    def counts_GP(self) -> np.ndarray:
        """How often each label (down) got each prediction (across)."""
        counts_GP = np.zeros((len(self.names), len(self.names)), np.int64)
        for place, rows in self.cells.items():
            counts_GP[place] = len(rows)
        return counts_GP

    @property
    def shares_GP(self) -> np.ndarray:
        """The share of each label that got each prediction; 0 where the label does not occur."""
        return self.counts_GP / np.maximum(self.counts_GP.sum(1, keepdims=True), 1)

    @property
    def majority_share(self) -> float:
        """The accuracy of always predicting the most frequent label."""
        return float(self.counts_GP.sum(1).max() / self.counts_GP.sum())


@dataclass(frozen=True)
class Group:
    """Questions with something in common."""

    name: str
    """What they have in common."""
    rows: tuple[int, ...]
    """The numbers of their rows."""
    exact_match: float
    """EM in percent."""
    f1: float
    """F1 in percent."""


@dataclass(frozen=True)
class Analysis:
    """What a task type finds out about the examples of one error analysis."""

    metrics: dict[str, float]
    """The task's metrics in percent."""
    judged: list[Judged]
    """Every example, in order."""
    confusion: Confusion | None = None
    """For labels, choices and tags."""
    groups: dict[str, tuple[Group, ...]] | None = None
    """For questions."""


@dataclass(frozen=True)
class Examination:
    """The result of an error analysis."""

    name: str
    """Where the rows come from."""
    spec: TaskSpec
    """The task."""
    metrics: dict[str, float]
    """The task's metrics in percent."""
    rows: tuple[Judged, ...]
    """The rows that were predicted."""
    total: int
    """How many rows there were to choose from."""
    usable: int
    """How many of them are valid."""
    left_out: tuple[BertlabError, ...]
    """Why rows were left out, one error for each."""
    confusion: Confusion | None = None
    """For labels, choices and tags."""
    groups: dict[str, tuple[Group, ...]] | None = None
    """For questions, by "question" word and by "length" of the answer in words."""

    def hardest(self, rows: Sequence[int] | None = None) -> list[int]:
        """The numbers of rows, hardest first: largest error, or least probable label.

        Args:
            rows: only these; None for all.
        """
        chosen = range(len(self.rows)) if rows is None else sorted(set(rows))
        return sorted(chosen, key=lambda row: self.rows[row].ease)


@dataclass(frozen=True)
class SourceRows(Rows):
    """Rows to analyse, and why some could not be read."""

    left_out: tuple[BertlabError, ...] = ()
    """One error for each invalid row."""

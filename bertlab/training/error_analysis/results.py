"""What an examination of a checkpoint finds: rows judged one by one, what is taken for what, groups of questions.

Plain facts; knows no model and no page.

Shape legend: G given, S said.
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
    """A row and what was said of it.

    texts: one or two; a context and its choices; the tokens; or question and passage. given, said: as they are read.
    score: 1 right, 0 wrong, and between them the F1 of an answer or the share of right tags. chance: the probability
    of what is given (of a sentence's tags the lowest; of an answer its share of the n-best); None for numbers.
    values: given and said, where these are numbers.
    """

    id: str
    texts: tuple[str, ...]
    given: str
    said: str
    score: float
    chance: float | None
    values: tuple[float, float] | None = None

    @property
    def ease(self) -> tuple[float, ...]:
        """What is lowest for the hardest rows."""
        if self.values is not None:
            return (-abs(self.values[0] - self.values[1]),)
        return (self.chance, self.score)


@dataclass(frozen=True)
class Confusion:
    """What was given (down) and said (across). cells: the numbers of the rows behind each, one for each count; a row
    with several entities is in several. "" names no entity: missed ones are said to be it, invented ones given."""

    names: tuple[str, ...]
    cells: dict[tuple[int, int], tuple[int, ...]]

    @cached_property
    def counts_GS(self) -> np.ndarray:
        counts_GS = np.zeros((len(self.names), len(self.names)), np.int64)
        for place, rows in self.cells.items():
            counts_GS[place] = len(rows)
        return counts_GS

    @property
    def shares_GS(self) -> np.ndarray:
        """Of what is given, the share that is said to be each; 0 where nothing is."""
        return self.counts_GS / np.maximum(self.counts_GS.sum(1, keepdims=True), 1)

    @property
    def commonest(self) -> float:
        """The share that is right of always saying what is given most often."""
        return float(self.counts_GS.sum(1).max() / self.counts_GS.sum())


@dataclass(frozen=True)
class Group:
    """Questions of one kind: the numbers of their rows, and EM and F1 in percent."""

    name: str
    rows: tuple[int, ...]
    exact_match: float
    f1: float


@dataclass(frozen=True)
class Examination:
    """figures: the task's measures in percent. rows: what was asked. total: how many there were to choose from.
    left_out: why rows that cannot be used were left out. confusion: for labels, choices and tags. groups: for
    questions, by "question" word and by "length" of the given answer in words."""

    name: str
    spec: TaskSpec
    figures: dict[str, float]
    rows: tuple[Judged, ...]
    total: int
    left_out: tuple[BertlabError, ...]
    confusion: Confusion | None = None
    groups: dict[str, tuple[Group, ...]] | None = None

    def hardest(self, rows: Sequence[int] | None = None) -> list[int]:
        """The numbers of rows (of these, or of all), hardest first: the farthest off, or the least probable truth."""
        chosen = range(len(self.rows)) if rows is None else sorted(set(rows))
        return sorted(chosen, key=lambda row: self.rows[row].ease)


@dataclass(frozen=True)
class Given(Rows):
    """Rows to measure on, and why some could not be read as such."""

    left_out: tuple[BertlabError, ...] = ()

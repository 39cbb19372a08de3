"""When a run has gone wrong: a loss that is no number, or one that rose and stays up.

Knows a row of losses, nothing of what they measure.
"""

import math
from dataclasses import dataclass, field
from statistics import median, median_low

from bertlab.config.errors import BertlabError

LONG, SHORT = 100, 10  # steps that say what is usual, and steps that must be unusual
TIMES, NATS = 1.25, 1.0  # how far above the usual: both, since a small loss may double by chance
SCATTERS = 3  # and as many times over as the losses scatter, to this power: a squared error is not in nats
FIRST_TIMES, FIRST_NATS = 3.0, 6.0  # how far above the first loss: a checkpoint may forget all it knew, and learn again
SETTLED = 3  # losses that must be as usual before what is saved counts as good


class Diverged(BertlabError):
    """The loss or the gradient is no number, or the loss has risen for good."""


@dataclass
class DivergenceDetector:
    """Judges each step's loss by the median of the hundred before the last ten, and by the lowest that this ever was.

    One bad batch is no divergence: the median of the last ten must be up by a quarter and by a nat, and by more where
    losses scatter widely. The lowest median is there for a rise over hundreds of steps, which the last hundred go along
    with; the first to count is of a whole hundred, as fewer may be low by chance. `calm` says that the last losses give
    no reason for doubt, scatter or not, so that what is saved then is from before any leap, or from the beginning of a
    slow rise.

    Before twice ten losses are known nothing is usual yet, and a run may already be ruined. Its first loss is surely
    from before that, as no update led to it; but it is one batch's and may be low by chance, so all of the last ten
    must be far above it. A run told to `forget` begins anew in this too.

    All fields are numbers, so a run that goes on can take up the watch where it was.

    >>> watch = DivergenceDetector()
    >>> for loss in [4.0] * 40 + [9.0]:
    ...     watch.update(loss)
    >>> watch.calm
    False
    >>> for loss in [9.0] * 9:
    ...     watch.update(loss)
    Traceback (most recent call last):
    bertlab.training.divergence.Diverged: the loss rose from 4.00 to 9.00
    """

    losses: list[float] = field(default_factory=list)
    lowest: list[float] | None = None  # a median, with its scatter
    calm: bool = True

    def reset(self) -> None:
        """What comes now is of another kind (longer pairs, say), and what was is no measure for it."""
        self.losses, self.lowest = [], None

    def update(self, loss: float, norm: float = 0.0) -> None:
        """Take in the loss of a step, and the norm of its gradient. Raises Diverged."""
        for name, figure in (("loss", loss), ("gradient's norm", norm)):
            if not math.isfinite(figure):
                self.calm = False
                raise Diverged(f"the {name} is {figure}")
        self.losses = [*self.losses, loss][-(LONG + SHORT) :]
        (usual, scatter), last = self._usual(), self.losses[-SHORT:]
        bound = max(TIMES * usual, usual + NATS)
        self.calm = max(last[-SETTLED:]) <= bound
        if self._begins:
            now, bound = min(last), max(FIRST_TIMES * usual, usual + FIRST_NATS)
        else:
            now, bound = median_low(last), max(bound, usual * scatter**SCATTERS)
        if now > bound:
            raise Diverged(f"the loss rose from {usual:.2f} to {now:.2f}")

    @property
    def _begins(self) -> bool:
        return len(self.losses) < 2 * SHORT

    def _usual(self) -> list[float]:
        """The median of the losses before the last ten (the first of them all, as the run begins), and their scatter:
        how many times the median the upper quarter begins at."""
        before = sorted(self.losses[:1] if self._begins else self.losses[:-SHORT])
        usual = median(before)
        found = [usual, before[3 * len(before) // 4] / usual if usual else 1.0]
        if len(self.losses) == LONG + SHORT:
            self.lowest = found = min(found, self.lowest or found)
        return found

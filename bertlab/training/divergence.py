"""Detection of a diverged run: a loss or gradient that is not finite, or a loss that rose and stays high."""

import math
from dataclasses import dataclass, field
from statistics import median, median_low

from bertlab.config.errors import BertlabError

# Steps whose median is the reference level, and the latest steps, which are compared with it.
REFERENCE_STEPS, RECENT_STEPS = 100, 10
# How far above the reference counts as a rise. Both must hold, since a small loss may double by chance.
RISE_FACTOR, RISE_NATS = 1.25, 1.0
# The factor grows with the scatter of the losses to this power, since a squared error is not in nats.
SCATTER_POWER = 3
# How far above the first loss counts as a rise: a checkpoint may forget what it knew and learn it again.
START_RISE_FACTOR, START_RISE_NATS = 3.0, 6.0
# The latest losses that must be near the reference for the weights to count as good.
STABLE_STEPS = 3


class Diverged(BertlabError):
    """The loss or the gradient is not finite, or the loss has risen for good."""


@dataclass
class DivergenceDetector:
    """Compares the latest ten losses of a run with the median of the hundred before them.

    One bad batch is no divergence: the median of the latest ten must be higher by a quarter and by one nat, and by more
    where losses scatter widely. Because a slow rise over hundreds of steps raises the reference too, the lowest
    reference of the run counts; only full references of a hundred steps can become the lowest, since a median of fewer
    may be low by chance.

    During the first twenty steps there is no reference yet. The first loss stands in for it, as no update came before
    it; since that loss of a single batch may be low by chance, all of the latest ten must be far above it. The same
    holds after `reset`.

    All fields are numbers, so that a resumed run restores its detector.

    >>> detector = DivergenceDetector()
    >>> for loss in [4.0] * 40 + [9.0]:
    ...     detector.update(loss)
    >>> detector.is_stable
    False
    >>> for loss in [9.0] * 9:
    ...     detector.update(loss)
    Traceback (most recent call last):
    bertlab.training.divergence.Diverged: the loss rose from 4.00 to 9.00
    """

    losses: list[float] = field(default_factory=list)
    """The latest losses, at most 110."""
    lowest: list[float] | None = None
    """The lowest reference median so far, and the scatter of its losses."""
    is_stable: bool = True
    """Whether the latest losses are near the reference, so that the weights before the latest step may be saved: they
    are from before any sudden rise, or from the beginning of a slow one."""

    def reset(self) -> None:
        """Forget all losses, because the batches change (to longer pairs, say) and with them the level of the loss."""
        self.losses, self.lowest = [], None

    def update(self, loss: float, gradient_norm: float = 0.0) -> None:
        """Add the loss of a step and the norm of its gradient.

        Args:
            loss: in nats, or in any other unit.
            gradient_norm: before clipping.

        Raises:
            Diverged: one of them is not finite, or the loss has risen for good.
        """
        if not (math.isfinite(loss) and math.isfinite(gradient_norm)):
            self.is_stable = False
            if not math.isfinite(loss):
                raise Diverged("loss-not-finite", value=str(loss))
            raise Diverged("gradient-not-finite", value=str(gradient_norm))
        self.losses = [*self.losses, loss][-(REFERENCE_STEPS + RECENT_STEPS) :]
        (reference, scatter), recent = self._reference(), self.losses[-RECENT_STEPS:]
        limit = max(RISE_FACTOR * reference, reference + RISE_NATS)
        self.is_stable = max(recent[-STABLE_STEPS:]) <= limit
        if self._is_starting:
            level, limit = min(recent), max(START_RISE_FACTOR * reference, reference + START_RISE_NATS)
        else:
            level, limit = median_low(recent), max(limit, reference * scatter**SCATTER_POWER)
        if level > limit:
            raise Diverged("loss-rose", reference=f"{reference:.2f}", level=f"{level:.2f}")

    @property
    def _is_starting(self) -> bool:
        return len(self.losses) < 2 * RECENT_STEPS

    def _reference(self) -> list[float]:
        """The reference level and the scatter around it: the upper quartile divided by the median."""
        before = sorted(self.losses[:1] if self._is_starting else self.losses[:-RECENT_STEPS])
        level = median(before)
        reference = [level, before[3 * len(before) // 4] / level if level else 1.0]
        if len(self.losses) == REFERENCE_STEPS + RECENT_STEPS:
            self.lowest = reference = min(reference, self.lowest or reference)
        return reference

"""Detect that a run has diverged: its loss or gradient is not finite, or its loss rose and stays high."""

import math
from dataclasses import dataclass, field
from statistics import median, median_low

from bertlab.config.errors import BertlabError

# The number of steps whose median is the reference, and the number of latest steps that are compared with it.
REFERENCE_STEPS, RECENT_STEPS = 100, 10
# The loss has risen if it is above the reference by this factor and by this difference. Both are required, since a
# small loss may double by chance.
RISE_FACTOR, RISE_NATS = 1.25, 1.0
# The factor grows with the scatter of the losses to this power, since the loss of a regression is not in nats.
SCATTER_POWER = 3
# The same limits above the first loss, at the start of a run. They are higher, since the loss of a checkpoint may rise
# before it adapts to new data.
START_RISE_FACTOR, START_RISE_NATS = 3.0, 6.0
# The number of latest losses that must be near the reference for the weights to count as good.
STABLE_STEPS = 3


class Diverged(BertlabError):
    """The loss or the gradient is not finite, or the loss has risen for good."""


@dataclass
class DivergenceDetector:
    """Compares the latest ten losses of a run with the median of the hundred before them, the reference.

    A single bad batch is not a divergence: the median of the latest ten losses must be higher by a quarter and by one
    nat, and by more if the losses scatter widely. A slow rise over hundreds of steps also raises the reference, so the
    lowest reference of the run is used. Only a median of a hundred steps can become the lowest reference, since a
    median of fewer may be low by chance.

    During the first twenty steps, and after `reset`, there is no such median. The reference is then the first loss,
    which comes from before the first update. Since the loss of a single batch may be low by chance, all of the latest
    ten losses must be far above it.

    All fields are numbers, so that the state file of a run can contain them.

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
    """Whether the latest losses are near the reference. The weights before the latest step are then good enough to be
    saved: they are from before any sudden rise, or from the beginning of a slow one."""

    def reset(self) -> None:
        """Forget all losses; needed when the batches change, for example to longer pairs, and with them the loss."""
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
        (reference, scatter), recent = self._compute_reference(), self.losses[-RECENT_STEPS:]
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

    def _compute_reference(self) -> list[float]:
        """Compute the reference and the scatter around it, which is the upper quartile divided by the median."""
        earlier = sorted(self.losses[:1] if self._is_starting else self.losses[:-RECENT_STEPS])
        level = median(earlier)
        reference = [level, earlier[3 * len(earlier) // 4] / level if level else 1.0]
        if len(self.losses) == REFERENCE_STEPS + RECENT_STEPS:
            self.lowest = reference = min(reference, self.lowest or reference)
        return reference

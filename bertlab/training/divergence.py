"""Detect that a run has diverged: its loss or gradient is not finite, or its loss has risen and stays high."""

import math
from dataclasses import dataclass, field
from statistics import median, median_low

from bertlab.config.errors import BertlabError

# The loss of the latest RECENT_STEPS steps is compared with the reference: the median loss of the REFERENCE_STEPS steps
# before them.
REFERENCE_STEPS, RECENT_STEPS = 100, 10
# The loss has risen if it exceeds the reference by this factor and by this difference. Both are required, because a
# small loss may double by chance.
RISE_FACTOR, RISE_NATS = 1.25, 1.0
# The loss must also exceed the reference by the factor scatter ** SCATTER_POWER (see `_compute_reference`), because a
# difference in nats means nothing for the loss of a regression.
SCATTER_POWER = 3
# The same limits at the start of a run, where the reference is the first loss. They are higher, because the loss of a
# checkpoint may rise before it adapts to new data.
START_RISE_FACTOR, START_RISE_NATS = 3.0, 6.0
# The weights count as good if none of the latest STABLE_STEPS losses is clearly above the reference.
STABLE_STEPS = 3


class Diverged(BertlabError):
    """The loss or the gradient is not finite, or the loss has risen and stays high."""


@dataclass
class DivergenceDetector:
    """Compares the latest ten losses of a run with a reference: the median of the hundred losses before them.

    The median of the latest ten must exceed the reference by a quarter and by one nat, and by more if the losses
    scatter widely. A slow rise over hundreds of steps also raises the median, so the lowest full reference of the run
    is used. In the first twenty steps, and again after `reset`, the reference is the first loss, and all of the latest
    ten must be far above it. All fields can be stored in the state file of a run.

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

    losses: list[float] = field(default_factory=list)  # the latest losses, at most 110
    lowest: list[float] | None = None
    """The lowest reference so far, and the scatter of its losses; None before the first median of a hundred steps."""
    is_stable: bool = True
    """Whether none of the latest losses is clearly above the reference. If so, the weights before the latest step are
    good enough to be saved: no rise has begun, or only a slow one."""

    def reset(self) -> None:
        """Forget all losses; needed when different batches, such as longer pairs, change the level of the loss."""
        self.losses, self.lowest = [], None

    def update(self, loss: float, gradient_norm: float = 0.0) -> None:
        """Add the loss of a step and the norm of its gradient before clipping; raise Diverged if the run diverged."""
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
        """Compute [reference, scatter] (upper quartile / median), and update `lowest`."""
        earlier = sorted(self.losses[:1] if self._is_starting else self.losses[:-RECENT_STEPS])
        reference = median(earlier)
        reference_and_scatter = [reference, earlier[3 * len(earlier) // 4] / reference if reference else 1.0]
        if len(self.losses) == REFERENCE_STEPS + RECENT_STEPS:
            self.lowest = reference_and_scatter = min(reference_and_scatter, self.lowest or reference_and_scatter)
        return reference_and_scatter

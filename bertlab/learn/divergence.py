"""When a run has gone wrong: a loss that is no number, or one that rose and stays up.

Knows a row of losses, nothing of what they measure.
"""

import math
from collections import deque
from statistics import median, median_low

from bertlab.spec.errors import BertlabError

LONG, SHORT = 100, 10  # steps that say what is usual, and steps that must be unusual
TIMES, NATS = 1.25, 1.0  # how far above the usual: both, since a small loss may double by chance


class Diverged(BertlabError):
    """The loss or the gradient is no number, or the loss has risen for good."""


class Watch:
    """Judges each step's loss by the median of the hundred before the last ten, and by the lowest that this ever was.

    One bad batch is no divergence: the median of the last ten must be up by a quarter and by a nat. The lowest median
    is there for a rise over hundreds of steps, which the last hundred go along with; the first to count is of a whole
    hundred, as fewer may be low by chance. `calm` says that the last loss gives no reason for doubt, so that what is
    saved then is from before any leap, or from the beginning of a slow rise. Nothing is judged before twice ten losses
    are known, so a run just opened, or one told to `forget`, finds its own measure first.

    >>> watch = Watch()
    >>> for loss in [4.0] * 40 + [9.0]:
    ...     watch.see(loss)
    >>> watch.calm
    False
    >>> for loss in [9.0] * 9:
    ...     watch.see(loss)
    Traceback (most recent call last):
    bertlab.learn.divergence.Diverged: the loss rose from 4.00 to 9.00
    """

    def __init__(self):
        self.forget()

    def forget(self) -> None:
        """What comes now is of another kind (longer pairs, say), and what was is no measure for it."""
        self._losses: deque[float] = deque(maxlen=LONG + SHORT)
        self._lowest = math.inf
        self.calm = True

    def see(self, loss: float, norm: float = 0.0) -> None:
        """Take in the loss of a step, and the norm of its gradient. Raises Diverged."""
        for name, figure in (("loss", loss), ("gradient's norm", norm)):
            if not math.isfinite(figure):
                self.calm = False
                raise Diverged(f"the {name} is {figure}")
        self._losses.append(loss)
        if len(self._losses) < 2 * SHORT:
            return
        losses = list(self._losses)
        usual = median(losses[:-SHORT])
        if len(losses) == LONG + SHORT:
            self._lowest = usual = min(usual, self._lowest)
        bound = max(TIMES * usual, usual + NATS)
        self.calm = loss <= bound
        if (now := median_low(losses[-SHORT:])) > bound:
            raise Diverged(f"the loss rose from {usual:.2f} to {now:.2f}")

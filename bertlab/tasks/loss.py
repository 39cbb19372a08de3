"""The result of a loss function, and the cross-entropy loss of classification and multiple choice.

Shape legend: B batch, K labels or choices.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

from bertlab.text.batch import LabelBatch


@dataclass(frozen=True)
class Loss:
    """The result of a loss function, (model, batch) -> Loss, for one batch.

    If `value` is not a mean over the rows of the batch, the loss function must also set `parts`, and must have a method
    `count_items(batch)`, which returns {name of a part: how many items the part is averaged over}.
    """

    value: torch.Tensor
    """The scalar to minimise."""
    metrics: dict[str, torch.Tensor]
    """Metrics of this batch. A metric whose name begins with the name of a part, such as "tag_accuracy" for the part
    "tag", is averaged over the same items as that part; every other metric is averaged over rows."""
    tokens: torch.Tensor
    """The number of tokens in the batch, not counting padding."""
    parts: dict[str, torch.Tensor] = field(default_factory=dict)
    """The terms of the loss; each is a mean, and their sum is `value`."""
    ratios: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Name of a ratio -> (numerator, denominator), both in `metrics`. A ratio, such as a precision, is computed only
    after its two metrics were averaged over the whole batch."""

    def compute_ratios(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Compute the ratios from the metrics of a whole batch; a ratio with the denominator 0 is 0."""
        return {
            name: metrics[numerator] / metrics[denominator] if metrics[denominator] else 0.0
            for name, (numerator, denominator) in self.ratios.items()
        }


def label_loss(logits_BK: torch.Tensor, batch: LabelBatch) -> Loss:
    """Compute the mean cross-entropy of one label per row, and the accuracy of the batch."""
    accuracy = (logits_BK.detach().argmax(-1) == batch.labels_B).float().mean()
    return Loss(
        F.cross_entropy(logits_BK, batch.labels_B), {"accuracy": accuracy}, batch.inputs.attention_mask_BT.sum()
    )

"""The result of a loss function, and the cross-entropy loss of classification and multiple choice.

Shape legend: B batch, K labels or choices.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

from bertlab.text.batch import LabelBatch


@dataclass(frozen=True)
class Loss:
    """The result of a loss function on one batch.

    A loss function is a callable (model, batch) -> Loss. If `value` is not a mean over the rows of the batch, the loss
    function must also fill `parts` and have a method `counts(batch)`, which returns the number of items that each part
    is a mean over, by the name of the part.
    """

    value: torch.Tensor
    """The scalar to minimise."""
    metrics: dict[str, torch.Tensor]
    """Metrics of this batch by name. A metric called NAME_x is a mean over the same items as the part NAME; every other
    metric is a mean over rows."""
    tokens: torch.Tensor
    """The number of tokens in the batch, not counting padding."""
    parts: dict[str, torch.Tensor] = field(default_factory=dict)
    """The means whose sum is `value`, by name."""


def label_loss(logits_BK: torch.Tensor, batch: LabelBatch) -> Loss:
    """Cross-entropy of one label for each row, with the accuracy of the batch."""
    accuracy = (logits_BK.detach().argmax(-1) == batch.labels_B).float().mean()
    return Loss(
        F.cross_entropy(logits_BK, batch.labels_B), {"accuracy": accuracy}, batch.inputs.attention_mask_BT.sum()
    )

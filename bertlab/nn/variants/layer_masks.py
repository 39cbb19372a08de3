"""Encoders whose layers have different masks: ModernBERT's, Longformer's and BigBird's.

Shape legend: B batch, T tokens, H hidden.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from bertlab.nn.bert import Encoder
from bertlab.nn.interventions import NO_INTERVENTIONS, Interventions
from bertlab.nn.trace import NO_TRACE, Trace


class LayerMaskEncoder(Encoder, ABC):
    """A stack of layers that may have different masks, which `make_masks` makes."""

    @abstractmethod
    def make_masks(self, hidden_BTH: torch.Tensor, mask) -> Sequence:
        """Make the mask of each layer from the one that `Bert.make_mask` makes for all."""

    def normalise_output(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        """Apply the final LayerNorm to the last layer's output; by default there is none."""
        return hidden_BTH

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask=None,
        *,
        trace: Trace = NO_TRACE,
        interventions: Interventions = NO_INTERVENTIONS,
    ) -> torch.Tensor:
        hidden_BTH = interventions.patch(0, hidden_BTH)
        trace.record("hidden", hidden_BTH)
        return self.run_from(0, hidden_BTH, mask, trace=trace, interventions=interventions)

    def run_from(
        self,
        first: int,
        hidden_BTH: torch.Tensor,
        mask=None,
        *,
        trace: Trace = NO_TRACE,
        interventions: Interventions = NO_INTERVENTIONS,
    ) -> torch.Tensor:
        """Run the input of layer `first` through it and all later layers -> the last layer's output, [B, T, H]."""
        masks = self.make_masks(hidden_BTH, mask)
        for layer in range(first, len(self.layers)):
            hidden_BTH = self.layers[layer](
                hidden_BTH, masks[layer], layer=layer, trace=trace, interventions=interventions
            )
            if layer + 1 == len(self.layers):
                hidden_BTH = self.normalise_output(hidden_BTH)
            hidden_BTH = interventions.patch(layer + 1, hidden_BTH)
            trace.record("hidden", hidden_BTH)
        return hidden_BTH

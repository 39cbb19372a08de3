"""Padding left out: where the tokens of a padded batch stand, so that all but attention works on those alone.

Rows of unequal length are padded to the longest; in fine-tuning that is easily a third of a batch. Linear layers,
LayerNorms and GELUs treat every place by itself, so they need not see padding; attention does its own masking.

Shape legend: B batch, T tokens, X tokens that are no padding, H any width, R rows asked for.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Tokens:
    """Where the tokens of a [B, T] batch stand. place_X: int64, ascending, in the flattened B * T.

    >>> tokens = Tokens.of(torch.tensor([[True, True], [True, False]]))
    >>> tokens.take(torch.tensor([[[1.0], [2.0]], [[3.0], [9.0]]])).tolist()
    [[1.0], [2.0], [3.0]]
    >>> tokens.spread(torch.tensor([[1.0], [2.0], [3.0]])).tolist()
    [[[1.0], [2.0]], [[3.0], [0.0]]]
    >>> tokens.index(torch.tensor([2])).tolist()
    [2]
    """

    place_X: torch.Tensor
    shape: tuple[int, int]

    @classmethod
    def of(cls, attention_mask_BT: torch.Tensor) -> "Tokens":
        return cls(attention_mask_BT.flatten().nonzero()[:, 0], tuple(attention_mask_BT.shape))

    def take(self, padded_BTH: torch.Tensor) -> torch.Tensor:
        """[B, T, H] -> [X, H]."""
        return padded_BTH.flatten(0, 1).index_select(0, self.place_X)

    def spread(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """[X, H] -> [B, T, H], with zeros for padding."""
        B, T = self.shape
        return hidden_XH.new_zeros(B * T, hidden_XH.shape[-1]).index_copy(0, self.place_X, hidden_XH).view(B, T, -1)

    def index(self, rows_R: torch.Tensor) -> torch.Tensor:
        """Places in B * T -> the same ones counted without padding; a place in padding becomes some token's."""
        return torch.searchsorted(self.place_X, rows_R).clamp(max=len(self.place_X) - 1)

"""Dropout (Srivastava et al. 2014), with a fast source of chance on a processor.

`torch` draws a random number for each element there, one thread at a time, which took a fifth of a step over SQuAD;
here one number of 64 bits decides on four elements. What is dropped differs, how much does not.
"""

import torch
import torch.nn.functional as F
from torch import nn

_CHANCES = 1 << 16


def kept(like: torch.Tensor, share: float) -> torch.Tensor:
    """Which elements stay, bool, on a processor: each is dropped with the chance `share`, to the nearest 65,536th.

    >>> torch.manual_seed(0).initial_seed()
    0
    >>> kept(torch.zeros(3, 100_000), 0.25).float().mean(1).mul(100).round().tolist()
    [75.0, 75.0, 75.0]
    """
    count = like.numel()
    drawn = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(1 << 63), None).view(torch.int16)
    return drawn[:count].view(like.shape) >= round(share * _CHANCES) - _CHANCES // 2


def dropout(hidden: torch.Tensor, share: float) -> torch.Tensor:
    """Zeros for a random share of the elements, and the others larger, so that their sum stays what it was."""
    if not share:
        return hidden
    if hidden.device.type != "cpu":
        return F.dropout(hidden, share)
    return hidden * kept(hidden, share).to(hidden.dtype).mul_(1 / (1 - share))


class Dropout(nn.Module):
    """`dropout` while a model learns; nothing when it is asked."""

    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return dropout(hidden, self.share) if self.training else hidden

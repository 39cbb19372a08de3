"""Make embedding tables."""

import torch
from torch import nn


def make_embedding(rows: int, size: int) -> nn.Embedding:
    """Make an embedding table. On the meta device, it is not initialised: a checkpoint is loaded into it afterwards.

    Drawing from a normal distribution on the meta device makes torch import its compiler, which takes seconds.
    """
    if torch.get_default_device().type == "meta":
        return nn.Embedding.from_pretrained(torch.empty(rows, size), freeze=False)
    return nn.Embedding(rows, size)

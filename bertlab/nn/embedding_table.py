"""Make embedding tables; a table gets no random weights if a checkpoint is loaded into it afterwards."""

import torch
from torch import nn


def make_embedding(num_rows: int, width: int) -> nn.Embedding:
    """Make an embedding table, which is not initialised if the default device is the meta device.

    A model whose weights are loaded from a checkpoint is made on the meta device. There, the normal distribution of
    `nn.Embedding` would make torch import its compiler, which takes seconds.
    """
    if torch.get_default_device().type == "meta":
        return nn.Embedding.from_pretrained(torch.empty(num_rows, width), freeze=False)
    return nn.Embedding(num_rows, width)

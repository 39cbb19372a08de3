"""Embedding tables."""

import torch
from torch import nn


def make_embedding(num_rows: int, width: int) -> nn.Embedding:
    """Make an embedding table, without random weights on the meta device.

    Models whose weights come from a checkpoint are made there, where `nn.Embedding` would make torch import its
    compiler, which takes seconds.
    """
    if torch.get_default_device().type == "meta":
        return nn.Embedding.from_pretrained(torch.empty(num_rows, width), freeze=False)
    return nn.Embedding(num_rows, width)

"""Embedding tables."""

import torch
from torch import nn


def make_embedding(num_rows: int, width: int) -> nn.Embedding:
    """Make an embedding table; on the meta device without random weights, for which torch would import its compiler."""
    if torch.get_default_device().type == "meta":
        return nn.Embedding.from_pretrained(torch.empty(num_rows, width), freeze=False)
    return nn.Embedding(num_rows, width)

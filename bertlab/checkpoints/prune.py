"""Attention heads taken out of a model for good: the same outputs as with those heads knocked out, from fewer weights.

Knows weights; not why a head is thought to be of no use.

Shape legend: H hidden, N heads, D head size.
"""

import copy
from collections.abc import Iterable

import torch

from bertlab.config.errors import InterventionError
from bertlab.nn.bert import Bert
from bertlab.nn.interventions import Interventions


@torch.no_grad()
def prune(model: Bert, heads: Iterable[tuple[int, int]], *, zeroed: bool = False) -> Bert:
    """A copy of the model whose (layer, head) pairs have only zeros as query, key, value and output weights.

    What it computes is what the model computes with those heads knocked out (Michel et al. 2019, arXiv 1905.10650).
    Their gradients are zero as well, so they stay out when the copy is trained on.

    Args:
        zeroed: `checkpoint.save` writes the zeros, so that every version of `transformers` opens the checkpoint, at its
            old size. Without it, it leaves the pruned heads out and names them in config.json as `pruned_heads`:
            smaller, and read by bertlab and by `transformers` before version 5, which dropped the field.

    Raises:
        InterventionError: there is no such head; or, unless `zeroed`, a layer would lose every head, which nothing but
            bertlab could open.
    """
    config = model.config
    gone = sorted({*heads, *config.pruned_heads})
    Interventions.knock_out(config, gone)  # refuses what is not there
    for layer in range(config.num_layers):
        if not zeroed and sum(at == layer for at, _ in gone) == config.num_heads:
            raise InterventionError(
                f"layer {layer} would have no head left: leave it one, or keep the zeros (--zeroed)"
            )
    pruned = copy.deepcopy(model)
    for layer, head in gone:
        attention = pruned.encoder.layers[layer].attention
        own = slice(head * config.head_size, (head + 1) * config.head_size)
        attention.qkv.weight.view(3, config.hidden_size, -1)[:, own] = 0
        attention.qkv.bias.view(3, -1)[:, own] = 0
        attention.out.weight[:, own] = 0
    pruned.config = config.replace(pruned_heads=() if zeroed else tuple(gone))
    return pruned

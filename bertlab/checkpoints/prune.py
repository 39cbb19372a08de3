"""Prune attention heads: the outputs of a model with those heads ablated, from fewer weights.

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
    """A copy of a model in which some attention heads have only zeros as query, key, value and output weights.

    It computes what the model computes with those heads ablated (Michel et al. 2019, arXiv 1905.10650). The gradients
    of these weights are zero too, so the heads stay pruned when the copy is trained further.

    Args:
        model: the model that is copied.
        heads: (layer, head) pairs, counted from 0.
        zeroed: whether `checkpoint.save` writes the zeros, so that every version of `transformers` opens the
            checkpoint, at its old size. Otherwise it leaves the pruned heads out and names them in config.json as
            `pruned_heads`: smaller, and read by bertlab and by `transformers` before version 5, which dropped the
            field.

    Raises:
        InterventionError: there is no such head; or, unless `zeroed`, a layer would lose every head, which only
            bertlab could open.
    """
    config = model.config
    pruned_pairs = sorted({*heads, *config.pruned_heads})
    Interventions.ablate_heads(config, pruned_pairs)  # refuses heads that do not exist
    for layer in range(config.num_layers):
        if not zeroed and sum(at == layer for at, _ in pruned_pairs) == config.num_heads:
            raise InterventionError("prune-layer-empty", layer=layer)
    pruned = copy.deepcopy(model)
    for layer, head in pruned_pairs:
        attention = pruned.encoder.layers[layer].attention
        own = slice(head * config.head_size, (head + 1) * config.head_size)
        attention.qkv.weight.view(3, config.hidden_size, -1)[:, own] = 0
        attention.qkv.bias.view(3, -1)[:, own] = 0
        attention.out.weight[:, own] = 0
    pruned.config = config.replace(pruned_heads=() if zeroed else tuple(pruned_pairs))
    return pruned

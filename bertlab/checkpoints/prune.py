"""Prune attention heads: set their weights to zero, so that the outputs are those with the heads ablated.

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
    """Return a copy of a model in which the query, key, value and output weights of some attention heads are zero.

    Its outputs are those of the model with these heads ablated (Michel et al. 2019, arXiv 1905.10650). The gradients of
    these weights are zero too, so the heads stay pruned if the copy is trained further.

    Args:
        model: the model, which is not changed.
        heads: (layer, head) pairs, counted from 0.
        zeroed: whether `checkpoint.save` writes the zeros. The checkpoint then keeps its size, and every version of
            `transformers` can load it. Otherwise the weights of pruned heads are not written, and config.json lists
            the heads as `pruned_heads`, which bertlab and `transformers` before version 5 can load.

    Raises:
        InterventionError: a head does not exist; layers share weights, or are not built like those of BERT; or, unless
            `zeroed`, a layer would lose all its heads, which only bertlab could load.
    """
    config = model.config
    if config.family.layers != "post-norm" or config.num_layer_groups:
        raise InterventionError("prune-unsupported", type=config.model_type)
    pruned_pairs = sorted({*heads, *config.pruned_heads})
    Interventions.ablate_heads(config, pruned_pairs)  # raises an error if a head does not exist
    for layer in range(config.num_layers):
        if not zeroed and sum(pruned_layer == layer for pruned_layer, _ in pruned_pairs) == config.num_heads:
            raise InterventionError("prune-layer-empty", layer=layer)
    pruned = copy.deepcopy(model)
    for layer, head in pruned_pairs:
        attention = pruned.encoder.layers[layer].attention
        rows = slice(head * config.head_size, (head + 1) * config.head_size)
        attention.qkv.weight.view(3, config.hidden_size, -1)[:, rows] = 0
        attention.qkv.bias.view(3, -1)[:, rows] = 0
        attention.out.weight[:, rows] = 0
    pruned.config = config.replace(pruned_heads=() if zeroed else tuple(pruned_pairs))
    return pruned

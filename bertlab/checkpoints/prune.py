"""Prune attention heads: remove their weights or set them to zero.

Shape legend: H hidden, N heads, D head size, C rows of the query matrix without those of pruned heads.
"""

import copy
from collections.abc import Iterable

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import InterventionError
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.nn.interventions import Interventions
from bertlab.nn.variants.pruned import find_remaining_heads


@torch.no_grad()
def prune(model: Bert, heads: Iterable[tuple[int, int]], *, zeroed: bool = False) -> Bert:
    """Return a copy of a model without the query, key, value and output weights of some (layer, head) pairs.

    It computes the same as the model with these heads ablated (Michel et al. 2019, arXiv 1905.10650). Its config.json
    lists them as `pruned_heads`, which bertlab and `transformers` before version 5 can load. If the weights are
    `zeroed` instead, the checkpoint keeps its size, every `transformers` can load it, and the heads stay pruned in
    further training, because their gradients are zero too. Raises InterventionError.
    """
    config = model.config
    if config.family.layers != "post-norm" or config.num_layer_groups:
        raise InterventionError("prune-unsupported", type=config.model_type)
    pruned_pairs = sorted({*heads, *config.pruned_heads})
    Interventions.ablate_heads(config, pruned_pairs)  # raises an error if a head does not exist
    for layer in range(config.num_layers):
        if not zeroed and sum(pruned_layer == layer for pruned_layer, _ in pruned_pairs) == config.num_heads:
            raise InterventionError("prune-layer-empty", layer=layer)
    pruned_model = restore_heads(model)
    for layer, head in pruned_pairs:
        attention = pruned_model.encoder.layers[layer].attention
        rows = slice(head * config.head_size, (head + 1) * config.head_size)
        attention.qkv.weight.view(3, config.hidden_size, -1)[:, rows] = 0
        attention.qkv.bias.view(3, -1)[:, rows] = 0
        attention.out.weight[:, rows] = 0
    if zeroed:
        return pruned_model
    return _change_pruned_heads(pruned_model, config.replace(pruned_heads=tuple(pruned_pairs)))


def restore_heads(model: Bert) -> Bert:
    """Return a copy of a model in which pruned heads are stored as zeros, so that all layers have the same shapes."""
    return _change_pruned_heads(model, model.config.replace(pruned_heads=()))


@torch.no_grad()
def _change_pruned_heads(model: Bert, config: ModelConfig) -> Bert:
    """Return a copy with the `pruned_heads` of `config`; heads that are no longer pruned get weights of zero."""
    if config == model.config:
        return copy.deepcopy(model)
    with torch.device("meta"):
        new_model = FastBert(config, model.head_names)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for layer in {layer for layer, _ in (*model.config.pruned_heads, *config.pruned_heads)}:
        old_C, new_C = (_find_rows(each, layer) for each in (model.config, config))
        prefix, H = f"encoder.layers.{layer}.attention", model.config.hidden_size

        def select_rows(tensor: torch.Tensor, dim: int, old_C=old_C, new_C=new_C, H=H) -> torch.Tensor:
            shape = list(tensor.shape)
            shape[dim] = H
            device = tensor.device
            all_rows = tensor.new_zeros(shape).index_copy(dim, old_C.to(device), tensor)
            return all_rows.index_select(dim, new_C.to(device))

        for name in (f"{prefix}.qkv.weight", f"{prefix}.qkv.bias"):
            state[name] = torch.cat([select_rows(part, 0) for part in state[name].chunk(3)])
        state[f"{prefix}.out.weight"] = select_rows(state[f"{prefix}.out.weight"], 1)
    new_model.load_state_dict(state, assign=True)
    for name, parameter in model.named_parameters():
        new_model.get_parameter(name).requires_grad_(parameter.requires_grad)
    return new_model.to(model.embeddings.token.weight.device).train(model.training)


def _find_rows(config: ModelConfig, layer: int) -> torch.Tensor:
    """Return the indices of the rows of a layer's query matrix, without those of pruned heads."""
    rows_ND = torch.arange(config.hidden_size).view(config.num_heads, config.head_size)
    return rows_ND[list(find_remaining_heads(config, layer))].flatten()

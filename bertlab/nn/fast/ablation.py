"""Ablate each attention head of a layer separately; the layers above process several ablations as one batch.

Shape legend: B batch, T tokens, H hidden, N heads, D head size, P positions whose hidden states are returned, R these
positions in all rows of a batch (indices of the flattened B * T).
"""

import torch

from bertlab.nn.bert import Bert, BertInput
from bertlab.nn.fast.attention import attention
from bertlab.nn.fast.layouts import PaddedLayout
from bertlab.nn.fast.model import run_layers
from bertlab.nn.interventions import Interventions
from bertlab.nn.variants.model import has_fast_layers
from bertlab.nn.variants.pruned import expand_output_weight


def ablate_each_head(
    model: Bert, batch: BertInput, hidden_1TH: torch.Tensor, layer: int, positions_P: torch.Tensor, batch_size: int
) -> torch.Tensor:
    """Compute the last layer's output for one text, with each head of a layer ablated in turn -> hidden_NPH.

    `hidden_1TH` is the input of the layer; `batch_size` ablations are computed together.
    """
    layers, mask = model.encoder.layers, model.make_mask(batch, hidden_1TH)
    if not has_fast_layers(model.encoder):
        return _ablate_with_interventions(model, hidden_1TH, mask, layer, positions_P, batch_size)
    encoder_layer, upper_layers = layers[layer], layers[layer + 1 :]
    attended_NTH = _attend_without_each_head(encoder_layer.attention, hidden_1TH, mask)
    if not len(upper_layers):
        hidden_1PH, attended_NPH = hidden_1TH[:, positions_P], attended_NTH[:, positions_P]
        return torch.cat([encoder_layer.complete_layer(hidden_1PH, part) for part in attended_NPH.split(batch_size)])
    parts = []
    for attended_BTH in attended_NTH.split(batch_size):
        hidden_BTH = encoder_layer.complete_layer(hidden_1TH, attended_BTH)
        B, T, H = hidden_BTH.shape
        flat_positions_R = (torch.arange(B, device=positions_P.device)[:, None] * T + positions_P).flatten()
        layout = PaddedLayout((B, T), mask)
        parts.append(run_layers(upper_layers, layout.pack(hidden_BTH), layout, flat_positions_R).view(B, -1, H))
    return torch.cat(parts)


def _attend_without_each_head(self_attention, hidden_1TH, mask) -> torch.Tensor:
    """Subtract each head's term from the sum of the terms of all heads -> the layer's attention, [N, T, H]."""
    query_1NTD, key_1NTD, value_1NTD = self_attention.split_heads(self_attention.qkv(hidden_1TH))
    heads_NTD = attention(query_1NTD, key_1NTD, value_1NTD, mask)[0]
    out = self_attention.out
    terms_NTH = heads_NTD @ expand_output_weight(self_attention)
    return terms_NTH.sum(0) + out.bias - terms_NTH


def _ablate_with_interventions(
    model: Bert, hidden_1TH: torch.Tensor, mask, layer: int, positions_P: torch.Tensor, batch_size: int
) -> torch.Tensor:
    parts = []
    for heads in torch.arange(model.config.num_heads).split(batch_size):
        interventions = Interventions.ablate_heads_per_row(model.config, [[(layer, int(head))] for head in heads])
        hidden_BTH = hidden_1TH.expand(len(heads), -1, -1)
        parts.append(model.encoder.run_from(layer, hidden_BTH, mask, interventions=interventions)[:, positions_P])
    return torch.cat(parts)

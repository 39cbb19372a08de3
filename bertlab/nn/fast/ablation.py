"""The effect of ablating each attention head of a layer alone, in one pass over the layers above it.

Shape legend: B batch, T tokens, H hidden, N heads, P positions read.
"""

import torch

from bertlab.nn.bert import Bert, additive_mask
from bertlab.nn.fast.attention import attention
from bertlab.nn.fast.layouts import Padded
from bertlab.nn.fast.model import run_layers


def ablate_each_head(
    model: Bert, hidden_1TH: torch.Tensor, layer: int, positions_P: torch.Tensor, batch_size: int
) -> torch.Tensor:
    """The last layer's output of one input without padding when head 0, 1, ... of a layer alone is ablated.

    Equal to one forward pass per head with `Interventions.ablate_heads`.

    Args:
        hidden_1TH: the input of that layer, which all ablations share.
        layer: its number, from 0.
        positions_P: the positions whose hidden states are returned.
        batch_size: ablations computed together; bounds the memory.

    Returns:
        hidden_NPH.
    """
    layers, mask = model.encoder.layers, additive_mask(None, hidden_1TH, causal=model.config.left_to_right)
    encoder_layer, upper = layers[layer], layers[layer + 1 :]
    attended_NTH = _attended_without_each_head(encoder_layer.attention, hidden_1TH, mask)
    if not len(upper):
        hidden_1TH, attended_NTH = hidden_1TH[:, positions_P], attended_NTH[:, positions_P]
    parts = []
    for attended_BTH in attended_NTH.split(batch_size):
        hidden_BTH = encoder_layer.after_attention(hidden_1TH, attended_BTH)
        if len(upper):
            B, T, H = hidden_BTH.shape
            rows_R = (torch.arange(B, device=positions_P.device)[:, None] * T + positions_P).flatten()
            layout = Padded((B, T), mask)
            hidden_BTH = run_layers(upper, layout.pack(hidden_BTH), layout, rows_R).view(B, -1, H)
        parts.append(hidden_BTH)
    return torch.cat(parts)


def _attended_without_each_head(self_attention, hidden_1TH, mask) -> torch.Tensor:
    """The output of a layer's attention without head 0, 1, ... -> [N, T, H].

    What a head adds to the output projection is a summand of its own, so all are computed once and subtracted in turn.
    """
    heads_NTD = attention(*self_attention.split_heads(self_attention.qkv(hidden_1TH)), mask)[0]
    out = self_attention.out
    added_NTH = heads_NTD @ out.weight.T.view(self_attention.num_heads, -1, out.out_features)
    return added_NTH.sum(0) + out.bias - added_NTH

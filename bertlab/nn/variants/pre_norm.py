"""ModernBERT's layers: LayerNorm before attention and feed-forward network, rotary positions and local attention.

Source: Warner et al. 2024 (arXiv 2412.13663), section 2.1. Shape legend: B batch, T tokens, H hidden, N heads, D head
size, C the queries, keys and values of all heads side by side (C = 3 * H), I feed-forward neurons, X any leading shape.
"""

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.activation import make_activation
from bertlab.nn.bert import EncoderLayer, SelfAttention
from bertlab.nn.interventions import NO_INTERVENTIONS, Interventions
from bertlab.nn.trace import NO_TRACE, Trace
from bertlab.nn.variants.layer_masks import LayerMaskEncoder


class RotarySelfAttention(SelfAttention):
    """Self-attention whose queries and keys are rotated by their position (Su et al. 2021, arXiv 2104.09864)."""

    def __init__(self, config: ModelConfig, layer: int):
        nn.Module.__init__(self)
        H, rotary, has_biases = config.hidden_size, config.rotary, config.family.has_biases
        self.num_heads = config.num_heads
        self.dropout = nn.Dropout(config.attention_dropout)
        self.qkv = nn.Linear(H, 3 * H, bias=has_biases)
        self.out = nn.Linear(H, H, bias=has_biases)
        self.theta = rotary.local_theta if rotary.is_local(layer) else rotary.global_theta

    def split_heads(self, qkv_BTC: torch.Tensor) -> tuple[torch.Tensor, ...]:
        query_BNTD, key_BNTD, value_BNTD = super().split_heads(qkv_BTC)
        # T is read from the argument, because an ONNX export stores the sizes of computed tensors as constants.
        angle_TD = make_angles(qkv_BTC.shape[1], query_BNTD.shape[3], self.theta, qkv_BTC.device)
        return rotate(query_BNTD, angle_TD), rotate(key_BNTD, angle_TD), value_BNTD


def make_angles(T: int, D: int, theta: float, device: torch.device | None = None) -> torch.Tensor:
    """Make the angles of `rotate` in radians -> float32 [T, D]; dimensions d and d + D / 2 are rotated together."""
    dimension = torch.arange(0, D, 2, dtype=torch.float32, device=device)
    angle = torch.arange(T, dtype=torch.float32, device=device)[:, None] / theta ** (dimension / D)
    return torch.cat([angle, angle], dim=1)


def rotate(vector_BNTD: torch.Tensor, angle_TD: torch.Tensor) -> torch.Tensor:
    """Rotate each vector in D / 2 planes; the coordinates in plane d are the dimensions d and d + D / 2.

    >>> quarter_turn = torch.full((1, 2), torch.pi / 2)
    >>> rotate(torch.tensor([[[[1.0, 0.0]]]]), quarter_turn).round().flatten().tolist()
    [-0.0, 1.0]
    """
    first_half, second_half = vector_BNTD.float().chunk(2, dim=-1)
    perpendicular_BNTD = torch.cat([-second_half, first_half], dim=-1)  # the vector, rotated by 90 degrees
    return (vector_BNTD.float() * angle_TD.cos() + perpendicular_BNTD * angle_TD.sin()).to(vector_BNTD.dtype)


class GatedFeedForward(nn.Module):
    """GeGLU (Shazeer 2020, arXiv 2002.05202), [X, H] -> [X, H]; `up` computes neurons and gate side by side."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        has_biases = config.family.has_biases
        self.up = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=has_biases)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size, bias=has_biases)
        self.activation = make_activation(config.activation)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        neurons_XI, gate_XI = self.up(hidden_XH).chunk(2, dim=-1)
        return self.down(self.activation(neurons_XI) * gate_XI)


class PreNormLayer(EncoderLayer):
    """LayerNorm, self-attention and residual sum, then LayerNorm, feed-forward and residual sum.

    The first layer has no LayerNorm before its attention, because the embeddings are normalised.
    """

    def __init__(self, config: ModelConfig, layer: int):
        nn.Module.__init__(self)
        H, has_biases = config.hidden_size, config.family.has_biases
        self.attention = RotarySelfAttention(config, layer)
        self.attention_norm = nn.LayerNorm(H, config.layer_norm_eps, bias=has_biases) if layer else nn.Identity()
        self.feed_forward = GatedFeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(H, config.layer_norm_eps, bias=has_biases)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        layer: int = 0,
        trace: Trace = NO_TRACE,
        interventions: Interventions = NO_INTERVENTIONS,
    ) -> torch.Tensor:
        normalised_BTH = self.attention_norm(hidden_BTH)
        attended_BTH = self.attention(normalised_BTH, mask, layer=layer, trace=trace, interventions=interventions)
        return self.complete_layer(hidden_BTH, attended_BTH)

    def complete_layer(self, hidden_XH: torch.Tensor, attended_XH: torch.Tensor) -> torch.Tensor:
        hidden_XH = hidden_XH + self.dropout(attended_XH)
        return hidden_XH + self.dropout(self.feed_forward(self.feed_forward_norm(hidden_XH)))


class PreNormEncoder(LayerMaskEncoder):
    """A stack of `PreNormLayer` and a final LayerNorm. Most layers attend to nearby tokens only."""

    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        self.layers = nn.ModuleList(PreNormLayer(config, layer) for layer in range(config.num_layers))
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps, bias=config.family.has_biases)
        self.rotary = config.rotary

    def make_masks(self, hidden_BTH: torch.Tensor, mask: torch.Tensor | None) -> list[torch.Tensor | None]:
        local_mask = make_local_mask(hidden_BTH, self.rotary.window, mask)
        return [local_mask if self.rotary.is_local(layer) else mask for layer in range(len(self.layers))]

    def normalise_output(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return self.norm(hidden_BTH)


def make_local_mask(hidden_BTH: torch.Tensor, window: int, mask: torch.Tensor | None) -> torch.Tensor | None:
    """Make the additive mask of local attention: each token attends to itself and `window // 2` tokens on each side.

    >>> make_local_mask(torch.zeros(1, 3, 4), 2, None)[0, 0] == 0
    tensor([[ True,  True, False],
            [ True,  True,  True],
            [False,  True,  True]])
    """
    T = hidden_BTH.shape[1]
    if window // 2 >= T - 1:
        return mask
    position_T = torch.arange(T, device=hidden_BTH.device)
    is_far_TT = (position_T[:, None] - position_T).abs() > window // 2
    far_11TT = (is_far_TT.to(hidden_BTH.dtype) * torch.finfo(hidden_BTH.dtype).min)[None, None]
    return far_11TT if mask is None else torch.minimum(mask, far_11TT)  # the sum of both could be -inf

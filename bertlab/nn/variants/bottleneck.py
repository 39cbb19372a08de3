"""Layers that compute in a narrow space: MobileBERT's bottlenecks and stacked feed-forward networks.

Source: Sun et al. 2020 (arXiv 2004.02984), section 3.1 and figure 1. Shape legend: B batch, T tokens, H hidden, A width
inside the layer, X any leading shape.
"""

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.activation import make_activation
from bertlab.nn.bert import Encoder, EncoderLayer, SelfAttention
from bertlab.nn.variants.embeddings import ScaleShift


class NarrowingProjection(nn.Module):
    """A linear layer from the hidden size to the width inside the layer, then `ScaleShift`, [X, H] -> [X, A]."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.bottleneck_size)
        self.norm = ScaleShift(config.bottleneck_size)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        return self.norm(self.dense(hidden_XH))


class NarrowQueryKeyValue(NarrowingProjection):
    """Queries and keys from narrowed hidden states, values from the hidden states, side by side, [X, H] -> [X, 3A]."""

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        A = config.bottleneck_size
        self.query, self.key, self.value = nn.Linear(A, A), nn.Linear(A, A), nn.Linear(config.hidden_size, A)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        narrow_XA = super().forward(hidden_XH)
        return torch.cat([self.query(narrow_XA), self.key(narrow_XA), self.value(hidden_XH)], dim=-1)


class NarrowAttention(SelfAttention):
    """Self-attention that computes in the narrow space, [B, T, H] -> [B, T, A]."""

    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        self.num_heads = config.num_heads
        self.dropout = nn.Dropout(config.attention_dropout)
        self.qkv = NarrowQueryKeyValue(config)
        self.out = nn.Linear(config.bottleneck_size, config.bottleneck_size)


class NarrowFeedForward(nn.Module):
    """A feed-forward network, its residual sum and a `ScaleShift`, which for the last network `BottleneckLayer` has."""

    def __init__(self, config: ModelConfig, has_norm: bool = True):
        super().__init__()
        self.up = nn.Linear(config.bottleneck_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.bottleneck_size)
        self.norm = ScaleShift(config.bottleneck_size) if has_norm else nn.Identity()
        self.activation = make_activation(config.activation)

    def forward(self, hidden_XA: torch.Tensor) -> torch.Tensor:
        return self.norm(self.down(self.activation(self.up(hidden_XA))) + hidden_XA)


class BottleneckLayer(EncoderLayer):
    """Attention and several feed-forward networks of width A, between a narrowing and a widening projection."""

    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        self.attention = NarrowAttention(config)
        self.narrow = NarrowingProjection(config)
        self.attention_norm = ScaleShift(config.bottleneck_size)
        self.first_feed_forwards = nn.ModuleList(NarrowFeedForward(config) for _ in range(config.num_feed_forwards - 1))
        self.feed_forward = NarrowFeedForward(config, has_norm=False)
        self.feed_forward_norm = ScaleShift(config.bottleneck_size)
        self.widen = nn.Linear(config.bottleneck_size, config.hidden_size)
        self.widen_norm = ScaleShift(config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def complete_layer(self, hidden_XH: torch.Tensor, attended_XA: torch.Tensor) -> torch.Tensor:
        hidden_XA = self.attention_norm(attended_XA + self.narrow(hidden_XH))
        for feed_forward in (*self.first_feed_forwards, self.feed_forward):
            hidden_XA = feed_forward(hidden_XA)
        return self.widen_norm(self.dropout(self.widen(self.feed_forward_norm(hidden_XA))) + hidden_XH)


class BottleneckEncoder(Encoder):
    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        self.layers = nn.ModuleList(BottleneckLayer(config) for _ in range(config.num_layers))

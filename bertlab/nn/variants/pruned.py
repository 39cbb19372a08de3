"""Self-attention without its pruned heads: smaller matrices, and the same results as if these heads were ablated.

Shape legend: B batch, T tokens, H hidden, N heads before pruning, D head size, K heads that remain, C the columns of
the heads that remain (C = K * D; in `qkv_BTC`, C = 3 * K * D), X any shape.
"""

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import SelfAttention


class PrunedProjection(nn.Linear):
    """The output projection of the remaining heads (columns `index_C`); it also accepts the outputs of all heads."""

    index_C: torch.Tensor

    def __init__(self, config: ModelConfig, index_C: torch.Tensor):
        super().__init__(len(index_C), config.hidden_size)
        self.register_buffer("index_C", index_C, persistent=False)

    def forward(self, heads_X: torch.Tensor) -> torch.Tensor:
        """[..., K * D] or, of all heads, [..., N * D] -> [..., H]."""
        if heads_X.shape[-1] != self.in_features:
            heads_X = heads_X.index_select(-1, self.index_C)
        return super().forward(heads_X)


class PrunedSelfAttention(SelfAttention):
    """Self-attention whose matrices contain only the heads that remain.

    `FastBert` computes only these. The inherited `forward`, for traces and interventions, computes all N heads: the
    queries, keys and values of pruned heads are zero.
    """

    head_K: torch.Tensor

    def __init__(self, config: ModelConfig, heads: tuple[int, ...]):
        nn.Module.__init__(self)
        self.num_heads, self.num_heads_before_pruning = len(heads), config.num_heads
        index_KD = torch.tensor(heads, device="cpu")[:, None] * config.head_size + torch.arange(
            config.head_size, device="cpu"
        )
        self.register_buffer("head_K", torch.tensor(heads, device="cpu"), persistent=False)
        self.dropout = nn.Dropout(config.attention_dropout)
        self.qkv = nn.Linear(config.hidden_size, 3 * index_KD.numel())
        self.out = PrunedProjection(config, index_KD.flatten())

    def split_heads(self, qkv_BTC: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Split the projections of the remaining heads into query, key and value of all heads, each [B, N, T, D]."""
        parts = []
        for part_BKTD in super().split_heads(qkv_BTC):
            B, _, T, D = part_BKTD.shape
            zeros_BNTD = part_BKTD.new_zeros(B, self.num_heads_before_pruning, T, D)
            parts.append(zeros_BNTD.index_copy(1, self.head_K, part_BKTD))
        return tuple(parts)


def find_remaining_heads(config: ModelConfig, layer: int) -> tuple[int, ...]:
    """Return the indices of those heads of a layer that are not pruned.

    >>> find_remaining_heads(ModelConfig(num_heads=4, pruned_heads=((0, 1), (2, 0))), 2)
    (1, 2, 3)
    """
    return tuple(head for head in range(config.num_heads) if (layer, head) not in config.pruned_heads)


def remove_pruned_heads(layers: nn.ModuleList, config: ModelConfig) -> None:
    for layer in {layer for layer, _ in config.pruned_heads}:
        layers[layer].attention = PrunedSelfAttention(config, find_remaining_heads(config, layer))


def expand_output_weight(attention: SelfAttention) -> torch.Tensor:
    """Return the weights of the output projection by head, with zeros for pruned heads -> [N, D, H]."""
    weight_CH = attention.out.weight.T
    if not isinstance(attention, PrunedSelfAttention):
        return weight_CH.view(attention.num_heads, -1, weight_CH.shape[1])
    weight_KDH = weight_CH.view(attention.num_heads, -1, weight_CH.shape[1])
    zeros_NDH = weight_KDH.new_zeros(attention.num_heads_before_pruning, *weight_KDH.shape[1:])
    return zeros_NDH.index_copy(0, attention.head_K, weight_KDH)

"""Memory layouts for the tokens of a batch in the encoder; `choose_layout` selects one for each batch.

Only attention needs the rows of the batch: on a GPU, a kernel accepts rows that follow each other without gaps
(`VarlenLayout`); on CPU, rows of similar length are padded to the longest of their bucket (`BucketLayout`,
`HeadBucketLayout`).

Shape legend: B batch, T positions of a padded row, G rows of a bucket, X tokens in the layout, N heads, D head size, H
hidden, C the queries, keys and values of all heads side by side (C = 3 * H), R selected positions.
"""

from itertools import accumulate
from typing import Protocol

import torch

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import BertInput, make_additive_mask
from bertlab.nn.fast.attention import padded_attention, supports_varlen, varlen_attention
from bertlab.nn.fast.bucketed_attention import HeadBucketLayout
from bertlab.nn.fast.buckets import BucketLayout, PackedLayout


class Layout(Protocol):
    """An order of the tokens of a batch, with a method that computes attention in this order."""

    def pack(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        """[B, T, H] -> [X, H]."""

    def unpack(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """[X, H] -> [B, T, H]; values at padding positions are undefined."""

    def find_indices(self, positions_R: torch.Tensor) -> torch.Tensor:
        """Convert indices of the flattened B * T to indices of X."""

    def attend(self, qkv_XC: torch.Tensor, num_heads: int, dropout_rate: float) -> torch.Tensor:
        """Compute attention: queries, keys and values side by side, [X, C] -> the outputs of the heads, [X, H]."""


class PaddedLayout:
    """All B * T positions of a batch, padding included."""

    def __init__(self, shape: tuple[int, int], mask: torch.Tensor | None):
        self.shape, self.mask = shape, mask

    def pack(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return hidden_BTH.flatten(0, 1)

    def unpack(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        return hidden_XH.unflatten(0, self.shape)

    def find_indices(self, positions_R: torch.Tensor) -> torch.Tensor:
        return positions_R

    def attend(self, qkv_XC: torch.Tensor, num_heads: int, dropout_rate: float) -> torch.Tensor:
        return padded_attention(self.unpack(qkv_XC), num_heads, self.mask, dropout_rate).flatten(0, 1)


class VarlenLayout(PackedLayout):
    """Tokens without padding, for a GPU kernel that is told where each row starts."""

    def __init__(self, attention_mask_BT: torch.Tensor, lengths: list[int], causal: bool):
        # Unlike `nonzero`, `nonzero_static` gets the number of tokens, so the CPU need not wait for the GPU.
        position_X = torch.nonzero_static(attention_mask_BT.flatten(), size=sum(lengths))[:, 0]
        super().__init__(position_X, tuple(attention_mask_BT.shape))
        # [B + 1]: the index of each row's first token, then the total number of tokens
        row_offsets = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)
        self.row_offsets = row_offsets.to(position_X.device, non_blocking=True)
        self.max_length, self.causal = max(lengths), causal

    def attend(self, qkv_XC: torch.Tensor, num_heads: int, dropout_rate: float) -> torch.Tensor:
        query_XND, key_XND, value_XND = qkv_XC.unflatten(-1, (3, num_heads, -1)).unbind(1)
        heads_XND = varlen_attention(
            query_XND, key_XND, value_XND, self.row_offsets, self.max_length, self.causal, dropout_rate
        )
        return heads_XND.flatten(1)


def choose_layout(config: ModelConfig, batch: BertInput, hidden_BTH: torch.Tensor) -> Layout:
    """Choose the fastest layout for a batch.

    | | without padding | with padding |
    |---|---|---|
    | while `torch.compile` traces | `PaddedLayout` | `PaddedLayout` |
    | GPU, half precision | `PaddedLayout` | `VarlenLayout` |
    | GPU, float32 | `PaddedLayout` | `PaddedLayout` |
    | CPU, bfloat16 | `HeadBucketLayout` | `HeadBucketLayout` |
    | CPU, other | `PaddedLayout` | `BucketLayout` |
    """
    attention_mask_BT, causal = batch.attention_mask_BT, config.left_to_right
    B, T = hidden_BTH.shape[:2]
    if torch.compiler.is_compiling():
        return PaddedLayout((B, T), make_additive_mask(attention_mask_BT, hidden_BTH, causal=causal))
    has_padding = attention_mask_BT is not None and min(batch.lengths, default=T) < T
    on_cpu = hidden_BTH.device.type == "cpu"
    # `HeadBucketLayout` needs the same number of heads in every layer.
    if on_cpu and hidden_BTH.dtype == torch.bfloat16 and not config.pruned_heads:
        is_token_BT = torch.ones(B, T, dtype=torch.bool) if attention_mask_BT is None else attention_mask_BT
        return HeadBucketLayout(is_token_BT, hidden_BTH, causal, config.num_heads)
    if has_padding and on_cpu:
        return BucketLayout(attention_mask_BT, hidden_BTH, causal)
    if has_padding and supports_varlen(hidden_BTH, config.head_size):
        return VarlenLayout(attention_mask_BT, batch.lengths, causal)
    mask = make_additive_mask(attention_mask_BT if has_padding else None, hidden_BTH, causal=causal)
    return PaddedLayout((B, T), mask)

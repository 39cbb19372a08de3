"""How the tokens of a batch lie in memory while they go through the encoder, chosen once per batch by `choose_layout`.

Linear layers, LayerNorm and GELU treat every position alone, so padding can be left out of them. Attention goes by
rows: a GPU kernel takes rows that follow each other without gaps (`Varlen`); on CPU rows of similar length are
padded to the longest of their bucket (`Buckets`, `HeadBuckets`).

Shape legend: B batch, T tokens per padded row, X tokens in the layout, H hidden, R selected positions (indices
of B * T).
"""

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Protocol

import torch

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Inputs, additive_mask
from bertlab.nn.fast.attention import padded_attention, supports_varlen, varlen_attention
from bertlab.nn.fast.bucketed_attention import HeadBuckets
from bertlab.nn.fast.buckets import Buckets, Packed


class Layout(Protocol):
    """An order of the tokens of a batch, with the attention that fits it."""

    def pack(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        """[B, T, H] -> [X, H]."""

    def unpack(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """[X, H] -> [B, T, H]; undefined at padding positions."""

    def index(self, rows_R: torch.Tensor) -> torch.Tensor:
        """Indices of the flattened B * T -> the same positions as indices of X."""

    def attend(self, qkv_XH: torch.Tensor, num_heads: int, dropout: float) -> torch.Tensor:
        """Queries, keys and values side by side, [X, 3H] -> the outputs of the heads side by side, [X, H]."""


class Padded:
    """All B * T positions."""

    def __init__(self, shape: tuple[int, int], mask: torch.Tensor | None):
        self.shape, self.mask = shape, mask

    def pack(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return hidden_BTH.flatten(0, 1)

    def unpack(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        return hidden_XH.unflatten(0, self.shape)

    def index(self, rows_R: torch.Tensor) -> torch.Tensor:
        return rows_R

    def attend(self, qkv_XH: torch.Tensor, num_heads: int, dropout: float) -> torch.Tensor:
        return padded_attention(self.unpack(qkv_XH), num_heads, self.mask, dropout).flatten(0, 1)


class Varlen(Packed):
    """Tokens alone, for a GPU kernel that is given where each row begins."""

    def __init__(self, attention_mask_BT: torch.Tensor, lengths: list[int], causal: bool):
        # with the size known, the GPU need not be waited for
        place_X = torch.nonzero_static(attention_mask_BT.flatten(), size=sum(lengths))[:, 0]
        super().__init__(place_X, tuple(attention_mask_BT.shape))
        offset_B1 = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)
        self.offset_B1 = offset_B1.to(place_X.device, non_blocking=True)
        self.longest, self.causal = max(lengths), causal

    def attend(self, qkv_XH: torch.Tensor, num_heads: int, dropout: float) -> torch.Tensor:
        query_XND, key_XND, value_XND = qkv_XH.unflatten(-1, (3, num_heads, -1)).unbind(1)
        heads_XND = varlen_attention(query_XND, key_XND, value_XND, self.offset_B1, self.longest, self.causal, dropout)
        return heads_XND.flatten(1)


def choose_layout(config: ModelConfig, batch: Inputs, hidden_BTH: torch.Tensor) -> Layout:
    """The fastest layout for a batch.

    | | without padding | with padding |
    |---|---|---|
    | while `torch.compile` traces | `Padded` | `Padded` |
    | GPU, half precision | `Padded` | `Varlen` |
    | GPU, float32 | `Padded` | `Padded` |
    | CPU, bfloat16 | `HeadBuckets` | `HeadBuckets` |
    | CPU, other | `Padded` | `Buckets` |

    Args:
        config: of the model.
        hidden_BTH: the embeddings of the batch, for their type and device.
    """
    attention_mask_BT, causal = batch.attention_mask_BT, config.left_to_right
    B, T = hidden_BTH.shape[:2]
    bias = partial(additive_mask, hidden_BTH=hidden_BTH, causal=causal)
    if torch.compiler.is_compiling():
        return Padded((B, T), bias(attention_mask_BT))
    has_padding = attention_mask_BT is not None and min(batch.lengths, default=T) < T
    on_cpu = hidden_BTH.device.type == "cpu"
    if on_cpu and hidden_BTH.dtype == torch.bfloat16:
        real_BT = torch.ones(B, T, dtype=torch.bool) if attention_mask_BT is None else attention_mask_BT
        return HeadBuckets(real_BT, bucket_mask(hidden_BTH, causal), config.num_heads)
    if has_padding and on_cpu:
        return Buckets(attention_mask_BT, bucket_mask(hidden_BTH, causal))
    if has_padding and supports_varlen(hidden_BTH, config.head_size):
        return Varlen(attention_mask_BT, batch.lengths, causal)
    return Padded((B, T), bias(attention_mask_BT if has_padding else None))


def bucket_mask(like: torch.Tensor, causal: bool) -> Callable[[torch.Tensor], torch.Tensor | None]:
    """A function from the tokens of a bucket, bool [G, T], to its additive mask, or None if nothing is masked."""

    def mask(real_GT: torch.Tensor) -> torch.Tensor | None:
        hidden_GT1 = like.new_empty(*real_GT.shape, 1)
        return additive_mask(None if bool(real_GT.all()) else real_GT, hidden_GT1, causal=causal)

    return mask

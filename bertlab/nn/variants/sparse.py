"""Sparse attention for long texts: Longformer's windows with global tokens, and BigBird's blocks.

Scores are computed for all pairs of tokens and masked outside the sparse pattern, so that attention maps have their
usual shape; time and memory grow with the square of the length.

Sources: Beltagy et al. 2020 (arXiv 2004.05150), Zaheer et al. 2020 (arXiv 2007.14062). Shape legend: B batch, T tokens,
H hidden, N heads, D head size.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.config.sparse import BlockAttention
from bertlab.nn.bert import EncoderLayer, SelfAttention
from bertlab.nn.interventions import NO_INTERVENTIONS, Interventions
from bertlab.nn.trace import NO_TRACE, Trace
from bertlab.nn.variants.layer_masks import LayerMaskEncoder


@dataclass(frozen=True)
class GlobalMask:
    """The mask of the layers of a `WindowEncoder`."""

    additive_mask: torch.Tensor | None  # the result of `bert.make_additive_mask`, to which `add_window` adds
    is_global_BT: torch.Tensor  # whether a token attends to all tokens and all tokens attend to it

    def add_window(self, window: int, hidden_BTH: torch.Tensor) -> "GlobalMask":
        """Return a copy whose additive mask, [B, 1, T, T], also masks tokens outside the window of a query."""
        position_T = torch.arange(hidden_BTH.shape[1], device=hidden_BTH.device)
        is_near_TT = (position_T[:, None] - position_T).abs() <= window // 2
        may_attend_BTT = is_near_TT | self.is_global_BT[:, :, None] | self.is_global_BT[:, None]
        mask = (~may_attend_BTT[:, None]).to(hidden_BTH.dtype) * torch.finfo(hidden_BTH.dtype).min
        if self.additive_mask is not None:
            mask = torch.minimum(mask, self.additive_mask)
        return GlobalMask(mask, self.is_global_BT)


def find_global_tokens(input_ids_BT: torch.Tensor, separator_id: int, heads: Collection[str]) -> torch.Tensor:
    """Find the tokens with global attention, as the classes of `transformers` do -> bool [B, T].

    These are the first token for classification and regression, the question for question answering, the choice for
    multiple choice, and none for other output layers.

    >>> find_global_tokens(torch.tensor([[0, 7, 2, 2, 8, 2]]), 2, ["span"]).tolist()
    [[True, True, False, False, False, False]]
    """
    is_global_BT = torch.zeros_like(input_ids_BT, dtype=torch.bool)
    separators_BT = (input_ids_BT == separator_id).cumsum(1)
    if {"classify", "regress"} & set(heads):
        is_global_BT[:, 0] = True
    elif "span" in heads:
        is_global_BT = separators_BT == 0
    elif "choose" in heads:
        is_global_BT = separators_BT >= 2
        is_global_BT[:, 1:] &= separators_BT[:, :-1] >= 2  # the second separator after the context is not global
    return is_global_BT


class GlobalSelfAttention(SelfAttention):
    """Self-attention in which global tokens have queries, keys and values of their own."""

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.global_qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask: GlobalMask,
        *,
        layer: int = 0,
        trace: Trace = NO_TRACE,
        interventions: Interventions = NO_INTERVENTIONS,
    ) -> torch.Tensor:
        """-> [B, T, H]; the trace records queries, keys and values of `qkv`, not of `global_qkv`."""
        query_BNTD, key_BNTD, value_BNTD = self.split_heads(self.qkv(hidden_BTH))
        global_query_BNTD, global_key_BNTD, global_value_BNTD = self.split_heads(self.global_qkv(hidden_BTH))
        is_global_B1T1 = mask.is_global_BT[:, None, :, None]
        scale = query_BNTD.shape[-1] ** -0.5
        scores_BNTT = torch.where(
            is_global_B1T1,
            (global_query_BNTD * scale) @ global_key_BNTD.transpose(-1, -2),
            (query_BNTD * scale) @ key_BNTD.transpose(-1, -2),
        )
        probs_BNTT = torch.softmax(scores_BNTT + mask.additive_mask, dim=-1)
        probs_BNTT = interventions.replace_attention_rows(layer, probs_BNTT)
        dropped_BNTT = self.dropout(probs_BNTT)
        heads_BNTD = torch.where(is_global_B1T1, dropped_BNTT @ global_value_BNTD, dropped_BNTT @ value_BNTD)
        heads_BNTD = interventions.scale_heads(layer, heads_BNTD)
        if trace.is_recording("scores"):
            trace.record("scores", scores_BNTT.masked_fill(mask.additive_mask < 0, float("-inf")))
        kinds = ("query", "key", "value", "probs", "head_outputs")
        for kind, tensor in zip(kinds, (query_BNTD, key_BNTD, value_BNTD, probs_BNTT, heads_BNTD), strict=True):
            trace.record(kind, tensor)
        return self.out(heads_BNTD.transpose(1, 2).flatten(2))


class WindowLayer(EncoderLayer):
    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.attention = GlobalSelfAttention(config)


class WindowEncoder(LayerMaskEncoder):
    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        self.layers = nn.ModuleList(WindowLayer(config) for _ in range(config.num_layers))
        self.windows = config.sparse.windows

    def make_masks(self, hidden_BTH: torch.Tensor, mask: GlobalMask) -> list[GlobalMask]:
        mask_by_window = {window: mask.add_window(window, hidden_BTH) for window in set(self.windows)}
        return [mask_by_window[window] for window in self.windows]


class BlockEncoder(LayerMaskEncoder):
    """BERT's layers with BigBird's blocks."""

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.sparse = config.sparse

    def make_masks(self, hidden_BTH: torch.Tensor, mask: torch.Tensor | None) -> list[torch.Tensor | None]:
        """Short texts, whose attention is full, keep `mask`."""
        if not self.sparse.has_full_attention(hidden_BTH.shape[1]):
            blocks_11TT = make_block_mask(hidden_BTH, self.sparse)
            mask = blocks_11TT if mask is None else torch.where(mask < 0, mask, blocks_11TT)
        return [mask] * len(self.layers)


def make_block_mask(hidden_BTH: torch.Tensor, sparse: BlockAttention) -> torch.Tensor:
    """Make the additive mask of BigBird's attention, [1, 1, T, T].

    With r random blocks, the keys of the first block count r + 1 times in the softmax of queries outside the first and
    last block (see `BlockAttention`), so ln(r + 1) is added to their scores.

    >>> mask_11TT = make_block_mask(torch.zeros(1, 6, 4), BlockAttention(1, 0))
    >>> (mask_11TT[0, 0] == 0).int().tolist()[1:4]
    [[1, 1, 1, 0, 0, 1], [1, 1, 1, 1, 0, 1], [1, 0, 1, 1, 1, 1]]
    """
    T = hidden_BTH.shape[1]
    block_T = torch.arange(T, device=hidden_BTH.device) // sparse.block_size
    last_block = block_T[-1]
    is_global_T = (block_T == 0) | (block_T == last_block)
    is_near_TT = (block_T[:, None] - block_T).abs() <= 1
    may_attend_TT = is_near_TT | is_global_T[:, None] | is_global_T
    is_repeated_TT = ~is_global_T[:, None] & (block_T == 0)
    mask_TT = (~may_attend_TT).to(hidden_BTH.dtype) * torch.finfo(hidden_BTH.dtype).min
    return mask_TT.masked_fill(is_repeated_TT, math.log1p(sparse.num_random_blocks))[None, None]

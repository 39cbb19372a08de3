"""Multi-head self-attention (Vaswani et al. 2017, section 3.2; Devlin et al. 2019, section 3).

Knows which keys are padding, nothing else of the text.

Shape legend: B batch, T tokens, H hidden, N heads, D head size (H = N * D), L layers.
"""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.fast.bucketed_attention import asked_attention, grouped_attention
from bertlab.nn.fast.dropout import dropout as dropped_out
from bertlab.nn.fast.linear import Linear, linear
from bertlab.nn.fast.packing import Offsets, Tokens
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace


class SelfAttention(nn.Module):
    """Query, key and value are one matrix, [3H, H], in that order; checkpoints hold the three apart."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.num_heads = config.num_heads
        self.dropout = config.attention_dropout
        self.qkv = Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = Linear(config.hidden_size, config.hidden_size)

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask_B11T: torch.Tensor | None = None,
        *,
        layer: int = 0,
        trace: Trace | None = None,
        interventions: Interventions | None = None,
        tokens: Tokens | None = None,
        rows_R: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """hidden_BTH -> [B, T, H], after the output projection; with rows_R (places in B * T) only those, [R, H].

        mask_B11T: see `additive_mask`. tokens: `hidden_BTH` is [X, H], without padding, and these tell where it was;
        then nothing is recorded or changed, [X, H] comes out, and `mask_B11T` is not read.
        """
        dropout = self.dropout if self.training else 0.0
        if tokens is not None and tokens.can_ask and rows_R is not None and len(rows_R):
            return self.out(self._asked(hidden_BTH, tokens, dropout, rows_R))
        if tokens is not None:
            return self.out(self._without_padding(self.qkv(hidden_BTH), tokens, dropout, rows_R))
        query_BNTD, key_BNTD, value_BNTD = self._parted(self.qkv(hidden_BTH))
        if (trace and trace.wants("scores", "probs")) or (interventions and interventions.changes_rows(layer)):
            heads_BNTD = recorded_attention(
                query_BNTD,
                key_BNTD,
                value_BNTD,
                mask_B11T,
                dropout,
                layer=layer,
                trace=trace,
                interventions=interventions,
            )
        else:
            heads_BNTD = attention(query_BNTD, key_BNTD, value_BNTD, mask_B11T, dropout)
        if interventions is not None:
            heads_BNTD = interventions.scale_heads(layer, heads_BNTD)
        if trace is not None:
            trace.record("query", query_BNTD)
            trace.record("key", key_BNTD)
            trace.record("value", value_BNTD)
            trace.record("head_outputs", heads_BNTD)
        merged_BTH = heads_BNTD.transpose(1, 2).flatten(2)
        return self.out(merged_BTH if rows_R is None else merged_BTH.flatten(0, 1).index_select(0, rows_R))

    def without_each(
        self, hidden_1TH: torch.Tensor, mask_B11T: torch.Tensor | None = None, positions_P: torch.Tensor | None = None
    ) -> torch.Tensor:
        """What `forward` gives for one input when head 0, 1, ... alone is silent -> [N, T, H]; with positions_P only
        there, [N, P, H].

        The heads look at the same tokens whichever of them is silent, and what each adds to the output projection is
        a summand of its own: one computation serves all.
        """
        heads_NTD = attention(*self._parted(self.qkv(hidden_1TH)), mask_B11T)[0]
        if positions_P is not None:
            heads_NTD = heads_NTD[:, positions_P]
        added_NTH = heads_NTD @ self.out.weight.T.view(self.num_heads, -1, self.out.out_features)
        return added_NTH.sum(0) + self.out.bias - added_NTH

    def _without_padding(
        self, qkv_XH: torch.Tensor, tokens: Tokens, dropout: float, rows_R: torch.Tensor | None
    ) -> torch.Tensor:
        """[X, 3H] -> what the heads give, side by side, [X, H]; with rows_R only those, [R, H]."""
        if tokens.heads is not None:
            heads_XH = grouped_attention(qkv_XH, tokens.groups, tokens.heads, dropout)
            return heads_XH if rows_R is None else heads_XH.index_select(0, tokens.index(rows_R))
        if tokens.offsets is None:
            parts = [
                attention(*self._parted(qkv_GTH), group.mask_G11T, dropout).transpose(1, 2).flatten(2)
                for qkv_GTH, group in zip(tokens.parted(qkv_XH), tokens.groups, strict=True)
            ]
            return tokens.joined(parts, rows_R)
        qkv_X3ND = qkv_XH.unflatten(-1, (3, self.num_heads, -1))
        heads_XH = ragged_attention(*qkv_X3ND.unbind(1), tokens.offsets, dropout).flatten(1)
        return heads_XH if rows_R is None else heads_XH.index_select(0, tokens.index(rows_R))

    def _asked(self, hidden_XH: torch.Tensor, tokens: Tokens, dropout: float, rows_R: torch.Tensor) -> torch.Tensor:
        """[X, H] -> what the heads give to the rows asked about, who alone have queries, [R, H]."""
        (weight, bias), H = (self.qkv.weight, self.qkv.bias), hidden_XH.shape[1]
        query_RH = linear(hidden_XH.index_select(0, tokens.index(rows_R)), weight[:H], bias[:H])
        key_value_XH = linear(hidden_XH, weight[H:], bias[H:])
        return asked_attention(query_RH, key_value_XH, tokens.groups, tokens.heads, tokens.asked(rows_R), dropout)

    def _parted(self, qkv_BTH: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """[B, T, 3H] -> query, key and value, each [B, N, T, D]."""
        qkv_BT3ND = qkv_BTH.unflatten(-1, (3, self.num_heads, -1))
        return qkv_BT3ND.permute(2, 0, 3, 1, 4).unbind(0)


def additive_mask(attention_mask_BT: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """What is added to the scores: 0 for a token, the lowest finite number for padding (not -inf, so that a row which
    is all padding stays free of NaN).

    None when there is no padding, which spares an addition over [B, N, T, T] in every layer. Looking for padding would
    make a GPU wait and break a compiled graph, so there the mask is always made, unless the caller passes None.

    >>> additive_mask(torch.tensor([[True, False]]), torch.float16)
    tensor([[[[    -0., -65504.]]]], dtype=torch.float16)
    >>> additive_mask(torch.tensor([[True, True]]), torch.float16) is None
    True
    """
    if attention_mask_BT is None:
        return None
    real_BT = attention_mask_BT.bool()
    if real_BT.device.type == "cpu" and not torch.compiler.is_compiling() and bool(real_BT.all()):
        return None
    return ((~real_BT).to(dtype) * torch.finfo(dtype).min)[:, None, None, :]


def left_to_right_mask(mask_B11T: torch.Tensor | None, T: int, like: torch.Tensor) -> torch.Tensor:
    """`additive_mask` (or None), further closed to every token that comes later -> [B or 1, 1, T, T], of the type
    and on the device of `like`.

    >>> left_to_right_mask(None, 2, torch.zeros(1, dtype=torch.float16))
    tensor([[[[     0., -65504.],
              [     0.,      0.]]]], dtype=torch.float16)
    """
    later_TT = torch.full((T, T), torch.finfo(like.dtype).min, dtype=like.dtype, device=like.device)
    later_11TT = later_TT.triu(1)[None, None]
    # the lower of the two and not their sum, which would be -inf
    return later_11TT if mask_B11T is None else torch.minimum(mask_B11T, later_11TT)


def attention(
    query_BNTD: torch.Tensor,
    key_BNTD: torch.Tensor,
    value_BNTD: torch.Tensor,
    mask_B11T: torch.Tensor | None,
    dropout: float = 0.0,
) -> torch.Tensor:
    """softmax(q k^T / sqrt(D) + mask) v, by whichever way is fastest here -> [B, N, T, D].

    The fused kernel, but for two cases of a processor, where the three steps are written out: bfloat16, whose backward
    pass has no fast kernel there, and dropout, which has none at all (BENCHMARKS.md, "Attention on a processor").
    """
    written_out = query_BNTD.device.type == "cpu" and (query_BNTD.dtype == torch.bfloat16 or dropout > 0)
    if not written_out:
        return F.scaled_dot_product_attention(query_BNTD, key_BNTD, value_BNTD, attn_mask=mask_B11T, dropout_p=dropout)
    scores_BNTT = (query_BNTD * query_BNTD.shape[-1] ** -0.5) @ key_BNTD.transpose(-1, -2)
    if mask_B11T is not None:
        scores_BNTT = scores_BNTT + mask_B11T
    return dropped_out(torch.softmax(scores_BNTT, dim=-1), dropout) @ value_BNTD


def knows_ragged_rows(like: torch.Tensor, head_size: int) -> bool:
    """Whether `ragged_attention` can be had for tensors like this: on a GPU, in half precision, for heads up to 256.

    >>> knows_ragged_rows(torch.empty(1), 64)
    False
    """
    if like.device.type != "cuda" or like.dtype not in (torch.float16, torch.bfloat16):
        return False
    if head_size % 8 or head_size > 256:
        return False
    built = torch.backends.cuda.is_flash_attention_available()
    return built and torch.cuda.get_device_capability(like.device) >= (8, 0)


def ragged_attention(
    query_XND: torch.Tensor,
    key_XND: torch.Tensor,
    value_XND: torch.Tensor,
    rows: Offsets,
    dropout: float = 0.0,
) -> torch.Tensor:
    """`attention` within each row, where rows follow each other without a gap -> [X, N, D].

    The operator (Dao 2023) below `torch`'s nested tensors, which take milliseconds of the processor in each layer, and
    below its `varlen_attn`, which has no dropout.
    """
    offset_B1, longest = rows.offset_B1, rows.longest
    return torch.ops.aten._flash_attention_forward(
        query_XND, key_XND, value_XND, offset_B1, offset_B1, longest, longest, dropout, rows.left_to_right, False
    )[0]


def recorded_attention(
    query_BNTD: torch.Tensor,
    key_BNTD: torch.Tensor,
    value_BNTD: torch.Tensor,
    mask_B11T: torch.Tensor | None,
    dropout: float = 0.0,
    *,
    layer: int,
    trace: Trace | None,
    interventions: Interventions | None,
) -> torch.Tensor:
    """The same as `attention`, step by step, with every step recorded and open to change -> [B, N, T, D]."""
    scores_BNTT = (query_BNTD * query_BNTD.shape[-1] ** -0.5) @ key_BNTD.transpose(-1, -2)
    masked_BNTT = scores_BNTT if mask_B11T is None else scores_BNTT + mask_B11T
    probs_BNTT = torch.softmax(masked_BNTT, dim=-1)
    if interventions is not None:
        probs_BNTT = interventions.replace_rows(layer, probs_BNTT)
    if trace is not None and trace.wants("scores"):
        padding = False if mask_B11T is None else mask_B11T < 0
        trace.record("scores", scores_BNTT.masked_fill(torch.as_tensor(padding), float("-inf")))
    if trace is not None:
        trace.record("probs", probs_BNTT)
    return dropped_out(probs_BNTT, dropout) @ value_BNTD

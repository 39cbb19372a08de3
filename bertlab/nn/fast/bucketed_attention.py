"""Attention over groups of rows with the three steps written out, forward and backward: a processor's bfloat16.

`torch`'s fused kernel has a slow backward pass there, and its autograd moves queries, keys, values and what comes out
into place one by one, twice each. Here each is moved once, to where a head's tokens follow each other and a product
takes them as they are. Knows nothing of layers.

Shape legend: X tokens, H hidden, N heads, D head size (H = N * D), G rows of a group, T their places, P places of all
heads in all groups; R tokens that are asked about, Q the places of their heads; M matrices side by side, 3 or 2.
"""

import torch

from bertlab.nn.fast.dropout import kept
from bertlab.nn.fast.packing import Group, HeadPlaces


class _GroupedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, qkv_XH, query_RH, groups, heads, asked, dropout):
        """Queries, keys and values side by side, or keys and values alone, where query_RH is not None."""
        many = 3 if query_RH is None else 2
        head_size = qkv_XH.shape[1] // (many * heads.num_heads)
        come_P, back_XN = heads.of_three if query_RH is None else heads.of_two
        *query_QD, key_PD, value_PD = qkv_XH.reshape(-1, head_size).index_select(0, come_P).view(many, -1, head_size)
        query_QD = query_QD[0] if query_RH is None else query_RH.reshape(-1, head_size).index_select(0, asked.come_P)
        kept_by_group, scale, out_QD = [], head_size**-0.5, torch.empty_like(query_QD)
        turns = zip(*map(asked.parted, (query_QD, out_QD)), *map(heads.parted, (key_PD, value_PD)), strict=True)
        for group, (query, out, key, value) in zip(groups, turns, strict=True):
            scores = torch.empty(*query.shape[:2], group.longest, dtype=query.dtype)
            torch.baddbmm(scores, query, key.mT, beta=0, alpha=scale, out=scores)
            if group.mask_G11T is not None:
                scores.view(group.rows, -1, *scores.shape[1:]).add_(group.mask_G11T)
            probs = torch.softmax(scores, -1, out=scores)
            factor = kept(probs, dropout).to(probs.dtype).mul_(1 / (1 - dropout)) if dropout else None
            torch.bmm(probs if factor is None else probs * factor, value, out=out)
            kept_by_group += [probs, factor]
        ctx.save_for_backward(back_XN, query_QD, key_PD, value_PD, *kept_by_group)
        ctx.heads, ctx.asked, ctx.scale, ctx.many = heads, asked, scale, many
        return out_QD.index_select(0, asked.place_XN).view(-1, heads.num_heads * head_size)

    @staticmethod
    def backward(ctx, grad_RH):
        back_XN, query_QD, key_PD, value_PD, *kept_by_group = ctx.saved_tensors
        grad_QD = torch.zeros_like(query_QD)
        grad_QD.index_copy_(0, ctx.asked.place_XN, grad_RH.reshape(-1, grad_QD.shape[-1]))
        found_MPD = key_PD.new_empty(ctx.many, *key_PD.shape)
        to_query_QD = found_MPD[0] if ctx.many == 3 else torch.empty_like(query_QD)
        to_key_PD, to_value_PD = found_MPD[-2:]
        of_queries, of_keys = (query_QD, to_query_QD, grad_QD), (key_PD, value_PD, to_key_PD, to_value_PD)
        turns = zip(*map(ctx.asked.parted, of_queries), *map(ctx.heads.parted, of_keys), strict=True)
        for nth, (query, to_query, grad, key, value, to_key, to_value) in enumerate(turns):
            probs, factor = kept_by_group[2 * nth : 2 * nth + 2]
            torch.bmm((probs if factor is None else probs * factor).mT, grad, out=to_value)
            to_probs = torch.bmm(grad, value.mT)
            if factor is not None:
                to_probs *= factor
            to_scores = torch._softmax_backward_data(to_probs, probs, -1, probs.dtype)
            torch.baddbmm(to_query, to_scores, key, beta=0, alpha=ctx.scale, out=to_query)
            torch.baddbmm(to_key, to_scores.mT, query, beta=0, alpha=ctx.scale, out=to_key)
        found_XH = found_MPD.flatten(0, 1).index_select(0, back_XN).view(-1, ctx.many * grad_RH.shape[1])
        found_RH = to_query_QD.index_select(0, ctx.asked.place_XN).view(grad_RH.shape) if ctx.many == 2 else None
        return found_XH, found_RH, None, None, None, None


def pays_by_heads(like: torch.Tensor) -> bool:
    """Whether `grouped_attention` is the fastest way for tensors like this: on a processor, in bfloat16.

    >>> pays_by_heads(torch.empty(1, dtype=torch.bfloat16)), pays_by_heads(torch.empty(1))
    (True, False)
    """
    return like.device.type == "cpu" and like.dtype == torch.bfloat16


def grouped_attention(
    qkv_XH: torch.Tensor, groups: tuple[Group, ...], heads: HeadPlaces, dropout: float = 0.0
) -> torch.Tensor:
    """`attention.attention` within each row: queries, keys and values side by side, [X, 3H] -> [X, H]."""
    return _GroupedAttention.apply(qkv_XH, None, groups, heads, heads, dropout)


def asked_attention(
    query_RH: torch.Tensor,
    key_value_XH: torch.Tensor,
    groups: tuple[Group, ...],
    heads: HeadPlaces,
    asked: HeadPlaces,
    dropout: float = 0.0,
) -> torch.Tensor:
    """The same for a few queries: theirs alone, and all keys and values side by side, [X, 2H] -> [R, H].

    asked: where the heads of the R queries stand, see `Tokens.asked`.
    """
    return _GroupedAttention.apply(key_value_XH, query_RH, groups, heads, asked, dropout)

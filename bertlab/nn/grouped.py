"""Attention over groups of rows with the three steps written out, forward and backward: a processor's bfloat16.

`torch`'s fused kernel has a slow backward pass there, and its autograd moves queries, keys, values and what comes out
into place one by one, twice each. Here each is moved once, to where a head's tokens follow each other and a product
takes them as they are. Knows nothing of layers.

Shape legend: X tokens, H hidden, N heads, D head size (H = N * D), G rows of a group, T their places, P places of all
heads in all groups.
"""

import torch

from bertlab.nn.dropout import kept
from bertlab.nn.padding import Group, HeadPlaces


class _GroupedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, qkv_XH, groups, places, dropout):
        head_size = qkv_XH.shape[1] // (3 * places.num_heads)
        qkv_3PD = qkv_XH.reshape(-1, head_size).index_select(0, places.come_3P).view(3, -1, head_size)
        out_PD = torch.empty_like(qkv_3PD[0])
        kept_by_group, scale = [], head_size**-0.5
        for group, (query, key, value, out) in _by_group(groups, places.num_heads, qkv_3PD, out_PD[None]):
            scores = torch.empty(*query.shape[:2], group.longest, dtype=query.dtype)
            torch.baddbmm(scores, query, key.mT, beta=0, alpha=scale, out=scores)
            if group.mask_G11T is not None:
                scores.view(group.rows, -1, *scores.shape[1:]).add_(group.mask_G11T)
            probs = torch.softmax(scores, -1, out=scores)
            factor = kept(probs, dropout).to(probs.dtype).mul_(1 / (1 - dropout)) if dropout else None
            torch.bmm(probs if factor is None else probs * factor, value, out=out)
            kept_by_group += [probs, factor]
        ctx.save_for_backward(qkv_3PD, *kept_by_group)
        ctx.groups, ctx.places, ctx.scale = groups, places, scale
        return out_PD.index_select(0, places.out_XN).view(len(qkv_XH), -1)

    @staticmethod
    def backward(ctx, grad_XH):
        qkv_3PD, *kept_by_group = ctx.saved_tensors
        grad_PD = torch.zeros_like(qkv_3PD[0])
        grad_PD.index_copy_(0, ctx.places.out_XN, grad_XH.reshape(-1, grad_PD.shape[-1]))
        found_3PD = torch.empty_like(qkv_3PD)
        turns = _by_group(ctx.groups, ctx.places.num_heads, qkv_3PD, found_3PD, grad_PD[None])
        for nth, (_, (query, key, value, to_query, to_key, to_value, grad)) in enumerate(turns):
            probs, factor = kept_by_group[2 * nth : 2 * nth + 2]
            torch.bmm((probs if factor is None else probs * factor).mT, grad, out=to_value)
            to_probs = torch.bmm(grad, value.mT)
            if factor is not None:
                to_probs *= factor
            to_scores = torch._softmax_backward_data(to_probs, probs, -1, probs.dtype)
            torch.baddbmm(to_query, to_scores, key, beta=0, alpha=ctx.scale, out=to_query)
            torch.baddbmm(to_key, to_scores.mT, query, beta=0, alpha=ctx.scale, out=to_key)
        found_XH = found_3PD.view(-1, found_3PD.shape[-1]).index_select(0, ctx.places.back_X3N)
        return found_XH.view(len(grad_XH), -1), None, None, None


def pays_by_heads(like: torch.Tensor) -> bool:
    """Whether `grouped_attention` is the fastest way for tensors like this: on a processor, in bfloat16.

    >>> pays_by_heads(torch.empty(1, dtype=torch.bfloat16)), pays_by_heads(torch.empty(1))
    (True, False)
    """
    return like.device.type == "cpu" and like.dtype == torch.bfloat16


def grouped_attention(
    qkv_XH: torch.Tensor, groups: tuple[Group, ...], places: HeadPlaces, dropout: float = 0.0
) -> torch.Tensor:
    """`attention.attention` within each row: queries, keys and values side by side, [X, 3H] -> [X, H]."""
    return _GroupedAttention.apply(qkv_XH, groups, places, dropout)


def _by_group(groups: tuple[Group, ...], num_heads: int, *of_heads: torch.Tensor):
    """Each group, with its own part of each tensor [.., P, D] as [G * N, T, D]."""
    parts, first = [part_PD for tensor in of_heads for part_PD in tensor], 0
    for group in groups:
        here = slice(first, first + group.rows * group.longest * num_heads)
        yield group, [part_PD[here].view(group.rows * num_heads, group.longest, -1) for part_PD in parts]
        first = here.stop

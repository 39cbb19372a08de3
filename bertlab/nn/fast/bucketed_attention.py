"""Unfused attention over buckets of rows, forward and backward, for bfloat16 on CPU, where PyTorch's kernel is slow.

Queries, keys, values and outputs are copied once, into an order in which the tokens of a head are adjacent.

Shape legend: that of `layouts`, and P head slots: the vectors [G, N, T] of the first bucket, then those of the second
one, ...; a 3 in a name is a dimension for queries, keys and values.
"""

from collections.abc import Sequence

import torch

from bertlab.nn.fast.buckets import BucketLayout
from bertlab.nn.fast.dropout import draw_keep_mask

# On CPU, a bfloat16 matrix product compiles a kernel for every shape that was not used recently, which takes
# milliseconds. So that shapes repeat, some padding is treated as tokens: the number of tokens in a batch is rounded up
# to a multiple of TOKENS_STEP, and the length of a bucket to a multiple of LENGTH_STEP (docs/lab-notebook.md, "Repeated
# shapes").
TOKENS_STEP, LENGTH_STEP = 128, 32


class HeadBucketLayout(BucketLayout):
    """A `BucketLayout` that computes the attention of all its buckets in one autograd function."""

    def __init__(self, attention_mask_BT: torch.Tensor, like: torch.Tensor, causal: bool, num_heads: int):
        is_kept_BT = round_up_tokens(attention_mask_BT, TOKENS_STEP)
        super().__init__(attention_mask_BT, like, causal, is_kept_BT=is_kept_BT, length_step=LENGTH_STEP)
        sizes = [(bucket.num_rows, bucket.padded_length) for bucket in self.buckets]
        self.head_slot_XN = find_head_slots(sizes, self.slot_X, num_heads)
        num_head_slots = sum(rows * padded_length for rows, padded_length in sizes) * num_heads
        # For each head slot, the index of its vector in the flattened [X, N]; the head slots of padding get index 0.
        source_P = torch.zeros(num_head_slots, dtype=torch.int64)
        source_P[self.head_slot_XN.flatten()] = torch.arange(self.head_slot_XN.numel())
        part_index = torch.arange(3)[:, None]  # [3, 1]: 0 query, 1 key, 2 value
        # For each element of [3, P], its index in the flattened [X, 3, N].
        self.source_flat = ((source_P // num_heads * 3 + part_index) * num_heads + source_P % num_heads).flatten()
        # For each element of [X, 3, N], its index in the flattened [3, P].
        self.head_slot_flat = (self.head_slot_XN[:, None] + num_head_slots * part_index).flatten()

    def attend(self, qkv_XC: torch.Tensor, num_heads: int, dropout_rate: float) -> torch.Tensor:
        return _BucketedAttention.apply(qkv_XC, self, num_heads, dropout_rate)

    def split_buckets(self, heads_PD: torch.Tensor, num_heads: int) -> list[torch.Tensor]:
        """Split [P, D] into one tensor [G * N, T, D] for each bucket."""
        parts = heads_PD.split([bucket.num_rows * num_heads * bucket.padded_length for bucket in self.buckets])
        return [
            part.view(bucket.num_rows * num_heads, bucket.padded_length, -1)
            for part, bucket in zip(parts, self.buckets, strict=True)
        ]


class _BucketedAttention(torch.autograd.Function):
    """`HeadBucketLayout.attend`; the backward pass is written by hand."""

    @staticmethod
    def forward(ctx, qkv_XC, layout, num_heads, dropout_rate):
        head_size = qkv_XC.shape[1] // (3 * num_heads)
        qkv_3PD = qkv_XC.reshape(-1, head_size).index_select(0, layout.source_flat).view(3, -1, head_size)
        out_PD, scale, saved = torch.empty_like(qkv_3PD[0]), head_size**-0.5, []
        parts = zip(
            layout.buckets, *(layout.split_buckets(part, num_heads) for part in (*qkv_3PD, out_PD)), strict=True
        )
        for bucket, query, key, value, out in parts:
            scores = torch.empty(*query.shape[:2], bucket.padded_length, dtype=query.dtype)
            # With beta=0, `baddbmm` computes scale * query key^T in one operation.
            torch.baddbmm(scores, query, key.mT, beta=0, alpha=scale, out=scores)
            if bucket.mask is not None:
                scores.view(bucket.num_rows, -1, *scores.shape[1:]).add_(bucket.mask)
            probs = torch.softmax(scores, -1, out=scores)
            dropout_factor = None
            if dropout_rate:
                dropout_factor = draw_keep_mask(probs, dropout_rate).to(probs.dtype).mul_(1 / (1 - dropout_rate))
            torch.bmm(probs if dropout_factor is None else probs * dropout_factor, value, out=out)
            saved += [probs, dropout_factor]
        ctx.save_for_backward(qkv_3PD, *saved)
        ctx.layout, ctx.num_heads, ctx.scale = layout, num_heads, scale
        return out_PD.index_select(0, layout.head_slot_XN.flatten()).view(-1, num_heads * head_size)

    @staticmethod
    def backward(ctx, grad_XH):
        qkv_3PD, *saved = ctx.saved_tensors
        layout, num_heads = ctx.layout, ctx.num_heads
        grad_PD = torch.zeros_like(qkv_3PD[0])
        grad_PD.index_copy_(0, layout.head_slot_XN.flatten(), grad_XH.reshape(-1, grad_PD.shape[-1]))
        grads_3PD = torch.empty_like(qkv_3PD)
        parts = zip(*(layout.split_buckets(part, num_heads) for part in (*qkv_3PD, grad_PD, *grads_3PD)), strict=True)
        for index, (query, key, value, grad, grad_query, grad_key, grad_value) in enumerate(parts):
            probs, dropout_factor = saved[2 * index : 2 * index + 2]
            torch.bmm((probs if dropout_factor is None else probs * dropout_factor).mT, grad, out=grad_value)
            grad_probs = torch.bmm(grad, value.mT)
            if dropout_factor is not None:
                grad_probs *= dropout_factor
            grad_scores = torch._softmax_backward_data(grad_probs, probs, -1, probs.dtype)
            torch.baddbmm(grad_query, grad_scores, key, beta=0, alpha=ctx.scale, out=grad_query)
            torch.baddbmm(grad_key, grad_scores.mT, query, beta=0, alpha=ctx.scale, out=grad_key)
        grad_XC = grads_3PD.flatten(0, 1).index_select(0, layout.head_slot_flat).view(len(grad_XH), -1)
        return grad_XC, None, None, None


def find_head_slots(sizes: Sequence[tuple[int, int]], slot_X: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Find the head slots of each token, one for each head -> int64 [X, N].

    >>> find_head_slots([(1, 2), (1, 1)], torch.tensor([0, 1, 2]), num_heads=2).tolist()
    [[0, 2], [1, 3], [4, 5]]
    """
    parts, begin = [], 0
    for rows, padded_length in sizes:
        count = rows * num_heads * padded_length
        head_slot_GNT = torch.arange(begin, begin + count).view(rows, num_heads, padded_length)
        parts.append(head_slot_GNT.transpose(1, 2).reshape(-1, num_heads))
        begin += count
    return torch.cat(parts)[slot_X]


def round_up_tokens(mask_BT: torch.Tensor, step: int) -> torch.Tensor:
    """Mark padding positions as tokens, the first ones first, until the number of tokens is a multiple of `step`.

    If there is too little padding, all of it is marked.

    >>> round_up_tokens(torch.tensor([[True, False, False], [True, True, True]]), 3).int().tolist()
    [[1, 1, 1], [1, 1, 1]]
    """
    is_token_flat = mask_BT.flatten().bool().clone()
    num_tokens, padding_indices = int(is_token_flat.sum()), (~is_token_flat).nonzero()[:, 0]
    is_token_flat[padding_indices[: max(1, -(-num_tokens // step)) * step - num_tokens]] = True
    return is_token_flat.view(mask_BT.shape)

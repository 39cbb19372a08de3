"""Layouts with little or no padding: all tokens in one sequence and, for attention on CPU, buckets of rows.

A bucket holds rows of similar length, because the number of attention scores grows with the square of the length to
which a row is padded. Shape legend: that of `layouts`, and S slots: the positions of all buckets, padding included,
counted consecutively.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from bertlab.nn.bert import make_additive_mask
from bertlab.nn.fast.attention import padded_attention

# Maximum number of attention scores per head in a bucket of several rows; the scores of twelve heads then take 6 MB in
# float32. For SQuAD's passages, neither a quarter of this number nor four times this number is faster
# (docs/lab-notebook.md, "Attention on a processor, and padding").
MAX_BUCKET_SCORES = 1 << 17
# Maximum share of a row's positions that are padding; a row with a larger share starts the next bucket.
MAX_PADDING_SHARE = 0.2


@dataclass(frozen=True)
class Bucket:
    num_rows: int  # G
    padded_length: int  # T
    mask: torch.Tensor | None  # see `bert.make_additive_mask`


class PackedLayout:
    """The X tokens of a batch in their order, without padding; `position_X` are their indices in B * T."""

    def __init__(self, position_X: torch.Tensor, shape: tuple[int, ...]):
        self.position_X, self.shape = position_X, shape

    def pack(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return hidden_BTH.flatten(0, 1).index_select(0, self.position_X)

    def unpack(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Restore the shape of the batch, [X, H] -> [B, T, H], with zeros at padding positions."""
        B, T = self.shape
        return scatter_rows(hidden_XH, self.position_X, B * T).unflatten(0, self.shape)

    def find_indices(self, positions_R: torch.Tensor) -> torch.Tensor:
        """Convert indices of the flattened B * T to indices of X; a padding position gets that of some token."""
        return torch.searchsorted(self.position_X, positions_R).clamp(max=len(self.position_X) - 1)


class BucketLayout(PackedLayout):
    """Tokens without padding, whose attention is computed by `padded_attention` in each bucket.

    The masks have the type and device of `like`; `is_kept_BT` may keep some padding; the padded length of every bucket
    is a multiple of `length_step`.

    >>> mask_BT = torch.tensor([[True, False, False], [True, True, True]])
    >>> layout = BucketLayout(mask_BT, torch.zeros(1), causal=False)
    >>> [(bucket.num_rows, bucket.padded_length) for bucket in layout.buckets], layout.slot_X.tolist()
    ([(1, 3), (1, 1)], [3, 0, 1, 2])
    >>> layout.pack(torch.tensor([[[1.0], [9.0], [9.0]], [[2.0], [3.0], [4.0]]])).flatten().tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> layout.find_indices(torch.tensor([3])).tolist()
    [1]
    """

    def __init__(
        self,
        attention_mask_BT: torch.Tensor,
        like: torch.Tensor,
        causal: bool,
        *,
        is_kept_BT: torch.Tensor | None = None,
        length_step: int = 1,
    ):
        is_kept_BT = attention_mask_BT if is_kept_BT is None else is_kept_BT
        position_X, lengths_B = is_kept_BT.flatten().nonzero()[:, 0], is_kept_BT.sum(1)
        super().__init__(position_X, tuple(attention_mask_BT.shape))
        order_B = lengths_B.argsort(descending=True, stable=True)
        sorted_lengths = lengths_B[order_B].tolist()
        # (G, T) of each bucket, the slot of the first position of each row, and the number of slots so far
        sizes, first_slot_B, num_slots = [], torch.empty_like(lengths_B), 0
        for begin, end in pairwise(find_bucket_bounds(sorted_lengths)):
            padded_length = -(-max(1, sorted_lengths[begin]) // length_step) * length_step
            sizes.append((end - begin, padded_length))
            row_in_bucket = torch.arange(end - begin, device=lengths_B.device)
            first_slot_B[order_B[begin:end]] = num_slots + padded_length * row_in_bucket
            num_slots += padded_length * (end - begin)
        row_X = position_X // self.shape[1]
        row_start_X = (lengths_B.cumsum(0) - lengths_B)[row_X]  # the index in X where the row of each token begins
        index_in_row_X = torch.arange(len(position_X), device=position_X.device) - row_start_X
        self.slot_X = first_slot_B[row_X] + index_in_row_X  # the slot of each token
        is_token_S = torch.zeros(num_slots, dtype=torch.bool, device=position_X.device)
        is_token_S[self.slot_X] = attention_mask_BT.flatten()[position_X].bool()
        parts = is_token_S.split([num_rows * padded_length for num_rows, padded_length in sizes])
        self.buckets = []
        for size, part in zip(sizes, parts, strict=True):
            is_token_GT = None if bool(part.all()) else part.view(size)
            self.buckets.append(Bucket(*size, make_additive_mask(is_token_GT, like.new_empty(*size, 1), causal=causal)))

    def attend(self, qkv_XC: torch.Tensor, num_heads: int, dropout_rate: float) -> torch.Tensor:
        slot_counts = [bucket.num_rows * bucket.padded_length for bucket in self.buckets]
        parts = scatter_rows(qkv_XC, self.slot_X, sum(slot_counts)).split(slot_counts)
        heads = [
            padded_attention(part.view(bucket.num_rows, bucket.padded_length, -1), num_heads, bucket.mask, dropout_rate)
            for part, bucket in zip(parts, self.buckets, strict=True)
        ]
        return torch.cat([part.flatten(0, 1) for part in heads]).index_select(0, self.slot_X)


def find_bucket_bounds(lengths: Sequence[int]) -> list[int]:
    """Group rows into buckets -> the index of each bucket's first row, then the number of rows.

    >>> find_bucket_bounds([100, 90, 70, 10])
    [0, 2, 3, 4]
    """
    bounds, longest = [0], lengths[0] if lengths else 0
    for row, length in enumerate(lengths):
        is_full = (row + 1 - bounds[-1]) * longest * longest > MAX_BUCKET_SCORES
        if row > bounds[-1] and (is_full or length < (1 - MAX_PADDING_SHARE) * longest):
            bounds.append(row)
            longest = length
    return [*bounds, len(lengths)]


def scatter_rows(hidden_XH: torch.Tensor, index_X: torch.Tensor, num_rows: int) -> torch.Tensor:
    """Copy row x of `hidden_XH` to row index_X[x] of a new tensor [num_rows, H], whose other rows are zero."""
    return hidden_XH.new_zeros(num_rows, hidden_XH.shape[-1]).index_copy(0, index_X, hidden_XH)

"""Rows of a batch without their padding, in buckets of similar length: attention on CPU.

Attention scores grow with the square of a row's length, so each bucket is padded to its own longest row only.

Shape legend: B batch, T tokens per padded row, X tokens, H hidden, G rows of a bucket, S slots of all buckets, padding
included, R selected positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from bertlab.nn.fast.attention import padded_attention

# Scores per head in one bucket, unless a single row has more: 6 MB for twelve heads. For SQuAD's passages a quarter and
# four times as much are no faster (docs/lab-notebook.md, "Attention on a processor, and padding").
BUCKET_SCORES = 1 << 17
# A bucket ends where a row would be padded by more than this share of the longest.
MAX_PADDING = 0.2


@dataclass(frozen=True)
class Bucket:
    """Rows of similar length, padded to `longest` positions."""

    rows: int
    """How many rows it has, G."""
    longest: int
    """To how many positions they are padded, T."""
    mask: torch.Tensor | None
    """Its additive mask, see `bert.additive_mask`."""


class Packed:
    """A layout of X tokens in the order of the batch.

    Args:
        place_X: int64, ascending, where each token is in the flattened B * T.
        shape: B and T.
    """

    def __init__(self, place_X: torch.Tensor, shape: tuple[int, int]):
        self.place_X, self.shape = place_X, shape

    def pack(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return hidden_BTH.flatten(0, 1).index_select(0, self.place_X)

    def unpack(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """[X, H] -> [B, T, H], with zeros for the padding that was left out."""
        B, T = self.shape
        return scatter_rows(hidden_XH, self.place_X, B * T).unflatten(0, self.shape)

    def index(self, rows_R: torch.Tensor) -> torch.Tensor:
        """Indices of B * T -> of X; one at a padding position becomes that of some token."""
        return torch.searchsorted(self.place_X, rows_R).clamp(max=len(self.place_X) - 1)


class Buckets(Packed):
    """Tokens alone; attention by `padded_attention` in each bucket.

    Args:
        attention_mask_BT: True for tokens.
        mask: the tokens of a bucket, bool [G, T] -> its additive mask or None.
        length_step: bucket lengths are multiples of this.

    >>> mask_BT = torch.tensor([[True, False, False], [True, True, True]])
    >>> layout = Buckets(mask_BT, lambda real_GT: None)
    >>> [(bucket.rows, bucket.longest) for bucket in layout.buckets], layout.slot_X.tolist()
    ([(1, 3), (1, 1)], [3, 0, 1, 2])
    >>> layout.pack(torch.tensor([[[1.0], [9.0], [9.0]], [[2.0], [3.0], [4.0]]])).flatten().tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> layout.unpack(torch.tensor([[1.0], [2.0], [3.0], [4.0]])).flatten().tolist()
    [1.0, 0.0, 0.0, 2.0, 3.0, 4.0]
    >>> layout.index(torch.tensor([3])).tolist()
    [1]
    """

    def __init__(
        self,
        attention_mask_BT: torch.Tensor,
        mask: Callable[[torch.Tensor], torch.Tensor | None],
        *,
        packed_BT: torch.Tensor | None = None,
        length_step: int = 1,
    ):
        packed_BT = attention_mask_BT if packed_BT is None else packed_BT
        place_X, lengths_B = packed_BT.flatten().nonzero()[:, 0], packed_BT.sum(1)
        super().__init__(place_X, tuple(attention_mask_BT.shape))
        order_B = lengths_B.argsort(descending=True, stable=True)
        sorted_B = lengths_B[order_B].tolist()
        sizes, first_B, slots = [], torch.empty_like(lengths_B), 0
        for begin, end in pairwise(bucket_bounds(sorted_B)):
            longest = -(-max(1, sorted_B[begin]) // length_step) * length_step
            sizes.append((end - begin, longest))
            first_B[order_B[begin:end]] = slots + longest * torch.arange(end - begin, device=lengths_B.device)
            slots += longest * (end - begin)
        row_X = place_X // self.shape[1]
        in_row_X = torch.arange(len(place_X), device=place_X.device) - (lengths_B.cumsum(0) - lengths_B)[row_X]
        self.slot_X = first_B[row_X] + in_row_X  # which slot of all buckets each token takes
        real_S = torch.zeros(slots, dtype=torch.bool, device=place_X.device)
        real_S[self.slot_X] = attention_mask_BT.flatten()[place_X].bool()
        real = real_S.split([rows * longest for rows, longest in sizes])
        self.buckets = tuple(Bucket(*size, mask(part.view(size))) for size, part in zip(sizes, real, strict=True))

    def attend(self, qkv_XH: torch.Tensor, num_heads: int, dropout: float) -> torch.Tensor:
        sizes = [bucket.rows * bucket.longest for bucket in self.buckets]
        parts = scatter_rows(qkv_XH, self.slot_X, sum(sizes)).split(sizes)
        heads = [
            padded_attention(part.view(bucket.rows, bucket.longest, -1), num_heads, bucket.mask, dropout)
            for part, bucket in zip(parts, self.buckets, strict=True)
        ]
        return torch.cat([part.flatten(0, 1) for part in heads]).index_select(0, self.slot_X)


def bucket_bounds(lengths: Sequence[int]) -> list[int]:
    """Where each bucket begins, and the end, for rows sorted from long to short.

    >>> bucket_bounds([100, 90, 70, 10])
    [0, 2, 3, 4]
    """
    bounds, longest = [0], lengths[0] if lengths else 0
    for row, length in enumerate(lengths):
        full = (row + 1 - bounds[-1]) * longest * longest > BUCKET_SCORES
        if row > bounds[-1] and (full or length < (1 - MAX_PADDING) * longest):
            bounds.append(row)
            longest = length
    return [*bounds, len(lengths)]


def scatter_rows(hidden_XH: torch.Tensor, place_X: torch.Tensor, places: int) -> torch.Tensor:
    """[X, H] -> [places, H], zeros where no row goes."""
    return hidden_XH.new_zeros(places, hidden_XH.shape[-1]).index_copy(0, place_X, hidden_XH)

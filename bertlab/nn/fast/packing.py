"""Padding left out: all but attention works on the tokens alone, and attention on rows of their own length.

Rows of unequal length are padded to the longest; in fine-tuning that is easily a third of a batch, or two. Linear
layers, LayerNorms and GELUs treat every place by itself, so they need not see padding. Attention goes by rows, and its
scores grow with the square of a row's length. A GPU has kernels that are told where each row begins (`Offsets`); on a
processor the rows are parted into groups of like length, each padded to its own longest alone (`Tokens.groups`), and in
bfloat16 the heads of a row are put one after the other (`HeadPlaces`).

Shape legend: B batch, T tokens, X tokens that are no padding, G rows of a group, S places in all groups, padding
counted, H any width, R rows asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import torch

# Scores of one group for each head, but for a row that has more by itself: 6 MB for twelve heads. For windows of SQuAD
# with dropout a quarter of that is as fast, four times that a tenth slower (BENCHMARKS.md, "Attention on a processor").
AT_ONCE = 1 << 17
# A group ends where a row would be padded by more than this share of the longest.
SHORTER = 0.2
# A processor's bfloat16 products are made anew, in milliseconds, for every shape that was not seen lately: there tokens
# and places are counted in these steps, a little padding among them (BENCHMARKS.md, "A shape seen before").
TOKENS_STEP, PLACES_STEP = 128, 32


@dataclass(frozen=True)
class Group:
    """G rows padded to T places, as many as the longest has, or a step more. mask_G11T: see `attention.additive_mask`;
    [G or 1, 1, T, T] for a model that reads from left to right."""

    rows: int
    longest: int
    mask_G11T: torch.Tensor | None


@dataclass(frozen=True)
class Offsets:
    """Rows that follow each other without a gap. offset_B1: int32, where each begins, and where the last ends.
    left_to_right: whether a token sees only those before it."""

    offset_B1: torch.Tensor
    longest: int
    left_to_right: bool = False

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device, left_to_right: bool = False) -> "Offsets":
        """Rows of these lengths.

        >>> Offsets.of([1, 3], torch.device("cpu"))
        Offsets(offset_B1=tensor([0, 1, 4], dtype=torch.int32), longest=3, left_to_right=False)
        """
        offset_B1 = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)
        return cls(offset_B1.to(device, non_blocking=True), max(lengths), left_to_right)


@dataclass(frozen=True)
class HeadPlaces:
    """Where the heads of X tokens stand, once as they come, [X, N], and once group after group as [G, N, T], P in all.

    sizes: G and T of each group. num_heads: N.
    come_P: which of [X, N] comes to each place; padding takes what the first token has.
    place_XN: in which place each is.
    """

    sizes: tuple[tuple[int, int], ...]
    num_heads: int
    come_P: torch.Tensor
    place_XN: torch.Tensor

    @classmethod
    def of(cls, sizes: Sequence[tuple[int, int]], slot_X: torch.Tensor, num_heads: int) -> "HeadPlaces":
        """Those of a batch, the same in all its layers.

        >>> HeadPlaces.of([(1, 2), (1, 1)], torch.tensor([0, 1, 2]), num_heads=2).place_XN.view(3, 2).tolist()
        [[0, 2], [1, 3], [4, 5]]
        """
        place_SN, places = [], 0
        for rows, longest in sizes:
            many = rows * num_heads * longest
            place_GNT = torch.arange(places, places + many).view(rows, num_heads, longest)
            place_SN.append(place_GNT.transpose(1, 2).reshape(-1, num_heads))
            places += many
        place_XN = torch.cat(place_SN)[slot_X].flatten()
        come_P = torch.zeros(places, dtype=torch.int64)
        come_P[place_XN] = torch.arange(len(place_XN))
        return cls(tuple(sizes), num_heads, come_P, place_XN)

    @cached_property
    def of_three(self) -> tuple[torch.Tensor, torch.Tensor]:
        """`come_P` and `place_XN` for queries, keys and values side by side, [X, 3, N], which go to [3, P]."""
        return self._beside(3)

    @cached_property
    def of_two(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The same for keys and values, [X, 2, N] and [2, P].

        >>> [found.tolist() for found in HeadPlaces.of([(1, 2)], torch.tensor([0, 1]), num_heads=1).of_two]
        [[0, 2, 1, 3], [0, 2, 1, 3]]
        """
        return self._beside(2)

    def parted(self, heads_PD: torch.Tensor) -> list[torch.Tensor]:
        """[P, D] -> [G * N, T, D] of each group."""
        parts = heads_PD.split([rows * self.num_heads * longest for rows, longest in self.sizes])
        return [
            part.view(rows * self.num_heads, longest, -1)
            for part, (rows, longest) in zip(parts, self.sizes, strict=True)
        ]

    def _beside(self, many: int) -> tuple[torch.Tensor, torch.Tensor]:
        nth_M1 = torch.arange(many)[:, None]
        token_P, head_P = self.come_P // self.num_heads, self.come_P % self.num_heads
        come_MP = (token_P * many + nth_M1) * self.num_heads + head_P
        place_XMN = self.place_XN.view(-1, 1, self.num_heads) + len(self.come_P) * nth_M1
        return come_MP.flatten(), place_XMN.flatten()


@dataclass(frozen=True)
class Tokens:
    """Where the tokens of a [B, T] batch stand, in it and for attention. place_X: int64, ascending, in the flattened
    B * T. Either `offsets`, or `groups` and, int64, slot_X: among the places of all groups, and group_row_B: where each
    row is among those of all groups; perhaps `heads`.

    >>> mask_BT = torch.tensor([[True, False, False], [True, True, True]])
    >>> tokens = Tokens.in_groups(mask_BT, lambda group_GT: None)
    >>> [(group.rows, group.longest) for group in tokens.groups], tokens.slot_X.tolist()
    ([(1, 3), (1, 1)], [3, 0, 1, 2])
    >>> tokens.take(torch.tensor([[[1.0], [9.0], [9.0]], [[2.0], [3.0], [4.0]]])).flatten().tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> tokens.spread(torch.tensor([[1.0], [2.0], [3.0], [4.0]])).flatten().tolist()
    [1.0, 0.0, 0.0, 2.0, 3.0, 4.0]
    >>> tokens.index(torch.tensor([3])).tolist()
    [1]
    """

    place_X: torch.Tensor
    shape: tuple[int, int]
    offsets: Offsets | None = None
    slot_X: torch.Tensor | None = None
    groups: tuple[Group, ...] = ()
    group_row_B: torch.Tensor | None = None
    heads: HeadPlaces | None = None

    @classmethod
    def in_a_row(cls, attention_mask_BT: torch.Tensor, lengths: Sequence[int], left_to_right: bool) -> "Tokens":
        """The tokens of a batch, for a kernel that is told where each row begins.

        Args:
            lengths: how many of them each row has; a GPU need then not be waited for.
        """
        place_X = torch.nonzero_static(attention_mask_BT.flatten(), size=sum(lengths))[:, 0]
        return cls(place_X, tuple(attention_mask_BT.shape), Offsets.of(lengths, place_X.device, left_to_right))

    @classmethod
    def in_groups(
        cls,
        attention_mask_BT: torch.Tensor,
        mask: Callable[[torch.Tensor], torch.Tensor | None],
        *,
        num_heads: int | None = None,
    ) -> "Tokens":
        """The tokens of a batch, their rows in groups of like length.

        Args:
            mask: the real places of a group, bool [G, T] -> what is added to its scores, or None.
            num_heads: tell where each head stands (see `grouped_attention`), and take some padding for tokens, so that
                few shapes come up (see `TOKENS_STEP`).
        """
        kept_BT = _filled_up(attention_mask_BT, TOKENS_STEP) if num_heads else attention_mask_BT
        place_X, lengths_B = kept_BT.flatten().nonzero()[:, 0], kept_BT.sum(1)
        order_B = lengths_B.argsort(descending=True, stable=True)
        sorted_B, step = lengths_B[order_B].tolist(), PLACES_STEP if num_heads else 1
        group_row_B = torch.empty_like(order_B)
        group_row_B[order_B] = torch.arange(len(order_B), device=order_B.device)
        sizes, first_B, slots = [], torch.empty_like(lengths_B), 0
        for begin, end in pairwise(_bounds(sorted_B)):
            longest = -(-max(1, sorted_B[begin]) // step) * step
            sizes.append((end - begin, longest))
            first_B[order_B[begin:end]] = slots + longest * torch.arange(end - begin, device=lengths_B.device)
            slots += longest * (end - begin)
        nth_X = torch.arange(len(place_X), device=place_X.device)
        row_X = place_X // attention_mask_BT.shape[1]
        before_B = lengths_B.cumsum(0) - lengths_B
        slot_X = first_B[row_X] + nth_X - before_B[row_X]
        real_S = torch.zeros(slots, dtype=torch.bool, device=place_X.device)
        real_S[slot_X] = attention_mask_BT.flatten()[place_X].bool()
        real = real_S.split([rows * longest for rows, longest in sizes])
        groups = tuple(Group(*size, mask(part.view(size))) for size, part in zip(sizes, real, strict=True))
        heads = HeadPlaces.of(sizes, slot_X, num_heads) if num_heads else None
        shape = tuple(attention_mask_BT.shape)
        return cls(place_X, shape, slot_X=slot_X, groups=groups, group_row_B=group_row_B, heads=heads)

    def take(self, padded_BTH: torch.Tensor) -> torch.Tensor:
        """[B, T, H] -> [X, H]."""
        return padded_BTH.flatten(0, 1).index_select(0, self.place_X)

    def spread(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """[X, H] -> [B, T, H], with zeros for padding that was left out."""
        B, T = self.shape
        return _placed(hidden_XH, self.place_X, B * T).view(B, T, -1)

    def parted(self, hidden_XH: torch.Tensor) -> list[torch.Tensor]:
        """[X, H] -> [G, T, H] of each group, with zeros for padding."""
        sizes = [group.rows * group.longest for group in self.groups]
        parts = _placed(hidden_XH, self.slot_X, sum(sizes)).split(sizes)
        return [part.view(group.rows, group.longest, -1) for part, group in zip(parts, self.groups, strict=True)]

    def joined(self, parts: Sequence[torch.Tensor], rows_R: torch.Tensor | None = None) -> torch.Tensor:
        """[G, T, H] of each group -> [X, H]; with rows_R (places in B * T) only those, [R, H]."""
        slot_X = self.slot_X if rows_R is None else self.slot_X[self.index(rows_R)]
        return torch.cat([part.flatten(0, 1) for part in parts]).index_select(0, slot_X)

    def index(self, rows_R: torch.Tensor) -> torch.Tensor:
        """Places in B * T -> the same ones counted without padding; a place in padding becomes some token's."""
        return torch.searchsorted(self.place_X, rows_R).clamp(max=len(self.place_X) - 1)

    @property
    def can_ask(self) -> bool:
        """Whether a few tokens may look at all others by themselves, see `asked`: not where it depends on a token which
        others it sees, from left to right."""
        masks = [group.mask_G11T for group in self.groups]
        return self.heads is not None and all(mask is None or mask.shape[2] == 1 for mask in masks)

    def asked(self, rows_R: torch.Tensor) -> HeadPlaces:
        """Where the heads of a few tokens stand (places in B * T), in the same groups: each row has as many places as
        are asked of the one with the most in its group. See `can_ask`."""
        row_R = self.group_row_B[rows_R // self.shape[1]]
        many_B = row_R.bincount(minlength=self.shape[0])
        sizes = [(len(many), max(1, int(many.max()))) for many in many_B.split([group.rows for group in self.groups])]
        places_B = torch.cat([torch.full((rows,), most) for rows, most in sizes])
        nth_R, order_R = torch.empty_like(row_R), row_R.argsort(stable=True)
        nth_R[order_R] = torch.arange(len(row_R)) - (many_B.cumsum(0) - many_B)[row_R[order_R]]
        return HeadPlaces.of(sizes, (places_B.cumsum(0) - places_B)[row_R] + nth_R, self.heads.num_heads)


def _bounds(lengths: Sequence[int]) -> list[int]:
    """Where groups begin, and the end: lengths from long to short."""
    found, longest = [0], lengths[0] if lengths else 0
    for row, length in enumerate(lengths):
        full = (row + 1 - found[-1]) * longest * longest > AT_ONCE
        if row > found[-1] and (full or length < (1 - SHORTER) * longest):
            found.append(row)
            longest = length
    return [*found, len(lengths)]


def _filled_up(mask_BT: torch.Tensor, step: int) -> torch.Tensor:
    """As much padding marked as tokens, the first there is, as makes their number a multiple, if there is so much.

    >>> _filled_up(torch.tensor([[True, False, False], [True, True, True]]), 3).int().tolist()
    [[1, 1, 1], [1, 1, 1]]
    """
    kept_X = mask_BT.flatten().bool().clone()
    tokens, padding_X = int(kept_X.sum()), (~kept_X).nonzero()[:, 0]
    kept_X[padding_X[: max(1, -(-tokens // step)) * step - tokens]] = True
    return kept_X.view(mask_BT.shape)


def _placed(hidden_XH: torch.Tensor, place_X: torch.Tensor, places: int) -> torch.Tensor:
    return hidden_XH.new_zeros(places, hidden_XH.shape[-1]).index_copy(0, place_X, hidden_XH)

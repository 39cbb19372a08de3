"""Which pieces are hidden, and behind what: dynamic 80/10/10 masks (Devlin et al. 2019, section 3.1 and appendix A.1).

Randomness is a pure function of a key for each row: no generator, no state, the same on every device and for any
number of workers. Knows ids, not words.

Shape legend: B batch, T tokens, K masks kept room for in a row, P = B * K.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch

from bertlab.text.batch import Batch

PASSED_OVER = 6  # words too long for what is left of a row's number, before the row is left short of it
IGNORED = -100  # the label of a place kept room for but not used; `torch.nn.functional.cross_entropy` skips it


@dataclass(frozen=True)
class MaskRule:
    """The vocabulary a mask is drawn from, and how often.

    regular_V: bool, True for every id that may be hidden or stand in for another, so no special one. probability:
    share of tokens predicted. continues_V: bool, True for the pieces that go on with a word ("##s"); if given, words
    are hidden as a whole.
    """

    mask_id: int
    regular_V: torch.Tensor
    probability: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1
    continues_V: torch.Tensor | None = None

    @classmethod
    def of(cls, tokenizer, probability: float = 0.15, whole_word: bool = False, **shares: float) -> "MaskRule":
        """The rule of a tokenizer's vocabulary. shares: `mask_share` and `random_share` if not the paper's."""
        regular_V = torch.ones(tokenizer.vocab_size, dtype=torch.bool)
        regular_V[sorted(tokenizer.special_ids)] = False
        continues_V = None
        if whole_word:
            pieces = tokenizer.pieces(range(tokenizer.vocab_size))
            continues_V = torch.tensor([piece.startswith("##") for piece in pieces]) & regular_V
        return cls(tokenizer.mask_id, regular_V, probability, continues_V=continues_V, **shares)

    def to(self, device) -> "MaskRule":
        continues_V = None if self.continues_V is None else self.continues_V.to(device)
        return replace(self, regular_V=self.regular_V.to(device), continues_V=continues_V)

    @cached_property
    def regular_ids(self) -> torch.Tensor:
        return self.regular_V.nonzero().flatten()

    def capacity(self, max_tokens: int) -> int:
        """The most masks a row of `max_tokens` gets (K)."""
        return max(1, round(self.probability * max_tokens))


def uniform(key_B: torch.Tensor, stream: int, size: int) -> torch.Tensor:
    """Numbers in [0, 1), float32 [B, size], a pure function of (key, stream, column).

    The finaliser of SplitMix64 (Steele, Lea, Flood 2014) over a counter, in wrapping 64-bit arithmetic.
    """

    def shifted(x, bits):  # logical, not arithmetic: torch's int64 is signed
        return (x >> bits) & ((1 << (64 - bits)) - 1)

    def mixed(x):
        x = (x ^ shifted(x, 30)) * -0x40A7B892E31B1A47
        x = (x ^ shifted(x, 27)) * -0x6B2FB644ECCEEE15
        return x ^ shifted(x, 31)

    golden = -0x61C8864680B583EB
    column = torch.arange(1, size + 1, device=key_B.device) + (stream << 32)
    bits = mixed(mixed(key_B[:, None] * golden) + column * golden)
    return shifted(bits, 40).to(torch.float32) / (1 << 24)


def mask_tokens(batch: Batch, key_B: torch.Tensor, rule: MaskRule) -> tuple[Batch, torch.Tensor, torch.Tensor]:
    """Hide max(1, round(0.15 x length)) pieces of each row: 80 % [MASK], 10 % another piece, 10 % left as they are.

    The length counts [CLS] and [SEP], as `create_pretraining_data.py` does; special pieces are never chosen. Words that
    are hidden whole may leave a row a piece or two short of its number, never over it.

    Args:
        key_B: int64, one key a row; equal keys give equal masks.

    Returns:
        the batch with masks applied; mlm_index_P into the flattened tokens; mlm_labels_P, IGNORED where a row has fewer
        than K = rule.capacity(T), so that shapes do not depend on the data.
    """
    size = batch.input_ids_BT.shape[1]
    maskable_BT = rule.regular_V[batch.input_ids_BT] & batch.attention_mask_BT
    length_B = batch.attention_mask_BT.sum(1, dtype=torch.float64)
    wanted_B = torch.minimum((rule.probability * length_B).round().clamp(min=1), maskable_BT.sum(1))
    draw_BT = uniform(key_B, 0, size)
    if rule.continues_V is None:
        position_BK = draw_BT.masked_fill(~maskable_BT, 2.0).argsort(dim=1, stable=True)[:, : rule.capacity(size)]
        rank_K = torch.arange(position_BK.shape[1], device=key_B.device)
        used_BK = rank_K < wanted_B[:, None]
    else:
        chosen_BT = _whole_words(batch.input_ids_BT, maskable_BT, draw_BT, wanted_B, rule.continues_V)
        position_BK = (~chosen_BT).to(torch.uint8).argsort(dim=1, stable=True)[:, : rule.capacity(size)]
        used_BK = chosen_BT.gather(1, position_BK)
        rank_K = torch.arange(position_BK.shape[1], device=key_B.device)

    original_BK = batch.input_ids_BT.gather(1, position_BK)
    how_BK = uniform(key_B, 1, len(rank_K))
    pick_BK = (uniform(key_B, 2, len(rank_K)) * len(rule.regular_ids)).to(torch.int64)
    shown_BK = torch.where(how_BK < rule.mask_share + rule.random_share, rule.regular_ids[pick_BK], original_BK)
    shown_BK = torch.where(how_BK < rule.mask_share, rule.mask_id, shown_BK)

    masked_BT = batch.input_ids_BT.scatter(1, position_BK, torch.where(used_BK, shown_BK, original_BK))
    row_B1 = torch.arange(len(masked_BT), device=key_B.device)[:, None] * size
    labels_BK = original_BK.masked_fill(~used_BK, IGNORED)
    return replace(batch, input_ids_BT=masked_BT), (row_B1 + position_BK).flatten(), labels_BK.flatten()


def next_tokens(batch: Batch) -> tuple[Batch, torch.Tensor, torch.Tensor]:
    """What a model that reads from left to right is asked: at every token the one after it.

    Returns:
        as `mask_tokens` does: the batch as it is; the places P = B * (T - 1) in the flattened tokens; what comes there,
        IGNORED where a row has ended.
    """
    size = batch.input_ids_BT.shape[1]
    index_BT = torch.arange(batch.input_ids_BT.numel(), device=batch.input_ids_BT.device).view(-1, size)
    labels_BT = batch.input_ids_BT[:, 1:].masked_fill(~batch.attention_mask_BT[:, 1:], IGNORED)
    return batch, index_BT[:, :-1].flatten(), labels_BT.flatten()


def _whole_words(
    input_ids_BT: torch.Tensor,
    maskable_BT: torch.Tensor,
    draw_BT: torch.Tensor,
    wanted_B: torch.Tensor,
    continues_V: torch.Tensor,
) -> torch.Tensor:
    """Which tokens to hide, bool [B, T]: words in the order of their first piece's draw; one that no longer fits is
    passed over for the next, so that long words are a little rarer (as in `create_masked_lm_predictions` of
    google-research/bert, which passes over any number of them; here a few).
    """
    column_T = torch.arange(input_ids_BT.shape[1], device=input_ids_BT.device)
    goes_on_BT = continues_V[input_ids_BT] & maskable_BT
    goes_on_BT[:, 1:] &= maskable_BT[:, :-1]
    goes_on_BT[:, 0] = False
    first_BT = torch.where(goes_on_BT, 0, column_T).cummax(dim=1).values
    order_BT = draw_BT.gather(1, first_BT).masked_fill(~maskable_BT, 2.0).argsort(dim=1, stable=True)
    # from here on in the order of draws, in which the pieces of a word still stand together
    word_BT = first_BT.gather(1, order_BT)
    length_BT = torch.zeros_like(word_BT).scatter_add_(1, word_BT, torch.ones_like(word_BT)).gather(1, word_BT)
    left_BT = length_BT - 1 - (order_BT - word_BT)  # pieces of the word that follow
    open_BT = maskable_BT.gather(1, order_BT)
    for _ in range(PASSED_OVER):
        over_BT = open_BT & (open_BT.cumsum(dim=1) + left_BT > wanted_B[:, None])
        passed_B1 = over_BT.to(torch.uint8).argmax(dim=1, keepdim=True)
        open_BT = open_BT & ~(over_BT & (word_BT == word_BT.gather(1, passed_B1)))
    fits_BT = open_BT & (open_BT.cumsum(dim=1) + left_BT <= wanted_B[:, None])
    return torch.zeros_like(fits_BT).scatter(1, order_BT, fits_BT)

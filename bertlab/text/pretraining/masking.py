"""Dynamic masking: 80 % [MASK], 10 % a random token, 10 % unchanged (Devlin et al. 2019, section 3.1, appendix A.1).

Randomness is a pure function of one key per row, without a generator or state, so masks are the same on every device
and for any number of workers.

Shape legend: B batch, T tokens, K most masked tokens of a row, P = B * K, V vocabulary.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch

from bertlab.text.batch import Batch

MAX_SKIPPED_WORDS = 6  # words longer than the rest of a row's quota that are skipped before the row stays below it
IGNORED = -100  # the label of an unused place among the K of a row; `torch.nn.functional.cross_entropy` skips it


@dataclass(frozen=True)
class MaskRule:
    """How often tokens are masked, and by what."""

    mask_id: int
    """The id of [MASK]."""
    regular_V: torch.Tensor
    """Bool [V]: True for tokens that may be masked, or replace a masked one; False for special tokens."""
    probability: float = 0.15
    """The share of tokens that are predicted."""
    mask_share: float = 0.8
    """The share of predicted tokens that [MASK] replaces."""
    random_share: float = 0.1
    """The share of predicted tokens that a random token replaces."""
    continues_V: torch.Tensor | None = None
    """Bool [V]: True for tokens that continue a word ("##s"); if given, whole words are masked."""

    @classmethod
    def of(cls, tokenizer, probability: float = 0.15, whole_word: bool = False, **shares: float) -> "MaskRule":
        """The rule for a tokenizer's vocabulary.

        Args:
            probability: the share of tokens that are predicted.
            whole_word: mask whole words.
            shares: `mask_share` and `random_share`, if not the paper's.
        """
        regular_V = torch.ones(tokenizer.vocab_size, dtype=torch.bool)
        regular_V[sorted(tokenizer.special_ids)] = False
        continues_V = None
        if whole_word:
            tokens = tokenizer.tokens(range(tokenizer.vocab_size))
            continues_V = torch.tensor([token.startswith("##") for token in tokens]) & regular_V
        return cls(tokenizer.mask_id, regular_V, probability, continues_V=continues_V, **shares)

    def to(self, device) -> "MaskRule":
        continues_V = None if self.continues_V is None else self.continues_V.to(device)
        return replace(self, regular_V=self.regular_V.to(device), continues_V=continues_V)

    @cached_property
    def regular_ids(self) -> torch.Tensor:
        return self.regular_V.nonzero().flatten()

    def capacity(self, max_tokens: int) -> int:
        """The most masked tokens that a row of `max_tokens` has (K)."""
        return max(1, round(self.probability * max_tokens))


def uniform(key_B: torch.Tensor, stream: int, size: int) -> torch.Tensor:
    """Random numbers in [0, 1), float32 [B, size], that are a pure function of (key, stream, column).

    Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014) over a counter, in wrapping 64-bit arithmetic.
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
    """Mask max(1, round(0.15 x length)) tokens of each row.

    The length counts [CLS] and [SEP], as in `create_pretraining_data.py`; special tokens are never chosen. With whole
    words, a row may have a token or two fewer, never more.

    Args:
        batch: the inputs.
        key_B: int64 [B]; equal keys give equal masks.
        rule: how often tokens are masked, and by what.

    Returns:
        the batch with masks applied; the positions of predicted tokens in the flattened batch, int64 [P]; and their
        labels, int64 [P], `IGNORED` where a row has fewer than K = rule.capacity(T), so that shapes do not depend on
        the data.
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
    """The labels of a left-to-right language model: at every token, the next one.

    Returns:
        as `mask_tokens`: the batch, unchanged; the positions P = B * (T - 1) in the flattened batch; and their labels,
        `IGNORED` at the end of a row.
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
    """Choose whole words to mask, in the order of the draw of their first token; bool [B, T].

    A word that no longer fits is skipped, so long words are masked a little less often. Source:
    `create_masked_lm_predictions` of google-research/bert, which skips any number of words; here a few.
    """
    column_T = torch.arange(input_ids_BT.shape[1], device=input_ids_BT.device)
    continues_BT = continues_V[input_ids_BT] & maskable_BT
    continues_BT[:, 1:] &= maskable_BT[:, :-1]
    continues_BT[:, 0] = False
    first_BT = torch.where(continues_BT, 0, column_T).cummax(dim=1).values
    order_BT = draw_BT.gather(1, first_BT).masked_fill(~maskable_BT, 2.0).argsort(dim=1, stable=True)
    # from here on in the order of draws, in which the tokens of a word are still adjacent
    word_BT = first_BT.gather(1, order_BT)
    length_BT = torch.zeros_like(word_BT).scatter_add_(1, word_BT, torch.ones_like(word_BT)).gather(1, word_BT)
    left_BT = length_BT - 1 - (order_BT - word_BT)  # tokens of the word that follow
    open_BT = maskable_BT.gather(1, order_BT)
    for _ in range(MAX_SKIPPED_WORDS):
        over_BT = open_BT & (open_BT.cumsum(dim=1) + left_BT > wanted_B[:, None])
        skipped_B1 = over_BT.to(torch.uint8).argmax(dim=1, keepdim=True)
        open_BT = open_BT & ~(over_BT & (word_BT == word_BT.gather(1, skipped_B1)))
    fits_BT = open_BT & (open_BT.cumsum(dim=1) + left_BT <= wanted_B[:, None])
    return torch.zeros_like(fits_BT).scatter(1, order_BT, fits_BT)

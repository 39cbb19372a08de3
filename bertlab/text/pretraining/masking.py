"""Dynamic masking: choose tokens to predict, and replace most of them with [MASK].

Of the predicted tokens, 80 % become [MASK], 10 % a random token, and 10 % stay unchanged (Devlin et al. 2019, section
3.1 and appendix A.1).

Randomness is a pure function of one key per row, without a generator or state, so masks are the same on every device
and for any number of workers.

Shape legend: B batch, T tokens, K slots for predicted tokens in a row, P = B * K, V vocabulary. A slot holds one
predicted token. Every row has K slots, so that shapes do not depend on the data; in a row with fewer predicted tokens,
the other slots are empty.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch

from bertlab.text.batch import Batch

# A row has a quota of tokens to predict. In whole-word masking, a word that is longer than the rest of the quota is
# skipped. After this many skipped words, the row is left with fewer predicted tokens than its quota.
MAX_SKIPPED_WORDS = 6
MAX_SPAN_WORDS = 10  # the maximum number of words in a span of the kind "geometric"
NGRAM_WORDS = 3  # the maximum number of words in a span of the kind "ngram"
# kind of the spans of words that are masked together -> the relative frequency of spans of 1, 2, ... words. none:
# single words. ngram: 1/n for up to three words (Lan et al. 2019, arXiv 1909.11942, section 4.1). geometric: 0.2 *
# 0.8^(n - 1) for up to ten words, 3.8 on average (SpanBERT, Joshi et al. 2020, arXiv 1907.10529, section 3.1). Where
# the spans begin is random; PMI masking, which chooses n-grams by their pointwise mutual information, is not
# implemented
SPAN_LENGTHS = {
    "none": (1.0,),
    "ngram": tuple(1 / n for n in range(1, NGRAM_WORDS + 1)),
    "geometric": tuple(0.2 * 0.8 ** (n - 1) for n in range(1, MAX_SPAN_WORDS + 1)),
}
# The stream of `draw_uniform` that determines the lengths of spans. This module also uses streams 0, 1 and 2, and
# `tasks.replaced_tokens` uses stream 3.
SPAN_STREAM = 4
# The label of an empty slot for a predicted token; `torch.nn.functional.cross_entropy` ignores it.
IGNORED = -100


@dataclass(frozen=True)
class MaskRule:
    """How many tokens are predicted, and what replaces them."""

    mask_id: int
    regular_V: torch.Tensor
    """Bool [V]: True for tokens that may be predicted, or replace a predicted one; False for special tokens."""
    probability: float = 0.15  # the share of tokens that are predicted
    mask_share: float = 0.8  # the share of predicted tokens that [MASK] replaces
    random_share: float = 0.1  # the share of predicted tokens that a random token replaces
    continues_V: torch.Tensor | None = None
    """Bool [V]: True for tokens that continue a word ("##s"), to mask whole words; None to mask single tokens."""
    span_lengths: tuple[float, ...] = SPAN_LENGTHS["none"]
    """With `continues_V`: the relative frequency of spans of 1, 2, ... words that are masked together."""

    @classmethod
    def for_tokenizer(
        cls, tokenizer, probability: float = 0.15, whole_word: bool = False, spans: str = "none", **shares: float
    ) -> "MaskRule":
        """Make the rule for the vocabulary of a tokenizer; `spans` is a key of `SPAN_LENGTHS`."""
        regular_V = torch.ones(tokenizer.vocab_size, dtype=torch.bool)
        regular_V[sorted(tokenizer.special_ids)] = False
        continues_V = None
        if whole_word or spans != "none":
            tokens = tokenizer.tokens(range(tokenizer.vocab_size))
            continues_V = torch.tensor([tokenizer.continues_word(id) for id in range(len(tokens))]) & regular_V
        return cls(
            tokenizer.mask_id, regular_V, probability, continues_V=continues_V, span_lengths=SPAN_LENGTHS[spans],
            **shares,
        )  # fmt: skip

    def to(self, device) -> "MaskRule":
        continues_V = None if self.continues_V is None else self.continues_V.to(device)
        return replace(self, regular_V=self.regular_V.to(device), continues_V=continues_V)

    @cached_property
    def regular_ids(self) -> torch.Tensor:
        return self.regular_V.nonzero().flatten()

    def count_slots(self, max_tokens: int) -> int:
        """Return K, the number of slots for predicted tokens in a row of `max_tokens`."""
        return max(1, round(self.probability * max_tokens))


def draw_uniform(key_B: torch.Tensor, stream: int, size: int) -> torch.Tensor:
    """Compute random numbers from [0, 1), float32 [B, size], as a pure function of (key, stream, column).

    Different values of `stream` give independent numbers for the same key.

    Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014) over a counter, in wrapping 64-bit arithmetic.
    """

    def shift_right(x, bits):  # a logical shift; torch's >> is arithmetic, because int64 is signed
        return (x >> bits) & ((1 << (64 - bits)) - 1)

    def mix_bits(x):
        x = (x ^ shift_right(x, 30)) * -0x40A7B892E31B1A47
        x = (x ^ shift_right(x, 27)) * -0x6B2FB644ECCEEE15
        return x ^ shift_right(x, 31)

    golden = -0x61C8864680B583EB
    column = torch.arange(1, size + 1, device=key_B.device) + (stream << 32)
    bits = mix_bits(mix_bits(key_B[:, None] * golden) + column * golden)
    return shift_right(bits, 40).to(torch.float32) / (1 << 24)


def draw_replacement_kinds(key_B: torch.Tensor, size: int, rule: MaskRule) -> tuple[torch.Tensor, torch.Tensor]:
    """Choose at random which predicted tokens [MASK] and which a random token replaces: two bool tensors [B, K]."""
    draw_BK = draw_uniform(key_B, 1, size)
    is_mask_BK = draw_BK < rule.mask_share
    return is_mask_BK, ~is_mask_BK & (draw_BK < rule.mask_share + rule.random_share)


def mask_tokens(batch: Batch, key_B: torch.Tensor, rule: MaskRule) -> tuple[Batch, torch.Tensor, torch.Tensor]:
    """Choose max(1, round(`rule.probability` x length)) tokens of each row to predict, and mask them.

    The length includes [CLS] and [SEP], as in `create_pretraining_data.py`, but special tokens are never chosen. With
    whole-word masking, a row may have fewer predicted tokens, but never more.

    Args:
        key_B: int64 [B]; equal keys give equal masks, and a row with a negative key has none.

    Returns:
        The masked batch; the positions of the predicted tokens in the flattened batch, int64 [P]; and their labels,
        int64 [P]. Every row has K = rule.count_slots(T) slots; the label of an empty slot is `IGNORED`.
    """
    width = batch.input_ids_BT.shape[1]  # T, the length of a row with padding
    maskable_BT = rule.regular_V[batch.input_ids_BT] & batch.attention_mask_BT
    length_B = batch.attention_mask_BT.sum(1, dtype=torch.float64)
    quota_B = torch.minimum((rule.probability * length_B).round().clamp(min=1), maskable_BT.sum(1))
    quota_B = quota_B * (key_B >= 0)
    draw_BT = draw_uniform(key_B, 0, width)
    if rule.continues_V is None:
        position_BK = draw_BT.masked_fill(~maskable_BT, 2.0).argsort(dim=1, stable=True)[:, : rule.count_slots(width)]
        rank_K = torch.arange(position_BK.shape[1], device=key_B.device)
        filled_BK = rank_K < quota_B[:, None]
    else:
        first_BT = _find_first_tokens(batch.input_ids_BT, maskable_BT, rule.continues_V)
        if len(rule.span_lengths) > 1:
            first_BT = _join_words(first_BT, maskable_BT, draw_uniform(key_B, SPAN_STREAM, width), rule.span_lengths)
        chosen_BT = _choose_whole_words(first_BT, maskable_BT, draw_BT, quota_B)
        position_BK = (~chosen_BT).to(torch.uint8).argsort(dim=1, stable=True)[:, : rule.count_slots(width)]
        filled_BK = chosen_BT.gather(1, position_BK)
        rank_K = torch.arange(position_BK.shape[1], device=key_B.device)

    original_BK = batch.input_ids_BT.gather(1, position_BK)
    is_mask_BK, is_random_BK = draw_replacement_kinds(key_B, len(rank_K), rule)
    random_index_BK = (draw_uniform(key_B, 2, len(rank_K)) * len(rule.regular_ids)).to(torch.int64)
    replacement_BK = torch.where(is_random_BK, rule.regular_ids[random_index_BK], original_BK)
    replacement_BK = torch.where(is_mask_BK, rule.mask_id, replacement_BK)

    masked_BT = batch.input_ids_BT.scatter(1, position_BK, torch.where(filled_BK, replacement_BK, original_BK))
    row_start_B1 = torch.arange(len(masked_BT), device=key_B.device)[:, None] * width
    labels_BK = original_BK.masked_fill(~filled_BK, IGNORED)
    return replace(batch, input_ids_BT=masked_BT), (row_start_B1 + position_BK).flatten(), labels_BK.flatten()


def label_next_tokens(batch: Batch) -> tuple[Batch, torch.Tensor, torch.Tensor]:
    """Make the labels of a left-to-right language model: for every token, the next one.

    Returns:
        The same kinds of values as `mask_tokens`: the unchanged batch; the P = B * (T - 1) positions in the flattened
        batch; and their labels, `IGNORED` at the end of a row.
    """
    width = batch.input_ids_BT.shape[1]  # T, the length of a row with padding
    index_BT = torch.arange(batch.input_ids_BT.numel(), device=batch.input_ids_BT.device).view(-1, width)
    labels_BT = batch.input_ids_BT[:, 1:].masked_fill(~batch.attention_mask_BT[:, 1:], IGNORED)
    return batch, index_BT[:, :-1].flatten(), labels_BT.flatten()


def _find_first_tokens(
    input_ids_BT: torch.Tensor, maskable_BT: torch.Tensor, continues_V: torch.Tensor
) -> torch.Tensor:
    """For each token, find the column of the first token of its word -> [B, T]."""
    column_T = torch.arange(input_ids_BT.shape[1], device=input_ids_BT.device)
    continues_BT = continues_V[input_ids_BT] & maskable_BT
    continues_BT[:, 1:] &= maskable_BT[:, :-1]
    continues_BT[:, 0] = False
    return torch.where(continues_BT, 0, column_T).cummax(dim=1).values


def _join_words(
    first_BT: torch.Tensor, maskable_BT: torch.Tensor, draw_BT: torch.Tensor, frequencies: tuple[float, ...]
) -> torch.Tensor:
    """Divide each row into spans of consecutive words, which do not cross special tokens -> [B, T].

    The result is the column of the first token of each token's span, so that a span can be chosen like one long word.
    """
    column_T = torch.arange(first_BT.shape[1], device=first_BT.device)
    limits = torch.tensor(frequencies, device=first_BT.device).cumsum(0) / sum(frequencies)
    length_BT = 1 + torch.searchsorted(limits[:-1].contiguous(), draw_BT, right=True)
    starts_word_BT = (first_BT == column_T) & maskable_BT
    remaining_B = torch.zeros_like(first_BT[:, 0])  # how many further words the current span takes
    is_start = []
    for starts_word_B, maskable_B, length_B in zip(
        starts_word_BT.unbind(1), maskable_BT.unbind(1), length_BT.unbind(1), strict=True
    ):
        is_start_B = ~maskable_B | (starts_word_B & (remaining_B == 0))
        remaining_B = torch.where(is_start_B, length_B * maskable_B, remaining_B) - starts_word_B.to(remaining_B.dtype)
        is_start.append(is_start_B)
    return torch.where(torch.stack(is_start, 1), column_T, 0).cummax(dim=1).values


def _choose_whole_words(
    first_BT: torch.Tensor, maskable_BT: torch.Tensor, draw_BT: torch.Tensor, quota_B: torch.Tensor
) -> torch.Tensor:
    """Choose whole words or spans to mask, in the order of the random numbers of their first tokens; bool [B, T].

    A word that no longer fits the quota is skipped, so long words are masked slightly less often. Source:
    `create_masked_lm_predictions` of google-research/bert, which skips any number of words; this function skips at most
    `MAX_SKIPPED_WORDS`.
    """
    order_BT = draw_BT.gather(1, first_BT).masked_fill(~maskable_BT, 2.0).argsort(dim=1, stable=True)
    # All tensors below are in the order of the random numbers, in which the tokens of a word are still adjacent.
    word_BT = first_BT.gather(1, order_BT)
    length_BT = torch.zeros_like(word_BT).scatter_add_(1, word_BT, torch.ones_like(word_BT)).gather(1, word_BT)
    remaining_BT = length_BT - 1 - (order_BT - word_BT)  # how many tokens of the same word follow
    candidate_BT = maskable_BT.gather(1, order_BT)
    for _ in range(MAX_SKIPPED_WORDS):
        exceeds_BT = candidate_BT & (candidate_BT.cumsum(dim=1) + remaining_BT > quota_B[:, None])
        skipped_B1 = exceeds_BT.to(torch.uint8).argmax(dim=1, keepdim=True)
        candidate_BT = candidate_BT & ~(exceeds_BT & (word_BT == word_BT.gather(1, skipped_B1)))
    fits_BT = candidate_BT & (candidate_BT.cumsum(dim=1) + remaining_BT <= quota_B[:, None])
    return torch.zeros_like(fits_BT).scatter(1, order_BT, fits_BT)

"""Masking: its shares, which tokens may be chosen, and that a mask depends only on its row and the row's key.

Shape legend: B batch, T tokens, V vocabulary, P chosen positions of all rows, K chosen positions of one row.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertlab.text.batch import Batch
from bertlab.text.pretraining.masking import IGNORED, SPAN_LENGTHS, MaskRule, _join_words, draw_uniform, mask_tokens

VOCABULARY, MASK = 1000, 4
SPECIAL = range(5)


def rule(probability=0.15) -> MaskRule:
    regular_V = torch.ones(VOCABULARY, dtype=torch.bool)
    regular_V[list(SPECIAL)] = False
    return MaskRule(MASK, regular_V, probability)


def batch(rows=2000, size=128, seed=0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    ids_BT = torch.randint(5, VOCABULARY, (rows, size), generator=generator)
    length_B1 = torch.randint(8, size + 1, (rows, 1), generator=generator)
    mask_BT = torch.arange(size) < length_B1
    ids_BT[:, 0] = 2
    ids_BT[:, size // 3] = 3
    ids_BT[torch.arange(rows), length_B1[:, 0] - 1] = 3
    return Batch(ids_BT.masked_fill(~mask_BT, 0), torch.zeros_like(ids_BT), mask_BT)


def test_random_numbers_are_uniform_and_uncorrelated():
    u = draw_uniform(torch.arange(4000), 0, 64)
    assert u.min() >= 0
    assert u.max() < 1
    counts = torch.histc(u, 16, 0, 1)
    expected = u.numel() / 16
    assert ((counts - expected) ** 2 / expected).sum() < 40, counts  # chi-square, 15 degrees of freedom
    for other in (draw_uniform(torch.arange(4000), 1, 64), draw_uniform(torch.arange(4000) + 1, 0, 64)):
        assert abs(torch.corrcoef(torch.stack([u.flatten(), other.flatten()]))[0, 1]) < 0.01


def test_15_percent_are_chosen_of_which_80_10_10_are_masked_random_unchanged():
    original = batch()
    masked, index_P, labels_P = mask_tokens(original, torch.arange(2000), rule())
    used_P = labels_P != IGNORED
    before, after = original.input_ids_BT.flatten(), masked.input_ids_BT.flatten()
    index, labels = index_P[used_P], labels_P[used_P]
    assert torch.equal(before[index], labels)
    real = original.attention_mask_BT.sum()
    assert float(len(index) / real) == pytest.approx(0.15, abs=0.003)
    n = len(index)
    share_mask = float((after[index] == MASK).sum() / n)
    share_same = float((after[index] == labels).sum() / n)
    error = 4 * (0.25 / n) ** 0.5
    assert share_mask == pytest.approx(0.8, abs=error)
    assert share_same == pytest.approx(0.1, abs=error)
    untouched = torch.ones_like(before, dtype=torch.bool)
    untouched[index] = False
    assert torch.equal(before[untouched], after[untouched])


def test_rows_with_a_negative_key_are_not_masked():
    original = batch()
    keys = torch.arange(2000)
    keys[::2] = -1
    masked, _, labels_P = mask_tokens(original, keys, rule())
    labels_BK = labels_P.view(2000, -1)
    assert torch.equal(masked.input_ids_BT[::2], original.input_ids_BT[::2])
    assert (labels_BK[::2] == IGNORED).all()
    assert (labels_BK[1::2] != IGNORED).any(1).all()


def test_no_special_token_is_masked_or_inserted():
    original = batch()
    masked, index_P, labels_P = mask_tokens(original, torch.arange(2000), rule(0.6))
    assert (labels_P[labels_P != IGNORED] >= len(SPECIAL)).all()
    inserted = masked.input_ids_BT.flatten()[index_P[labels_P != IGNORED]]
    assert not torch.isin(inserted, torch.tensor([0, 1, 2, 3])).any()


def test_each_row_has_its_rounded_share_at_distinct_positions():
    original = batch(rows=300)
    _, index_P, labels_P = mask_tokens(original, torch.arange(300), rule())
    used_BK = (labels_P != IGNORED).view(300, -1)
    expected_B = (0.15 * original.attention_mask_BT.sum(1).double()).round().clamp(min=1)
    assert torch.equal(used_BK.sum(1), expected_B.long())
    index = index_P[labels_P != IGNORED]
    assert len(index.unique()) == len(index)


def test_every_position_is_equally_likely():
    full = Batch(torch.full((6000, 40), 9), torch.zeros(6000, 40), torch.ones(6000, 40, dtype=torch.bool))
    _, index_P, labels_P = mask_tokens(full, torch.arange(6000), rule())
    counts = torch.bincount(index_P[labels_P != IGNORED] % 40, minlength=40).double()
    expected = counts.mean()
    assert ((counts - expected) ** 2 / expected).sum() < 75, counts  # 39 degrees of freedom


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_masks_are_the_same_on_every_device():
    here = mask_tokens(batch(100), torch.arange(100), rule())
    there = mask_tokens(batch(100).to("cuda"), torch.arange(100, device="cuda"), rule().to("cuda"))
    assert torch.equal(here[0].input_ids_BT, there[0].input_ids_BT.cpu())
    assert torch.equal(here[2], there[2].cpu())


# -- whole words

CONTINUATIONS = range(600, VOCABULARY)  # two of five tokens continue a word


def whole_word_rule(probability=0.15) -> MaskRule:
    continues_V = torch.zeros(VOCABULARY, dtype=torch.bool)
    continues_V[list(CONTINUATIONS)] = True
    return replace(rule(probability), continues_V=continues_V)


def hide(original: Batch, mask_rule: MaskRule) -> torch.Tensor:
    """Where the masked tokens are, bool [B, T]."""
    _, index_P, labels_P = mask_tokens(original, torch.arange(len(original.input_ids_BT)), mask_rule)
    hidden = torch.zeros(original.input_ids_BT.numel(), dtype=torch.bool)
    hidden[index_P[labels_P != IGNORED]] = True
    return hidden.view_as(original.input_ids_BT)


def hidden_rows(original: Batch, mask_rule: MaskRule):
    """The ids, the attention mask and the masked tokens of each row."""
    tensors = original.input_ids_BT, original.attention_mask_BT, hide(original, mask_rule)
    return zip(*(tensor.tolist() for tensor in tensors), strict=True)


def find_words(ids: list[int], real: list[bool]) -> list[list[int]]:
    """The positions of every word of a row."""
    words, inside = [], False
    for position, (id, is_real) in enumerate(zip(ids, real, strict=True)):
        if not is_real or id in SPECIAL:
            inside = False
        elif id in CONTINUATIONS and inside:
            words[-1].append(position)
        else:
            words.append([position])
            inside = True
    return words


def test_words_are_masked_as_a_whole_and_within_the_share():
    original = batch(rows=400)
    _, index_P, labels_P = mask_tokens(original, torch.arange(400), whole_word_rule())
    used_P = labels_P != IGNORED
    hidden = set(index_P[used_P].tolist())
    assert len(hidden) == int(used_P.sum())
    assert torch.equal(original.input_ids_BT.flatten()[index_P[used_P]], labels_P[used_P])
    size = original.input_ids_BT.shape[1]
    long_words = 0
    for row, (ids, real) in enumerate(
        zip(original.input_ids_BT.tolist(), original.attention_mask_BT.tolist(), strict=True)
    ):
        for word in find_words(ids, real):
            masked = sum(row * size + position in hidden for position in word)
            assert masked in (0, len(word)), (row, word)
            long_words += masked > 1
        most = max(1, round(0.15 * sum(real) + 1e-9))
        assert sum(row * size + p in hidden for p in range(size)) <= most
    assert long_words > 300
    assert float(len(hidden) / original.attention_mask_BT.sum()) == pytest.approx(0.15, abs=0.004)


def test_long_words_are_masked_almost_as_often():
    original = batch(rows=3000, size=96, seed=2)
    masked_by_length: dict[int, list[int]] = {}
    for ids, real, is_hidden in hidden_rows(original, whole_word_rule()):
        if sum(real) > 60:
            for word in find_words(ids, real):
                masked_by_length.setdefault(len(word), []).append(is_hidden[word[0]])
    shares = {n: sum(masked) / len(masked) for n, masked in masked_by_length.items() if n <= 3}
    # the longer a word, the more often it does not fit into what is left of the share
    assert 0.13 < shares[3] < shares[2] < shares[1] < 0.18, shares


# -- spans of words


def count_span_words(ids: list[int], real: list[bool], hidden: list[bool]) -> list[int]:
    """The lengths in words of the runs of masked words of a row; a run does not cross a special token."""
    runs, previous_end = [], None
    for word in find_words(ids, real):
        if hidden[word[0]]:
            assert all(hidden[position] for position in word), "a word is masked as a whole"
            runs.append(1) if previous_end != word[0] else runs.append(runs.pop() + 1)
            previous_end = word[-1] + 1
    return runs


@pytest.mark.parametrize("spans", ["ngram", "geometric"])
def test_runs_of_words_are_masked_together_within_the_share(spans):
    original = batch(rows=3000, size=96, seed=2)
    mask_rule = replace(whole_word_rule(), span_lengths=SPAN_LENGTHS[spans])
    hidden_BT, length_B = hide(original, mask_rule), original.attention_mask_BT.sum(1)
    assert (hidden_BT.sum(1) <= (0.15 * length_B + 1e-9).round().clamp(min=1)).all()
    assert float(hidden_BT.sum() / length_B.sum()) == pytest.approx(0.15, abs=0.02)
    runs, single = (
        [run for row in hidden_rows(original, each) for run in count_span_words(*row)]
        for each in (mask_rule, whole_word_rule())
    )
    assert np.mean(runs) > 1.3 * np.mean(single)
    assert max(runs) > (3 if spans == "geometric" else 2)


@pytest.mark.parametrize("spans", ["ngram", "geometric"])
def test_spans_have_the_lengths_of_the_papers(spans):
    """The words of a row of 20,000 tokens without special ones are divided into spans."""
    size = 20_000
    maskable_BT = torch.ones(1, size, dtype=torch.bool)
    maskable_BT[0, ::1000] = False
    first_BT = torch.arange(size)[None]
    first_BT = first_BT - first_BT % 2 * maskable_BT * maskable_BT.roll(1, 1)  # words of two tokens
    draw_BT = torch.rand(1, size, generator=torch.Generator().manual_seed(0))
    joined = _join_words(first_BT, maskable_BT, draw_BT, SPAN_LENGTHS[spans])[0]
    starts = joined.unique()
    assert set(torch.arange(size)[~maskable_BT[0]].tolist()) <= set(starts.tolist())
    words = {int(start): 0 for start in starts if maskable_BT[0, start]}
    for column in range(size):
        if maskable_BT[0, column]:
            assert joined[first_BT[0, column]] == joined[column], "a word is not divided"
            words[int(joined[column])] += int(first_BT[0, column]) == column
    found = np.bincount(list(words.values()), minlength=12)[1:11] / len(words)
    expected = np.array(SPAN_LENGTHS[spans]) / sum(SPAN_LENGTHS[spans])
    # the end of a stretch between special tokens cuts some spans short
    np.testing.assert_allclose(found[: len(expected)], expected, atol=0.03)
    assert found[len(expected) :].sum() == 0


@pytest.mark.parametrize("kind", ["tokens", "words", "spans"])
def test_masks_of_a_row_do_not_depend_on_the_other_rows(kind):
    mask_rule = rule() if kind == "tokens" else whole_word_rule()
    if kind == "spans":
        mask_rule = replace(mask_rule, span_lengths=SPAN_LENGTHS["geometric"])
    original = batch(rows=40)
    together, _, labels_P = mask_tokens(original, torch.arange(40), mask_rule)
    row = Batch(*(t[7:8] for t in (original.input_ids_BT, original.token_type_ids_BT, original.attention_mask_BT)))
    alone, _, own_P = mask_tokens(row, torch.tensor([7]), mask_rule)
    assert torch.equal(together.input_ids_BT[7:8], alone.input_ids_BT)
    assert torch.equal(labels_P.view(40, -1)[7], own_P)
    other, _, _ = mask_tokens(row, torch.tensor([8]), mask_rule)
    assert not torch.equal(alone.input_ids_BT, other.input_ids_BT)


def test_tokens_with_hash_signs_continue_a_word(tiny_tokenizer):
    mask_rule = MaskRule.for_tokenizer(tiny_tokenizer, whole_word=True)
    assert mask_rule.continues_V.any()
    for id, token in enumerate(tiny_tokenizer.tokens(range(tiny_tokenizer.vocab_size))):
        assert bool(mask_rule.continues_V[id]) == token.startswith("##")

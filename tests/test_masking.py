"""Masks: shares, what may be chosen, and that they depend on nothing but their keys."""

import pytest
import torch

from bertlab.text.batch import Batch
from bertlab.text.masking import IGNORED, MaskRule, mask_tokens, uniform

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


def test_uniform_is_uniform_and_uncorrelated():
    u = uniform(torch.arange(4000), 0, 64)
    assert u.min() >= 0
    assert u.max() < 1
    counts = torch.histc(u, 16, 0, 1)
    expected = u.numel() / 16
    assert ((counts - expected) ** 2 / expected).sum() < 40, counts  # chi-square, 15 degrees of freedom
    for other in (uniform(torch.arange(4000), 1, 64), uniform(torch.arange(4000) + 1, 0, 64)):
        assert abs(torch.corrcoef(torch.stack([u.flatten(), other.flatten()]))[0, 1]) < 0.01


def test_fifteen_eighty_ten_ten():
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


def test_no_special_token_is_chosen_or_put_in():
    original = batch()
    masked, index_P, labels_P = mask_tokens(original, torch.arange(2000), rule(0.6))
    assert (labels_P[labels_P != IGNORED] >= len(SPECIAL)).all()
    shown = masked.input_ids_BT.flatten()[index_P[labels_P != IGNORED]]
    assert not torch.isin(shown, torch.tensor([0, 1, 2, 3])).any()


def test_each_row_gets_its_rounded_share_at_distinct_places():
    original = batch(rows=300)
    _, index_P, labels_P = mask_tokens(original, torch.arange(300), rule())
    used_BK = (labels_P != IGNORED).view(300, -1)
    wanted_B = (0.15 * original.attention_mask_BT.sum(1).double()).round().clamp(min=1)
    assert torch.equal(used_BK.sum(1), wanted_B.long())
    index = index_P[labels_P != IGNORED]
    assert len(index.unique()) == len(index)


def test_a_row_alone_or_among_others_gets_the_same_masks():
    original = batch(rows=40)
    whole, _, _ = mask_tokens(original, torch.arange(40), rule())
    row = Batch(*(t[7:8] for t in (original.input_ids_BT, original.token_type_ids_BT, original.attention_mask_BT)))
    alone, _, _ = mask_tokens(row, torch.tensor([7]), rule())
    assert torch.equal(whole.input_ids_BT[7:8], alone.input_ids_BT)
    other, _, _ = mask_tokens(row, torch.tensor([8]), rule())
    assert not torch.equal(alone.input_ids_BT, other.input_ids_BT)


def test_every_position_is_as_likely():
    full = Batch(torch.full((6000, 40), 9), torch.zeros(6000, 40), torch.ones(6000, 40, dtype=torch.bool))
    _, index_P, labels_P = mask_tokens(full, torch.arange(6000), rule())
    counts = torch.bincount(index_P[labels_P != IGNORED] % 40, minlength=40).double()
    expected = counts.mean()
    assert ((counts - expected) ** 2 / expected).sum() < 75, counts  # 39 degrees of freedom


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_the_device_does_not_matter():
    here = mask_tokens(batch(100), torch.arange(100), rule())
    there = mask_tokens(batch(100).to("cuda"), torch.arange(100, device="cuda"), rule().to("cuda"))
    assert torch.equal(here[0].input_ids_BT, there[0].input_ids_BT.cpu())
    assert torch.equal(here[2], there[2].cpu())

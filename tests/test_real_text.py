"""Sentence pairs and masks on real text: the statistics of the paper."""

import numpy as np
import pytest
import torch
from support.sentence_pairs import bag_of_lengths_accuracy

from bertlab.text.pretraining.masking import IGNORED, MaskRule, mask_tokens
from bertlab.text.pretraining.prepare_corpus import prepare_corpus
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.pretraining.sentence_pairs import IS_NEXT, make_pairs
from bertlab.text.tokenizers.wordpiece import Tokenizer


@pytest.fixture(scope="module")
def tokenizer(bertlab_data) -> Tokenizer:
    return Tokenizer.from_vocab(bertlab_data / "vocab" / "bert-base-uncased-vocab.txt")


@pytest.fixture(scope="module")
def corpus(bertlab_data, tokenizer, tmp_path_factory):
    sources = [bertlab_data / "text" / "en" / f"{name}-validation.parquet" for name in ("enwiki", "fiction")]
    return prepare_corpus(sources, tokenizer, tmp_path_factory.mktemp("real") / "corpus", workers=1)


def test_half_of_the_pairs_are_next_and_neither_lengths_nor_sources_reveal_which(corpus):
    documents = corpus.read_documents(0)
    pairs = make_pairs(documents, 128, np.random.default_rng(0))
    is_next_E = pairs.label_E == IS_NEXT
    assert len(pairs) > 10_000
    assert np.mean(is_next_E) == pytest.approx(0.5, abs=4 * 0.5 / len(pairs) ** 0.5)
    assert np.array_equal(pairs.document_a_E == pairs.document_b_E, is_next_E)
    assert len(np.unique(documents.source_D)) == 2
    assert np.array_equal(documents.source_D[pairs.document_a_E], documents.source_D[pairs.document_b_E])
    assert bag_of_lengths_accuracy(pairs) < 0.53


def test_15_percent_of_tokens_are_chosen_and_masked_80_10_10(corpus, tokenizer):
    rule, sampler = MaskRule.for_tokenizer(tokenizer), PairSampler(corpus, tokenizer, 512, 128, seed=1)
    real = chosen = replaced = unchanged = 0
    special = torch.tensor(sorted(tokenizer.special_ids))
    for _ in range(8):
        batch = next(sampler)
        masked, index_P, labels_P = mask_tokens(batch.inputs, batch.key_B, rule)
        used_P = labels_P != IGNORED
        index, labels = index_P[used_P], labels_P[used_P]
        assert not torch.isin(labels, special).any()
        masked_ids = masked.input_ids_BT.flatten()[index]
        real += int(batch.inputs.attention_mask_BT.sum())
        chosen += len(index)
        replaced += int((masked_ids == tokenizer.mask_id).sum())
        unchanged += int((masked_ids == labels).sum())
    assert chosen / real == pytest.approx(0.15, abs=0.002)
    assert replaced / chosen == pytest.approx(0.8, abs=0.01)
    assert unchanged / chosen == pytest.approx(0.1, abs=0.01)


def test_the_seed_alone_determines_the_batches(corpus, tokenizer):
    first, second, other = (
        next(PairSampler(corpus, tokenizer, 64, 128, seed)).inputs.input_ids_BT for seed in (3, 3, 4)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)

"""The matching-head initialisation: tokens of sentence B attend to the same tokens of sentence A."""

import torch

from bertlab.config.config import ModelConfig
from bertlab.nn.fast.model import FastBert
from bertlab.nn.local_attention_init import initialise_local_attention
from bertlab.nn.matching_head_init import initialise_matching_head
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch

LENGTH = 24  # of each sentence


def test_tokens_that_occur_in_both_sentences_attend_to_the_first():
    torch.manual_seed(0)
    config = ModelConfig(
        vocab_size=2000, hidden_size=128, num_layers=2, num_heads=4, intermediate_size=64, initializer_range=0.07
    )
    model = FastBert(config).eval()
    initialise_local_attention(model)
    a_BT, b_BT = torch.randint(0, 2000, (2, 64, LENGTH))
    matches_T = torch.arange(LENGTH) % 4 == 0
    b_BT[:, matches_T] = a_BT[:, torch.randperm(LENGTH)[: int(matches_T.sum())]]
    types_BT = torch.cat([torch.zeros_like(a_BT), torch.ones_like(b_BT)], 1)
    batch = Batch(torch.cat([a_BT, b_BT], 1), types_BT, None)

    def measure_attention_to_a():
        trace = Trace.of("probs")
        model(batch, trace=trace)
        to_a_BT = trace["probs"][0][:, -1, LENGTH:, :LENGTH].sum(-1)
        return float(to_a_BT[:, matches_T].mean()), float(to_a_BT[:, ~matches_T].mean())

    matched, other = measure_attention_to_a()
    assert abs(matched - other) < 0.05
    initialise_matching_head(model)
    matched, other = measure_attention_to_a()
    assert matched > 0.95
    assert other < 0.75


def test_the_other_heads_of_the_first_layer_stay_as_they_are():
    config = ModelConfig(vocab_size=100, hidden_size=64, num_layers=2, num_heads=4, intermediate_size=64)
    model = FastBert(config)
    initialise_local_attention(model)
    qkv = model.encoder.layers[0].attention.qkv
    before = qkv.weight.detach().clone().view(3, 4, 16, 64)
    initialise_matching_head(model)
    after = qkv.weight.detach().view(3, 4, 16, 64)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:2, 3], after[:2, 3])

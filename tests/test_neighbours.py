"""The local-attention initialisation: heads of the first layers attend to neighbouring tokens at every position."""

import pytest
import torch

from bertlab.config.config import ModelConfig
from bertlab.nn.fast.model import FastBert
from bertlab.nn.local_attention_init import HEAD_OFFSETS, NUM_LAYERS, initialise_local_attention
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch


@pytest.mark.parametrize(("hidden", "heads", "sd"), [(256, 4, 0.05), (384, 12, 0.02), (512, 8, 0.035)])
def test_heads_attend_to_their_neighbours(hidden, heads, sd):
    torch.manual_seed(0)
    config = ModelConfig(
        vocab_size=1000, hidden_size=hidden, num_layers=3, num_heads=heads, intermediate_size=64, initializer_range=sd
    )
    model = FastBert(config).eval()
    ids_BT = torch.randint(0, 1000, (4, 64))
    batch, plain, local = Batch(ids_BT, torch.zeros_like(ids_BT), None), Trace.of("probs"), Trace.of("probs")
    model(batch, trace=plain)
    initialise_local_attention(model)
    model(batch, trace=local)
    for head in range(heads):
        offset = HEAD_OFFSETS[head % len(HEAD_OFFSETS)]

        def mean_weight(trace, layer, head=head, offset=offset):
            return float(trace["probs"][layer][:, head].diagonal(offset, -2, -1).mean())

        assert mean_weight(plain, 0) < 0.03
        assert mean_weight(local, 0) > 0.15
        assert mean_weight(local, NUM_LAYERS - 1) > 0.06
        assert mean_weight(local, NUM_LAYERS) < 0.03

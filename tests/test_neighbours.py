"""The local-attention initialisation: heads of the first layers attend to neighbouring tokens at every position."""

import pytest
import torch

from bertlab.config.config import ModelConfig
from bertlab.config.presets import change_family, get_preset, make_generator_config
from bertlab.nn.fast.model import FastBert
from bertlab.nn.local_attention_init import HEAD_OFFSETS, NUM_LAYERS, initialise_local_attention
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch
from bertlab.training.pretraining.config import make_recipe_settings
from bertlab.training.pretraining.setup import open_inputs


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


@pytest.mark.parametrize(
    ("family", "generator_size", "minimum"),
    # the last: hidden states half as wide as the embeddings cannot hold the whole rotation
    [("roberta", None, 0.15), ("albert", None, 0.15), ("electra", None, 0.15), ("electra", 0.5, 0.15),
     ("electra", 0.25, 0.08)],
)  # fmt: skip
def test_heads_of_other_families_attend_to_their_neighbours_too(family, generator_size, minimum):
    """The embeddings of ALBERT and ELECTRA are half as wide as the hidden states; uniform attention would be 0.016."""
    torch.manual_seed(0)
    config = change_family(get_preset("mini").replace(vocab_size=1000, initializer_range=0.05), family)
    if generator_size:
        config = make_generator_config(config, generator_size)
    model = FastBert(config).eval()
    initialise_local_attention(model)
    ids_BT, trace = torch.randint(5, 1000, (4, 64)), Trace.of("probs")
    model(Batch(ids_BT, torch.zeros_like(ids_BT), None), trace=trace)
    for head in range(config.num_heads):
        assert float(trace["probs"][0][:, head].diagonal(HEAD_OFFSETS[head], -2, -1).mean()) > minimum


def test_a_generator_starts_with_local_heads_like_its_discriminator(corpus, tmp_path):
    config = make_recipe_settings(corpus, tmp_path, family="electra", preset="tiny", generator_size=0.5)
    model = open_inputs(config).model
    for each in (model.discriminator, model.generator):
        size = each.config.hidden_size
        query_HH, key_HH, _ = each.encoder.layers[0].attention.qkv.weight.view(3, size, size)
        similarity = torch.nn.functional.cosine_similarity(query_HH @ query_HH.T, key_HH @ key_HH.T, dim=0).mean()
        assert similarity > 0.7

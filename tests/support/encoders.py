"""Small models with scrambled weights, the same models in `transformers`, and batches for both.

Shape legend: B batch, T tokens.
"""

import torch
import transformers

from bertlab.checkpoints.maps import find_heads, hf_to_state
from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert
from bertlab.text.batch import Batch

CONFIG = ModelConfig(
    vocab_size=61, hidden_size=32, num_layers=3, num_heads=4, intermediate_size=48, max_positions=24,
    hidden_dropout=0.0, attention_dropout=0.0,
)  # fmt: skip


def scramble(model: torch.nn.Module) -> torch.nn.Module:
    """Set random weights, large enough that attention is uneven; no bias stays 0, no scale of a norm stays 1."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            is_scale = "norm" in name.lower() and name.endswith("weight")
            parameter.copy_(1 + 0.3 * noise if is_scale else 0.2 * noise)
    return model.eval()


def oracle(kind=transformers.BertForPreTraining, config: ModelConfig = CONFIG):
    """A model of `transformers` with scrambled weights."""
    return scramble(kind(transformers.BertConfig(**config.to_hf(), attn_implementation="eager")))


def ours(hf, config: ModelConfig = CONFIG, kind: type[Bert] = Bert) -> Bert:
    """Our model of the class `kind`, with the weights of a model of `transformers`."""
    heads = find_heads(hf.state_dict(), config.family, {})
    state = hf_to_state(hf.state_dict(), config, heads)
    model = kind(config, heads)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(name.startswith("pooler.") for name in missing)
    return model.eval()


def make_batch(paired: bool, padded: bool, B: int = 3, T: int = 11) -> Batch:
    """Random ids. If `paired`, the second half is sentence B; if `padded`, the rows hold 11, 7 and 3 tokens."""
    generator = torch.Generator().manual_seed(5)
    input_ids_BT = torch.randint(1, CONFIG.vocab_size, (B, T), generator=generator)
    token_type_ids_BT = torch.zeros(B, T, dtype=torch.int64)
    attention_mask_BT = torch.ones(B, T, dtype=torch.bool)
    if paired:
        token_type_ids_BT[:, T // 2 :] = 1
    if padded:
        for row, length in enumerate((T, T - 4, 3)):
            attention_mask_BT[row, length:] = False
            input_ids_BT[row, length:] = 0
    return Batch(input_ids_BT, token_type_ids_BT, attention_mask_BT)


def uneven_batch() -> Batch:
    """Rows of many lengths, one padded on its left, one of padding alone."""
    lengths_B = torch.tensor([11, 1, 6, 10, 3, 3, 0, 7])
    batch = make_batch(True, False, B=len(lengths_B))
    real_BT = torch.arange(11) < lengths_B[:, None]
    real_BT[2] = real_BT[2].flip(0)
    return Batch(batch.input_ids_BT * real_BT, batch.token_type_ids_BT, real_BT)


def hf_inputs(batch: Batch) -> dict:
    """A batch as keyword arguments of `transformers`."""
    return {
        "input_ids": batch.input_ids_BT,
        "token_type_ids": batch.token_type_ids_BT,
        "attention_mask": batch.attention_mask_BT.long(),
    }


def assert_close(ours, theirs, where=None, tolerance=1e-5):
    """Assert equality within the tolerance; with a mask `where`, only at the positions where it is True."""
    if where is not None:
        ours, theirs = ours[where], theirs[where]
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)

"""One layer at one position, step by step: from the values of one attention head to the layer's output.

Shape legend: T tokens, H hidden, N heads, D head size (H = N * D), I feed-forward neurons, L layers (in arrays that
include the embeddings, such as hidden_LH: index 0 is the embeddings, l + 1 the output of layer l), V vocabulary.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from bertlab.abilities.encode import make_batch_of_one, make_token_rows
from bertlab.abilities.results import TokenRow
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert, EncoderLayer
from bertlab.nn.interventions import check_head, check_layer, check_position
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import find_device
from bertlab.tasks.registry import TASK_TYPES
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer


@dataclass(frozen=True)
class LayerSummary:
    """What one layer adds to the residual stream at one position; norms are Euclidean lengths."""

    layer: int | None
    """The layer, from 0; None for the embeddings, which come before layer 0."""
    attention_norm: float | None
    """The norm of the attention output, which is added to the layer's input; None for the embeddings."""
    feed_forward_norm: float | None
    """The norm of the feed-forward output, which is added after the attention; None for the embeddings."""
    output_norm: float
    """The norm of the residual stream after the layer, that is, of the hidden state."""
    prediction: str | None
    """The most probable token by the logit lens; None if the checkpoint has no MLM output layer."""
    probability: float | None
    """The probability of that token, 0..1; None without an MLM output layer."""


@dataclass(frozen=True)
class BlockMap:
    """The steps of one layer at one position, including the steps inside one of its heads."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    layer: int
    """The layer, from 0."""
    head: int
    """The head whose values are included, from 0."""
    position: int
    """The position, from 0."""
    num_heads: int
    """The number of heads of the layer."""
    value_TD: np.ndarray
    """The head's value vector of every token."""
    probs_T: np.ndarray
    """The head's attention from the position to every token."""
    weighted_TD: np.ndarray
    """Every value vector times the attention to its token."""
    head_output_D: np.ndarray
    """The output of the head: the sum of the weighted values."""
    heads_H: np.ndarray
    """The outputs of all heads of the layer, concatenated."""
    input_H: np.ndarray
    """The layer's input: the residual stream before the layer."""
    attention_H: np.ndarray
    """The attention output: the output projection of `heads_H`."""
    attention_sum_H: np.ndarray
    """The residual sum `input_H` + `attention_H`."""
    attended_H: np.ndarray
    """`attention_sum_H` after LayerNorm, which is the input of the feed-forward network."""
    neurons_I: np.ndarray
    """The activations of the feed-forward neurons, after the GELU."""
    feed_forward_H: np.ndarray
    """The feed-forward output."""
    feed_forward_sum_H: np.ndarray
    """The residual sum `attended_H` + `feed_forward_H`."""
    output_H: np.ndarray
    """`feed_forward_sum_H` after LayerNorm: the layer's output, and the input of the next layer."""
    layers: tuple[LayerSummary, ...]
    """What every layer adds at this position; the first entry stands for the embeddings."""


def compute_block(
    model: Bert, tokenizer: Tokenizer, encoding: Encoding, layer: int, head: int, position: int
) -> BlockMap:
    """Compute the steps of one layer at one position.

    Raises:
        CheckpointError: the layers of the model have other steps than those of BERT.
        InterventionError: there is no such layer, head or position.

    Source: Devlin et al. 2019, section 3; Vaswani et al. 2017, sections 3.1 to 3.3.
    """
    config = model.config
    if config.family.layers != "post-norm":
        raise CheckpointError("block-of-other-layers", type=config.model_type)
    check_layer(layer, config.num_layers)
    check_head(head, config.num_heads)
    check_position(position, len(encoding.ids))
    trace = Trace.of("value", "probs", "head_outputs", "hidden")
    model(make_batch_of_one(encoding, find_device(model)), trace=trace)
    hidden_LH = torch.cat(trace["hidden"])[:, position]
    heads_LH = torch.cat(trace["head_outputs"])[:, :, position].flatten(1)
    steps = [
        _complete_layer(encoder_layer, input_H, heads_H)
        for encoder_layer, input_H, heads_H in zip(model.encoder.layers, hidden_LH[:-1], heads_LH, strict=True)
    ]
    value_TD, probs_T = trace["value"][layer][0, head], trace["probs"][layer][0, head, position]
    parts = {
        "value_TD": value_TD,
        "probs_T": probs_T,
        "weighted_TD": probs_T[:, None] * value_TD,
        "head_output_D": trace["head_outputs"][layer][0, head, position],
        "heads_H": heads_LH[layer],
        "input_H": hidden_LH[layer],
        **steps[layer],
    }
    return BlockMap(
        make_token_rows(encoding), layer, head, position, config.num_heads,
        **{name: tensor.float().cpu().numpy() for name, tensor in parts.items()},
        layers=_summarise_layers(hidden_LH, steps, _predict(model, tokenizer, hidden_LH)),
    )  # fmt: skip


def _complete_layer(
    encoder_layer: EncoderLayer, input_H: torch.Tensor, heads_H: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Compute the steps of a layer after its heads, as `SelfAttention.out` and `EncoderLayer.complete_layer` do."""
    feed_forward = encoder_layer.feed_forward
    attention_H = encoder_layer.attention.out(heads_H[None])[0]
    attention_sum_H = input_H + attention_H
    attended_H = encoder_layer.attention_norm(attention_sum_H)
    neurons_I = F.gelu(feed_forward.up(attended_H[None])[0], approximate=feed_forward.gelu_approximation)
    feed_forward_H = feed_forward.down(neurons_I[None])[0]
    feed_forward_sum_H = attended_H + feed_forward_H
    return {
        "attention_H": attention_H,
        "attention_sum_H": attention_sum_H,
        "attended_H": attended_H,
        "neurons_I": neurons_I,
        "feed_forward_H": feed_forward_H,
        "feed_forward_sum_H": feed_forward_sum_H,
        "output_H": encoder_layer.feed_forward_norm(feed_forward_sum_H),
    }


def _predict(
    model: Bert, tokenizer: Tokenizer, hidden_LH: torch.Tensor
) -> list[tuple[str, float]] | list[tuple[None, None]]:
    """Predict (token, probability) after the embeddings and after every layer by the logit lens.

    All entries are (None, None) if the model has no MLM output layer.
    """
    if TASK_TYPES["masked_lm"].head not in model.head_names:
        return [(None, None)] * len(hidden_LH)
    # the embedding table may be padded to a convenient size; its extra rows have no token
    probs_L, ids_L = model.mlm(hidden_LH)[:, : tokenizer.vocab_size].softmax(-1).max(-1)
    return list(zip(tokenizer.tokens(ids_L.tolist()), probs_L.tolist(), strict=True))


def _summarise_layers(
    hidden_LH: torch.Tensor, steps: list[dict[str, torch.Tensor]], predictions: list[tuple]
) -> tuple[LayerSummary, ...]:
    """Summarise the embeddings and every layer."""
    output_norms = [float(norm) for norm in hidden_LH.float().norm(dim=-1)]
    # (layer, norm of the attention output, norm of the feed-forward output), first for the embeddings
    added_norms = [(None, None, None)]
    for layer, step in enumerate(steps):
        added_norms.append((layer, *(float(step[name].float().norm()) for name in ("attention_H", "feed_forward_H"))))
    return tuple(
        LayerSummary(*layer_and_norms, output_norm, *prediction)
        for layer_and_norms, output_norm, prediction in zip(added_norms, output_norms, predictions, strict=True)
    )

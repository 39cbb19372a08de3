"""Intermediate results of a forward pass: the attention, queries and keys of the heads, and the embeddings.

Shape legend: B batch, T tokens, H hidden, N heads, L layers.
"""

import torch

from bertlab.abilities.encode import make_batch_of_one, make_token_rows
from bertlab.abilities.results import AttentionMap, HeadVectors, InputMap, NeuronMap
from bertlab.nn.bert import Bert
from bertlab.nn.interventions import Interventions, check_head, check_layer
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import find_device
from bertlab.text.tokenizers.wordpiece import Encoding


def compute_attention_map(model: Bert, encoding: Encoding, interventions: Interventions | None = None) -> AttentionMap:
    """Compute the attention of every head over one input.

    Raises:
        InterventionError: an intervention does not fit this model and input.
    """
    trace = Trace.of("probs")
    model(make_batch_of_one(encoding, find_device(model)), trace=trace, interventions=interventions)
    probs_LNTT = torch.cat(trace["probs"])
    return AttentionMap(make_token_rows(encoding), probs_LNTT.float().cpu().numpy())


def compute_neuron_map(model: Bert, encoding: Encoding, layer: int, head: int) -> NeuronMap:
    """Compute queries, keys, scores and probabilities of one head of one layer.

    Raises:
        InterventionError: there is no such layer or head.
    """
    check_layer(layer, model.config.num_layers)
    check_head(head, model.config.num_heads)
    trace = Trace.of("query", "key", "scores", "probs")
    model(make_batch_of_one(encoding, find_device(model)), trace=trace)
    arrays = [trace[name][layer][0, head].float().cpu().numpy() for name in trace.records]
    return NeuronMap(make_token_rows(encoding), layer, head, *arrays)


def compute_head_vectors(model: Bert, encoding: Encoding) -> HeadVectors:
    """Compute the queries, keys and attention of every head over one input."""
    trace = Trace.of("query", "key", "probs")
    model(make_batch_of_one(encoding, find_device(model)), trace=trace)
    arrays = [torch.cat(trace[name]).float().cpu().numpy() for name in trace.records]
    return HeadVectors(make_token_rows(encoding), *arrays)


def compute_input_map(model: Bert, encoding: Encoding) -> InputMap:
    """Compute the three embeddings of every token, and their normalised sum."""
    trace, batch = Trace.of("embeddings"), make_batch_of_one(encoding, find_device(model))
    model.embeddings(batch.input_ids_BT, batch.token_type_ids_BT, trace)
    return InputMap(
        make_token_rows(encoding), *(tensor_1TH[0].float().cpu().numpy() for tensor_1TH in trace["embeddings"])
    )

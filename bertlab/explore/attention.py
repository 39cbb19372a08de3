"""Intermediate results of a forward pass: every head's attention, the parts of one head, the sum of the embeddings.

Shape legend: T tokens, H hidden, N heads, D head size, L layers.
"""

import torch

from bertlab.explore.encode import batch_of_one, token_rows
from bertlab.explore.facts import AttentionMap, InputMap, NeuronMap
from bertlab.nn.bert import Bert
from bertlab.nn.interventions import Interventions, check_head, check_layer
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import device_of
from bertlab.text.tokenizers.wordpiece import Encoding


def attention_map(model: Bert, encoding: Encoding, interventions: Interventions | None = None) -> AttentionMap:
    """Every head's attention over one input.

    Raises:
        InterventionError: an intervention does not fit this model and input.
    """
    trace = Trace.of("probs")
    model(batch_of_one(encoding, device_of(model)), trace=trace, interventions=interventions)
    probs_LNTT = torch.cat(trace["probs"])
    return AttentionMap(token_rows(encoding), probs_LNTT.float().cpu().numpy())


def neuron_map(model: Bert, encoding: Encoding, layer: int, head: int) -> NeuronMap:
    """Queries, keys, scores and probabilities of one head of one layer.

    Raises:
        InterventionError: there is no such layer or head.
    """
    check_layer(layer, model.config.num_layers)
    check_head(head, model.config.num_heads)
    trace = Trace.of("query", "key", "scores", "probs")
    model(batch_of_one(encoding, device_of(model)), trace=trace)
    arrays = [trace[kind][layer][0, head].float().cpu().numpy() for kind in trace.records]
    return NeuronMap(token_rows(encoding), layer, head, *arrays)


def input_map(model: Bert, encoding: Encoding) -> InputMap:
    """The three embeddings of every token, and their normalised sum."""
    trace, batch = Trace.of("embeddings"), batch_of_one(encoding, device_of(model))
    model.embeddings(batch.input_ids_BT, batch.token_type_ids_BT, trace)
    return InputMap(token_rows(encoding), *(tensor_1TH[0].float().cpu().numpy() for tensor_1TH in trace["embeddings"]))

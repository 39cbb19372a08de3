"""What a model computes on the way: every head's attention, one head opened up, and the sum that goes in.

Encoded inputs in, facts out; the model is asked with a `Trace`. Knows no checkpoint and no picture.

Shape legend: T tokens, H hidden, N heads, D head size, L layers.
"""

import torch

from bertlab.config.errors import BertlabError
from bertlab.explore.encode import alone, token_rows
from bertlab.explore.facts import AttentionMap, InputMap, NeuronMap
from bertlab.explore.predict import device_of
from bertlab.nn.bert import Bert
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace
from bertlab.text.tokenizers.wordpiece import Encoding


def attention_map(model: Bert, encoding: Encoding, interventions: Interventions | None = None) -> AttentionMap:
    """Every head's attention over one input. Raises InterventionError for a change that does not fit."""
    trace = Trace.of("probs")
    model(alone(encoding, device_of(model)), trace=trace, interventions=interventions)
    probs_LNTT = torch.cat(trace["probs"])
    return AttentionMap(token_rows(encoding), probs_LNTT.float().cpu().numpy())


def neuron_map(model: Bert, encoding: Encoding, layer: int, head: int) -> NeuronMap:
    """One head of one layer opened up. Raises BertlabError for a layer or head that is not there."""
    for name, index, count in (("layer", layer, model.config.num_layers), ("head", head, model.config.num_heads)):
        if not 0 <= index < count:
            raise BertlabError(f"there is no {name} {index}: they go from 0 to {count - 1}")
    trace = Trace.of("query", "key", "scores", "probs")
    model(alone(encoding, device_of(model)), trace=trace)
    arrays = [trace[kind][layer][0, head].float().cpu().numpy() for kind in trace.records]
    return NeuronMap(token_rows(encoding), layer, head, *arrays)


def input_map(model: Bert, encoding: Encoding) -> InputMap:
    """The three embeddings of every token, and their normalised sum."""
    trace, batch = Trace.of("embeddings"), alone(encoding, device_of(model))
    model.embeddings(batch.input_ids_BT, batch.token_type_ids_BT, trace)
    return InputMap(token_rows(encoding), *(tensor_1TH[0].float().cpu().numpy() for tensor_1TH in trace["embeddings"]))

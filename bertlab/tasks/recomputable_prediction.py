"""A prediction that can be recomputed from changed hidden states, to measure the effect of interventions.

Shape legend: B batch, P positions, H hidden, C candidates.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from bertlab.nn.bert import Bert
from bertlab.text.tokenizers.wordpiece import Encoding


@dataclass(frozen=True)
class RecomputablePrediction:
    """A prediction for one input: logits of candidates, computed from hidden states of the last layer."""

    kind: str
    """The name of the task type."""
    encoding: Encoding
    positions: tuple[int, ...]
    """The positions of the tokens whose hidden states are used."""
    compute_logits: Callable[[torch.Tensor], torch.Tensor]
    """Hidden states at these positions [B, P, H] -> logits of the candidates [B, C]."""
    find_text: Callable[[int], str]
    """Index of a candidate -> its text."""


def make_pooled_prediction(
    model: Bert, kind: str, encoding: Encoding, head: str, labels: tuple[str, ...]
) -> RecomputablePrediction:
    """Make a recomputable prediction of an output layer that reads the pooler's output; `labels` name its outputs."""
    layer = model.head(head)
    if model.config.pooling == "mean":
        return RecomputablePrediction(
            kind,
            encoding,
            tuple(range(len(encoding))),
            lambda hidden_BTH: layer(model.pooler(hidden_BTH.mean(1, keepdim=True))),
            labels.__getitem__,
        )
    # the position that `Bert.pool` reads: with causal attention the last one, otherwise [CLS]
    position = len(encoding) - 1 if model.config.left_to_right else 0
    return RecomputablePrediction(
        kind, encoding, (position,), lambda hidden_B1H: layer(model.pooler(hidden_B1H)), labels.__getitem__
    )

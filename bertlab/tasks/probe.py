"""A prediction as logits of candidates, which can be recomputed from the hidden states that interventions changed.

Shape legend: B batch, P positions, H hidden, C candidates.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from bertlab.nn.bert import Bert
from bertlab.text.tokenizers.wordpiece import Encoding


@dataclass(frozen=True)
class Probe:
    """A prediction that is computed from the last hidden states of one input."""

    kind: str
    """The task type."""
    encoding: Encoding
    """The input."""
    positions: tuple[int, ...]
    """The positions of the tokens whose last hidden states are used."""
    logits: Callable[[torch.Tensor], torch.Tensor]
    """Hidden states at these positions [B, P, H] -> logits of the candidates [B, C]."""
    label: Callable[[int], str]
    """Index of a candidate -> its text."""


def make_pooled_probe(model: Bert, kind: str, encoding: Encoding, head: Callable, labels: tuple[str, ...]) -> Probe:
    """Make a probe of an output layer on the pooled hidden state.

    Args:
        head: pooled hidden states [B, H] -> logits [B, C].
        labels: the names of the candidates.
    """
    # the position that `Bert.pool` reads
    position = len(encoding) - 1 if model.config.left_to_right else 0
    return Probe(kind, encoding, (position,), lambda hidden_B1H: head(model.pooler(hidden_B1H)), labels.__getitem__)

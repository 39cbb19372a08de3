"""One prediction of a model as a choice among candidates, to watch while something inside the model is changed.

Shape legend: B batch, P positions read, H hidden, C candidates.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from bertlab.nn.bert import Bert
from bertlab.text.tokenizers.wordpiece import Encoding


@dataclass(frozen=True)
class Probe:
    """A prediction that is read from the last hidden states of one input."""

    kind: str
    """The task type."""
    encoding: Encoding
    """The input."""
    positions: tuple[int, ...]
    """The tokens whose last hidden states are read."""
    logits: Callable[[torch.Tensor], torch.Tensor]
    """Their hidden states [B, P, H] -> logits [B, C] of the candidates."""
    label: Callable[[int], str]
    """The text of candidate c."""


def pooled_probe(model: Bert, kind: str, encoding: Encoding, head: Callable, labels: tuple[str, ...]) -> Probe:
    """A probe of an output layer that reads the pooled hidden state of the whole input.

    Args:
        head: pooled hidden states [B, H] -> logits [B, C].
        labels: the names of the candidates.
    """
    position = len(encoding) - 1 if model.config.left_to_right else 0
    return Probe(kind, encoding, (position,), lambda hidden_B1H: head(model.pooler(hidden_B1H)), labels.__getitem__)

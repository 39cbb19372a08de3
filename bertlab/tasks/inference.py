"""Small parts that predictions of every task type share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from bertlab.config.errors import BertlabError


def device_of(model: nn.Module) -> torch.device:
    """The device of a model's weights."""
    return next(model.parameters()).device


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards the model is in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def softmax(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Scores to probabilities, float64, for scores of any size.

    >>> softmax([1000.0, 1000.0]).tolist()
    [0.5, 0.5]
    """
    powers = np.exp(np.asarray(scores, np.float64) - np.max(scores))
    return powers / powers.sum()


def require_positive(**numbers: int) -> None:
    """Raise BertlabError for a number below 1."""
    for name, number in numbers.items():
        if number < 1:
            raise BertlabError("number-below-one", name=name, value=number)

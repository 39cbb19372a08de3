"""Functions that all task types use for predictions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from bertlab.config.errors import BertlabError
from bertlab.nn.bert import Bert, BertInput


def find_device(model: nn.Module) -> torch.device:
    """Return the device that a model's weights are on."""
    # a model in an ONNX file has no parameters, and runs on the CPU
    return next(model.parameters(), torch.empty(0)).device


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode and disable gradients; restore the previous mode afterwards."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def compute_head_output(
    model: Bert, head: str, batch: BertInput, positions_R: torch.Tensor | None = None
) -> torch.Tensor:
    """Compute the logits of an output layer. If `head` is "", return the hidden states of the last layer, hidden_BTH.

    Args:
        model: the model.
        head: the output layer, a key of `nn.heads.HEADS`; "" for the hidden states.
        batch: the inputs.
        positions_R: the positions at which the output layer is computed; see `TaskHeads.logits`, also for the shapes.
    """
    return model.logits(head, batch, positions_R) if head else model(batch).hidden_BTH


def softmax(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Compute the softmax of scores in float64; large scores do not overflow.

    >>> softmax([1000.0, 1000.0]).tolist()
    [0.5, 0.5]
    """
    exponentials = np.exp(np.asarray(scores, np.float64) - np.max(scores))
    return exponentials / exponentials.sum()


def require_positive(**numbers: int) -> None:
    """Raise BertlabError if any number is below 1; the keywords are the names of the numbers in the message."""
    for name, number in numbers.items():
        if number < 1:
            raise BertlabError("number-below-one", name=name, value=number)

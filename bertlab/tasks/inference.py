"""Functions that all task types use for predictions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from bertlab.config.errors import BertlabError
from bertlab.nn.bert import Bert, BertInput
from bertlab.text.batches import score


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


def run_batches(task_type, model: Bert, features, batch_size: int, progress: Callable) -> list:
    """Compute the scores of all inputs in batches, and decode them; `progress` wraps the batches, as `tqdm` does."""
    device = find_device(model)
    with inference(model):
        scores_I = score(
            features,
            lambda batch: task_type.compute(model, task_type.head, batch.to(device)),
            features.pad_id,
            batch_size,
            progress,
        )
    return task_type.decode(features, scores_I)


def compute_head_output(
    model: Bert, head: str, batch: BertInput, positions_R: torch.Tensor | None = None
) -> torch.Tensor:
    """Compute the logits of an output layer (see `TaskHeads.logits`); for "", return hidden_BTH of the last layer."""
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

"""The activations of feed-forward and output layers."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F

from bertlab.config.config import ACTIVATIONS


def make_activation(name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the activation function that config.json calls `name`: a key of `ACTIVATIONS`, or "relu"."""
    return F.relu if name == "relu" else partial(F.gelu, approximate=ACTIVATIONS[name])

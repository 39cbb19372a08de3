"""Average two models that were trained from the same initial weights (Wortsman et al. 2022, arXiv 2203.05482)."""

import copy

import torch

from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert

MIN_SIMILARITY = 0.5  # models with a smaller cosine similarity probably had different initial weights
TRAINING_FIELDS = {"hidden_dropout", "attention_dropout", "initializer_range"}  # do not affect predictions


@torch.no_grad()
def measure_weight_similarity(model: Bert, other: Bert) -> float:
    """Return the cosine similarity of two models over all weight matrices that both of them have.

    In our runs, it is 0.7 or more for the same initial weights, and at most 0.2 for different ones: the same neuron
    then computes different features, which an average mixes.
    """
    other_matrices, products = dict(other.named_parameters()), torch.zeros(3, dtype=torch.float64)
    for name, matrix in model.named_parameters():
        if matrix.ndim == 2 and name in other_matrices and other_matrices[name].shape == matrix.shape:
            a, b = matrix.flatten().double(), other_matrices[name].flatten().double()
            products += torch.stack((a @ b, a @ a, b @ b))
    dot, a_squared, b_squared = products
    return float(dot / (a_squared * b_squared).sqrt())


@torch.no_grad()
def average(model: Bert, other: Bert, share: float = 0.5) -> Bert:
    """Return a copy of `model` whose weights are (1 - share) x its own weights + share x those of `other`.

    Raises CheckpointError if the sizes, labels or output layers differ; `TRAINING_FIELDS` may.
    """
    fields, other_fields = vars(model.config), vars(other.config)
    differing = [name for name in fields if name not in TRAINING_FIELDS and fields[name] != other_fields[name]]
    if differing:
        raise CheckpointError("average-architectures-differ", fields=differing)
    if set(model.head_names) != set(other.head_names):
        raise CheckpointError(
            "average-heads-differ", heads=list(model.head_names) or "-", other_heads=list(other.head_names) or "-"
        )
    average_model, other_weights = copy.deepcopy(model), other.state_dict()
    for name, tensor in average_model.state_dict().items():
        tensor.lerp_(other_weights[name].to(tensor), share)
    return average_model

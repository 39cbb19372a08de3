"""Average the weights of two models that were trained from the same initial weights.

The average of models that were fine-tuned from the same weights often has a lower loss than each model (Wortsman et
al. 2022, arXiv 2203.05482, sections 3 and 4).
"""

import copy

import torch

from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert

# If the cosine similarity of two models is smaller than this, they probably had different initial weights, and their
# average is unlikely to work.
MIN_SIMILARITY = 0.5
# Fields of the configuration that may differ, because they do not affect predictions.
TRAINING_FIELDS = {"hidden_dropout", "attention_dropout", "initializer_range"}


@torch.no_grad()
def measure_weight_similarity(model: Bert, other: Bert) -> float:
    """Return the cosine similarity of two models over all weight matrices that both of them have.

    In our runs, two models that were trained from the same initial weights have a similarity of 0.7 or more, and two
    models from different random weights at most 0.2. With different random weights, the same neuron computes a
    different feature in each model, so their average mixes unrelated features.
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

    Args:
        model: a model; the copy has the same configuration.
        other: a model with the same architecture, labels and output layers; `TRAINING_FIELDS` may differ.
        share: the share of `other` in the average, more than 0 and less than 1.

    Raises:
        CheckpointError: the sizes, labels or output layers of the models differ.
    """
    fields, other_fields = vars(model.config), vars(other.config)
    if differing_fields := [
        name for name in fields if name not in TRAINING_FIELDS and fields[name] != other_fields[name]
    ]:
        raise CheckpointError("average-architectures-differ", fields=differing_fields)
    if set(model.head_names) != set(other.head_names):
        raise CheckpointError(
            "average-heads-differ", heads=list(model.head_names) or "-", other_heads=list(other.head_names) or "-"
        )
    average_model, other_weights = copy.deepcopy(model), other.state_dict()
    for name, tensor in average_model.state_dict().items():
        tensor.lerp_(other_weights[name].to(tensor), share)
    return average_model

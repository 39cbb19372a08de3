"""The average of the weights of two checkpoints that share their initialisation.

Models fine-tuned from the same weights lie in one basin of the loss, and the loss between them is often lower than at
either end (Wortsman et al. 2022, arXiv 2203.05482, sections 3 and 4).
"""

import copy

import torch

from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert

MIN_SIMILARITY = 0.5  # below this cosine two models share no initialisation, and their average is unlikely to work
TRAINING_ONLY = {"hidden_dropout", "attention_dropout", "initializer_range"}  # do not change what a model computes


@torch.no_grad()
def weight_similarity(model: Bert, other: Bert) -> float:
    """The cosine between all weight matrices of two models; matrices that only one of them has are left out.

    Runs of this library from the same weights reach 0.7 and more, runs from different random weights at most 0.2: each
    arranges its features in an order of its own, and the average of two orders means nothing.
    """
    others, products = dict(other.named_parameters()), torch.zeros(3, dtype=torch.float64)
    for name, matrix in model.named_parameters():
        if matrix.ndim == 2 and name in others and others[name].shape == matrix.shape:
            a, b = matrix.flatten().double(), others[name].flatten().double()
            products += torch.stack((a @ b, a @ a, b @ b))
    dot, a_squared, b_squared = products
    return float(dot / (a_squared * b_squared).sqrt())


@torch.no_grad()
def average(model: Bert, other: Bert, share: float = 0.5) -> Bert:
    """A copy of `model` in which every weight is (1 - share) of its own and `share` of the other model's.

    Args:
        model: the model that is copied, with its configuration.
        other: a model of the same architecture, labels and task heads; dropout rates may differ.
        share: the weight of `other`, more than 0 and less than 1.

    Raises:
        CheckpointError: sizes, labels or heads differ, so that weights have no counterpart.
    """
    fields, others = vars(model.config), vars(other.config)
    if differing := [name for name in fields if name not in TRAINING_ONLY and fields[name] != others[name]]:
        raise CheckpointError("average-architectures-differ", fields=differing)
    if set(model.head_names) != set(other.head_names):
        raise CheckpointError(
            "average-heads-differ", heads=list(model.head_names) or "-", other_heads=list(other.head_names) or "-"
        )
    mean, weights = copy.deepcopy(model), other.state_dict()
    for name, tensor in mean.state_dict().items():
        tensor.lerp_(weights[name].to(tensor), share)
    return mean

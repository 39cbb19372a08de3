"""Two checkpoints of one kin -> the mean of their weights.

Runs that began from the same weights lie in one valley of the loss, and between them it is often lower than at either
end (Wortsman et al. 2022, arXiv 2203.05482, sections 3 and 4). Knows weights; not what they were trained on.
"""

import copy

import torch

from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert

MIN_SIMILARITY = 0.5  # a weight_similarity below it: the two did not begin alike, and their mean is no good


@torch.no_grad()
def weight_similarity(model: Bert, other: Bert) -> float:
    """The cosine between all matrices of one and all of the other, those that only one has left out.

    Runs of this library that began from the same weights come to 0.7 and more, from different random weights to 0.2 at
    most: each puts its features into an order of its own, and the mean of two orders is none.
    """
    theirs, products = dict(other.named_parameters()), torch.zeros(3, dtype=torch.float64)
    for name, matrix in model.named_parameters():
        if matrix.ndim == 2 and name in theirs and theirs[name].shape == matrix.shape:
            one, two = matrix.flatten().double(), theirs[name].flatten().double()
            products += torch.stack((one @ two, one @ one, two @ two))
    both, ours, others = products
    return float(both / (ours * others).sqrt())


@torch.no_grad()
def average(model: Bert, other: Bert, share: float = 0.5) -> Bert:
    """A copy of `model` whose every weight is (1 - share) of its own and `share` of the other's.

    Args:
        share: of the other, more than 0 and less than 1.

    Raises:
        CheckpointError: their sizes, labels or heads differ, so that weights have no counterpart.
    """
    ours, theirs = vars(model.config), vars(other.config)
    if unlike := [name for name in ours if ours[name] != theirs[name]]:
        raise CheckpointError(f"only two of a kind have a mean: these differ in {', '.join(unlike)}")
    if set(model.head_names) != set(other.head_names):
        heads = " and ".join(", ".join(one.head_names) or "none" for one in (model, other))
        raise CheckpointError(f"only two of a kind have a mean: the heads of these are {heads}")
    mean, weights = copy.deepcopy(model), other.state_dict()
    for name, tensor in mean.state_dict().items():
        tensor.lerp_(weights[name].to(tensor), share)
    return mean

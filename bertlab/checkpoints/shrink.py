"""Make a model smaller: remove layers or feed-forward neurons, or set weights to zero. `prune` removes heads.

Shape legend: H hidden, I feed-forward neurons, L layers.
"""

import copy
from collections.abc import Sequence

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert


def require_separate_layers(config: ModelConfig) -> None:
    """Raise CheckpointError if the layers are built unlike those of BERT, or share weights."""
    if config.family.layers != "post-norm" or config.num_layer_groups:
        raise CheckpointError("shrink-unsupported", type=config.model_type)


def keep_output_layer(model: Bert, name: str) -> Bert:
    """Return a copy of a model with only one of its output layers; "" keeps none. Raises MissingHead."""
    model.require_head(name)
    others = tuple(f"heads.{other}." for other in model.head_names if other != name)
    state = {key: tensor for key, tensor in model.state_dict().items() if not key.startswith(others)}
    return _build(model, model.config, state, (name,) if name else ())


def keep_first_layers(model: Bert, count: int) -> Bert:
    """Return a copy of a model without the layers above the first `count`. Raises CheckpointError.

    Removing the top layers costs less accuracy than other ones (Sajjad et al. 2020, arXiv 2004.03844, section 4).
    """
    config = model.config
    require_separate_layers(config)
    if count > config.num_layers:
        raise CheckpointError("shrink-too-many-layers", layers=config.num_layers, count=count)
    pruned_heads = tuple(pair for pair in config.pruned_heads if pair[0] < count)
    removed_prefixes = tuple(f"encoder.layers.{layer}." for layer in range(count, config.num_layers))
    state = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(removed_prefixes)}
    return _build(model, config.replace(num_layers=count, pruned_heads=pruned_heads), state, model.head_names)


def keep_neurons(model: Bert, neurons_LI: Sequence[torch.Tensor]) -> Bert:
    """Return a copy of a model with these neurons, the same number in every layer. Raises CheckpointError."""
    require_separate_layers(model.config)
    state = model.state_dict()
    for layer, neurons_I in enumerate(neurons_LI):
        prefix = f"encoder.layers.{layer}.feed_forward"
        state[f"{prefix}.up.weight"] = state[f"{prefix}.up.weight"][neurons_I]
        state[f"{prefix}.up.bias"] = state[f"{prefix}.up.bias"][neurons_I]
        state[f"{prefix}.down.weight"] = state[f"{prefix}.down.weight"][:, neurons_I]
    return _build(model, model.config.replace(intermediate_size=len(neurons_LI[0])), state, model.head_names)


@torch.no_grad()
def zero_small_weights(model: Bert, share: float) -> tuple[Bert, dict[str, torch.Tensor]]:
    """Return a copy in which a `share` of every matrix in the layers is zero, the smallest weights, and {matrix: mask}.

    A mask is 0 where the weight was set to zero, otherwise 1. Source: Han et al. 2015 (arXiv 1506.02626), section 3;
    Gordon et al. 2020 (arXiv 2002.08307) for BERT.
    """
    new_model, masks = copy.deepcopy(model), {}
    for name, weight in new_model.named_parameters():
        if weight.ndim != 2 or not name.startswith("encoder.layers."):
            continue
        zero_count = round(share * weight.numel())
        mask = torch.ones_like(weight)
        if zero_count:
            mask.view(-1)[weight.abs().view(-1).topk(zero_count, largest=False).indices] = 0
        weight.mul_(mask)
        masks[name] = mask
    return new_model, masks


@torch.no_grad()
def _build(model: Bert, config: ModelConfig, state: dict[str, torch.Tensor], heads: Sequence[str]) -> Bert:
    """Build a model from copies of these tensors, on the device and in the mode of `model`."""
    with torch.device("meta"):
        new_model = FastBert(config, heads)
    new_model.load_state_dict({name: tensor.clone() for name, tensor in state.items()}, assign=True)
    new_model.requires_grad_(True)
    return new_model.to(model.embeddings.token.weight.device).train(model.training)

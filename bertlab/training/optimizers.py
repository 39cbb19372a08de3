"""Optimisers by name, the learning-rate schedule, and float32 master weights for a model that computes in bfloat16.

An optimiser is a function with a row in `OPTIMIZERS`; `register` adds one from outside the package.

Shape legend: H hidden size.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import tyro
from torch import nn
from torch.optim.swa_utils import AveragedModel

from bertlab.config.errors import BertlabError
from bertlab.training.devices import explain_out_of_memory, is_bfloat16_faster
from bertlab.training.muon import Muon

# The values of --precision; see `resolve_precision`.
Precision = Literal["auto", "float32", "bfloat16"]

# Without bias correction, AdamW counts its steps from this number: the bias corrections, 1 - beta^step, are then 1, and
# float32 can still represent the step numbers that follow.
UNCORRECTED_STEP = 8_000_000.0


@dataclass(frozen=True)
class OptimConfig:
    """The optimiser and its learning-rate schedule. Defaults suit small runs; the paper's are in `google`.

    The learning rate rises linearly, stays constant, then falls linearly to zero. `warmup` and `decay` are shares of
    the run, whose length is given in steps or in minutes. At the start of the run, for the share `low_share` of it, the
    learning rate does not exceed `low_lr`.
    """

    lr: float = 1e-3
    """Peak learning rate."""
    warmup: float = 0.05
    """Share of the run in which the learning rate rises."""
    decay: float = 1.0
    """Share of the run, at its end, in which the learning rate falls. With 1, as in the paper, it falls from the end
    of the warm-up to the end of the run."""
    low_share: float = 0.0
    """Share of the run, at its start, in which the learning rate does not exceed --optim.low-lr. After that, it rises
    to its peak."""
    low_lr: float = 3e-4
    """Maximum learning rate in the share of the run that --optim.low-share sets."""
    beta1: float = 0.9
    """Adam's decay rate for the mean of the gradients."""
    beta2: float = 0.98
    """Adam's decay rate for the mean of the squared gradients."""
    eps: float = 1e-6
    """Adam's epsilon."""
    weight_decay: float = 0.01
    """Weight decay of matrices; biases and LayerNorm have none."""
    max_grad_norm: float = 1.0
    """Maximum gradient norm; larger gradients are scaled down to it."""
    name: Annotated[str, tyro.conf.arg(metavar="NAME")] = "adamw"
    """The optimiser: adamw, or muon, which updates the matrices inside the layers with orthogonalised momentum and all
    other weights with AdamW. Muon learns more from each token, but each step takes longer, especially with small
    batches."""
    bias_correction: bool = True
    """Use AdamW's bias correction. In Google's BERT code, which has none, the first updates are larger."""
    ema: Annotated[float, tyro.conf.arg(prefix_name=False, metavar="NUMBER")] = 0.0
    """Save an exponential moving average of the weights with this decay (such as 0.999); 0 saves the weights without
    averaging."""

    def learning_rate_at(self, progress: float) -> float:
        """Compute the learning rate where the share `progress` (0..1) of the run is done.

        >>> OptimConfig(lr=1.0, warmup=0.1, decay=1.0).learning_rate_at(0.55)
        0.5
        """
        # The learning rate, divided by its peak, is the smaller one of a rising and a falling factor, and at most 1.
        rising = progress / self.warmup if self.warmup else 1.0
        if self.low_share:
            low_factor = min(1.0, self.low_lr / self.lr)
            since_low = progress - self.low_share  # share of the run since the limit `low_lr` ended
            after_low = low_factor + (since_low / self.warmup if self.warmup else 1.0)
            rising = min(rising, low_factor) if since_low < 0 else after_low
        falling = (1 - progress) / max(1e-9, min(self.decay, 1 - self.warmup - self.low_share))
        return self.lr * max(0.0, min(1.0, rising, round(falling, 12)))


Parameters = Mapping[str, nn.Parameter]  # name -> master weight
OptimizerBuilder = Callable[[Parameters, OptimConfig, torch.dtype], list[torch.optim.Optimizer]]
"""(master weights by name, configuration, type of the arithmetic) -> torch optimisers; each weight is in exactly one.

Their state must consist of tensors and numbers, so that a run can be resumed. The schedule sets their `lr`."""


def build_adamw(parameters: Parameters, config: OptimConfig, dtype: torch.dtype) -> list[torch.optim.Optimizer]:
    """Build AdamW (Loshchilov & Hutter 2019), without weight decay for biases and LayerNorm.

    Source: `AdamWeightDecayOptimizer` of google-research/bert/optimization.py.
    """
    weights = list(parameters.values())
    groups = [
        {"params": [p for p in weights if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in weights if p.ndim < 2], "weight_decay": 0.0},
    ]
    betas = (config.beta1, config.beta2)
    adamw = torch.optim.AdamW(groups, lr=config.lr, betas=betas, eps=config.eps, fused=True)
    if not config.bias_correction:
        for p in weights:
            step = torch.tensor(UNCORRECTED_STEP, device=p.device)
            adamw.state[p] = {"step": step, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    return [adamw]


def build_muon(parameters: Parameters, config: OptimConfig, dtype: torch.dtype) -> list[torch.optim.Optimizer]:
    """Build Muon for the matrices inside the layers, and AdamW for all other weights."""
    hidden_matrices = {name: p for name, p in parameters.items() if is_hidden_matrix(name, p)}
    adamw = build_adamw({name: p for name, p in parameters.items() if name not in hidden_matrices}, config, dtype)
    if not hidden_matrices:
        return adamw
    # The projections of query, key and value, [H, H] each, are stored as one matrix [3H, H].
    parts = {p: 3 for name, p in hidden_matrices.items() if name.endswith(".qkv.weight")}
    return [*adamw, Muon(hidden_matrices.values(), weight_decay=config.weight_decay, dtype=dtype, parts=parts)]


OPTIMIZERS: dict[str, OptimizerBuilder] = {
    "adamw": build_adamw,
    "muon": build_muon,
}
"""Every optimiser by the name that `--optim.name` takes."""


def register(name: str, build: OptimizerBuilder) -> None:
    """Add an optimiser, so that `--optim.name NAME` and `OptimConfig(name=NAME)` select it.

    >>> register("sgd", lambda parameters, config, dtype: [torch.optim.SGD(parameters.values(), lr=config.lr)])
    >>> find_optimizer("sgd") is OPTIMIZERS.pop("sgd")
    True
    """
    OPTIMIZERS[name] = build


def find_optimizer(name: str) -> OptimizerBuilder:
    """Find the builder of an optimiser."""
    if name not in OPTIMIZERS:
        raise BertlabError("optimizer-unknown", name=name, names=list(OPTIMIZERS))
    return OPTIMIZERS[name]


def resolve_precision(precision: Precision, device: torch.device) -> torch.dtype:
    """Choose the type to compute in; `auto` is bfloat16 if it is clearly faster than float32 on this device."""
    if precision == "auto":
        return torch.bfloat16 if is_bfloat16_faster(device) else torch.float32
    return getattr(torch, precision)


class Optimizer:
    """The float32 master weights with their optimisers, and the model that runs the forward and backward pass.

    `working_model` computes: `model` itself if `dtype` is float32, otherwise a copy that is updated after each step.
    """

    @explain_out_of_memory()
    def __init__(
        self,
        model: nn.Module,
        config: OptimConfig,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ):
        self.config, self.dtype, self.device = config, dtype, torch.device(device)
        self.model = model.to(self.device).train()
        self.working_model = model if dtype == torch.float32 else copy.deepcopy(model).to(dtype)
        parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.names, self.master_weights = list(parameters), list(parameters.values())
        copies = dict(self.working_model.named_parameters())
        self.working_weights = [copies[name] for name in self.names]
        self.optimizers = find_optimizer(config.name)(parameters, config, dtype)
        self.average = AveragedModel(model, multi_avg_fn=_make_moving_average(config.ema)) if config.ema else None

    @property
    def final_model(self) -> nn.Module:
        """The model that the run saves: `model`, or its moving average if there is one."""
        return self.model if self.average is None else self.average.module

    @property
    def evaluation_model(self) -> nn.Module:
        """The model that is evaluated during the run: the moving average or, without one, the fast `working_model`."""
        return self.working_model if self.average is None else self.average.module

    def clip(self) -> torch.Tensor:
        """Copy the gradients of `working_model` to the master weights, and clip them."""
        if self.working_model is not self.model:
            for p, w in zip(self.master_weights, self.working_weights, strict=True):
                if w.grad is None or p.grad is None:
                    p.grad = None if w.grad is None else torch.empty_like(p)
            torch._foreach_copy_(
                [p.grad for p in self.master_weights if p.grad is not None],
                [w.grad for w in self.working_weights if w.grad is not None],
            )
        return nn.utils.clip_grad_norm_(self.master_weights, self.config.max_grad_norm)

    def step(self, learning_rate: float) -> None:
        """Update the master weights with the gradients that `clip` copied, then clear the gradients."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate
            optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        if self.working_model is not self.model:
            torch._foreach_copy_([w.data for w in self.working_weights], [p.data for p in self.master_weights])
        for w in self.working_weights:
            w.grad = None

    def state(self) -> dict[str, torch.Tensor]:
        """Collect weights, optimiser state and moving average by name, for a safetensors file."""
        tensors = {f"weight.{name}": p.data for name, p in zip(self.names, self.master_weights, strict=True)}
        for optimizer in self.optimizers:
            for name, p in zip(self.names, self.master_weights, strict=True):
                for key, value in optimizer.state.get(p, {}).items():
                    tensors[f"{key}.{name}"] = value if isinstance(value, torch.Tensor) else torch.tensor(value)
        if self.average is not None:
            tensors |= {f"average.{name}": p.data for name, p in self.final_model.named_parameters()}
            tensors["averaged"] = self.average.n_averaged
        return tensors

    def restore(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Restore the tensors that `state` returned.

        Raises:
            KeyError, RuntimeError: the tensors belong to a different model.
        """
        # Name of a weight -> "weight", "average" or a key of the optimiser's state -> tensor.
        saved_tensors: dict[str, dict[str, torch.Tensor]] = {name: {} for name in self.names}
        for key, tensor in tensors.items():
            kind, _, name = key.partition(".")
            if name in saved_tensors:
                saved_tensors[name][kind] = tensor
        for name, p in zip(self.names, self.master_weights, strict=True):
            p.data.copy_(saved_tensors[name].pop("weight"))
        optimizer_states = {
            p: {key: tensor for key, tensor in saved_tensors[name].items() if key != "average"}
            for name, p in zip(self.names, self.master_weights, strict=True)
        }
        for optimizer in self.optimizers:
            weights = [p for group in optimizer.param_groups for p in group["params"]]
            state = {index: optimizer_states[p] for index, p in enumerate(weights) if optimizer_states[p]}
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        if self.average is not None:
            for name, p in self.final_model.named_parameters():
                p.data.copy_(tensors[f"average.{name}"])
            self.average.n_averaged.copy_(tensors["averaged"])
        torch._foreach_copy_([w.data for w in self.working_weights], [p.data for p in self.master_weights])


def is_hidden_matrix(name: str, parameter: torch.Tensor) -> bool:
    """Whether a parameter is a matrix inside the encoder's layers; Muon is meant only for these (Jordan 2024).

    >>> is_hidden_matrix("generator.encoder.layers.0.attention.qkv.weight", torch.empty(6, 2))
    True
    >>> is_hidden_matrix("embeddings.token.weight", torch.empty(6, 2))
    False
    """
    return ".encoder.layers." in f".{name}" and parameter.ndim == 2


def _make_moving_average(decay: float):
    """Make the update function of an exponential moving average.

    It decays faster in the first steps, as with `num_updates` of TensorFlow's ExponentialMovingAverage, so that the
    average soon forgets the random initial weights.
    """

    @torch.no_grad()
    def update(averages: list[torch.Tensor], weights: list[torch.Tensor], count: torch.Tensor) -> None:
        steps = int(count)
        torch._foreach_lerp_(averages, weights, 1 - min(decay, (1 + steps) / (10 + steps)))

    return update

"""AdamW or Muon over a model that may compute in a smaller type than it learns in, and the rate at each moment.

The optimiser's own weights are float32; a bfloat16 copy does the work, and a running average may be kept of them. Knows
no data and no loss.

Shape legend: H hidden.
"""

import copy
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import tyro
from torch import nn
from torch.optim.swa_utils import AveragedModel

from bertlab.training.devices import is_bfloat16_faster
from bertlab.training.muon import Muon


@dataclass(frozen=True)
class OptimConfig:
    """AdamW as in the paper (Devlin et al. 2019, appendix A.2), except where a smaller run wants otherwise.

    The rate rises linearly, stays, then falls linearly to zero; shares are of the run, be it counted in steps or in
    minutes.
    """

    lr: float = 1e-3
    """The highest learning rate."""
    warmup: float = 0.05
    """Share of the run in which the rate rises."""
    decay: float = 1.0
    """Share of the run in which it falls; 1 begins to fall right after the warm-up, as in the paper."""
    beta1: float = 0.9
    """Of the mean of gradients."""
    beta2: float = 0.98
    """Of the mean of their squares."""
    eps: float = 1e-6
    """Added to the root of that mean, which divides."""
    weight_decay: float = 0.01
    """Of matrices; biases and LayerNorm have none."""
    clip: float = 1.0
    """The longest gradient."""
    method: Literal["adamw", "muon"] = "adamw"
    """muon: every matrix inside the layers moves by the orthogonal part of its momentum, all else by AdamW. It learns
    more from a token and takes longer for a step, which tells where batches are small."""
    bias_correction: bool = True
    """Correct AdamW's means for beginning at zero; Google's code does not (`AdamWeightDecayOptimizer` in
    optimization.py), and its first steps are longer."""
    ema: Annotated[float, tyro.conf.arg(prefix_name=False, metavar="NUMBER")] = 0.0
    """Save a running average of the weights that forgets with this factor a step (0.999, say); 0 keeps none."""

    def learning_rate_at(self, progress: float) -> float:
        """The learning rate at `progress` in 0..1 of the run.

        >>> OptimConfig(lr=1.0, warmup=0.1, decay=1.0).learning_rate_at(0.55)
        0.5
        """
        rise = progress / self.warmup if self.warmup else 1.0
        fall = (1 - progress) / max(1e-9, min(self.decay, 1 - self.warmup))
        return self.lr * max(0.0, min(1.0, rise, round(fall, 12)))


Precision = Literal["auto", "float32", "bfloat16"]


def resolve_precision(precision: Precision, device: torch.device) -> torch.dtype:
    """`auto` is bfloat16 where this machine multiplies it clearly faster, as `devices.is_bfloat16_faster` finds."""
    if precision == "auto":
        return torch.bfloat16 if is_bfloat16_faster(device) else torch.float32
    return getattr(torch, precision)


# Counted from here Adam's corrections, 1 - beta^step, are 1; and single steps still count up in a float32.
UNCORRECTED = 8_000_000.0


class Optimizer:
    """float32 master weights, their moments, and the working copy that computes.

    `worker` is what forward and backward run on: the model itself in float32, else a copy of it in `dtype`. `result` is
    what the run is for: the model, or the average of it.
    """

    def __init__(self, model: nn.Module, config: OptimConfig, dtype: torch.dtype):
        self.config = config
        self.model = model
        self.compute_model = model if dtype == torch.float32 else copy.deepcopy(model).to(dtype)
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self.names = [name for name, _ in named]
        self.master = [p for _, p in named]
        working = dict(self.compute_model.named_parameters())
        self.working = [working[name] for name in self.names]
        self.parts = {name: _parts(name, p) for name, p in named if config.method == "muon" and is_hidden(name, p)}
        rest = [p for name, p in named if name not in self.parts]
        groups = [
            {"params": [p for p in rest if p.ndim >= 2], "weight_decay": config.weight_decay},
            # biases and LayerNorm are not decayed (optimization.py of google-research/bert)
            {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
        ]
        betas = (config.beta1, config.beta2)
        self.adamw = torch.optim.AdamW(groups, lr=config.lr, betas=betas, eps=config.eps, fused=True)
        if not config.bias_correction:
            for p in rest:
                step = torch.tensor(UNCORRECTED, device=p.device)
                self.adamw.state[p] = {"step": step, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        self.muon = None
        if self.parts:
            parts = [part for parts in self.parts.values() for part in parts]
            self.muon = Muon(parts, weight_decay=config.weight_decay, dtype=dtype)
        self.average = AveragedModel(model, multi_avg_fn=_forgetting(config.ema)) if config.ema else None

    @property
    def final_model(self) -> nn.Module:
        return self.model if self.average is None else self.average.module

    @property
    def evaluation_model(self) -> nn.Module:
        """What to measure on the way: the working copy, as it is faster, or the average."""
        return self.compute_model if self.average is None else self.average.module

    def clip(self) -> torch.Tensor:
        """Take over the gradients of `worker`, no longer than allowed -> their norm before that, a scalar."""
        if self.compute_model is not self.model:
            for p, w in zip(self.master, self.working, strict=True):
                if w.grad is None or p.grad is None:
                    p.grad = None if w.grad is None else torch.empty_like(p)
            learnt = [(p.grad, w.grad) for p, w in zip(self.master, self.working, strict=True) if p.grad is not None]
            torch._foreach_copy_([own for own, _ in learnt], [found for _, found in learnt])
        return nn.utils.clip_grad_norm_(self.master, self.config.clip)

    def step(self, rate: float) -> None:
        """One update at `rate` from the gradients that `clip` took over; the worker's are then cleared."""
        for optimizer in (self.adamw, self.muon) if self.muon else (self.adamw,):
            for group in optimizer.param_groups:
                group["lr"] = rate
        self.adamw.step()
        if self.muon:
            self._step_muon()
        if self.average is not None:
            self.average.update_parameters(self.model)
        if self.compute_model is not self.model:
            torch._foreach_copy_([w.data for w in self.working], [p.data for p in self.master])
        for w in self.working:
            w.grad = None

    def _step_muon(self) -> None:
        for name, p in zip(self.names, self.master, strict=True):
            parts = self.parts.get(name, ())
            for nth, part in enumerate(parts):
                part.grad = None if p.grad is None else p.grad.chunk(len(parts))[nth]
        self.muon.step()
        for parts in self.parts.values():
            for part in parts:
                part.grad = None

    def state(self) -> dict[str, torch.Tensor]:
        """Weights, moments and averages by name, ready for a safetensors file."""
        tensors = {}
        for name, p in zip(self.names, self.master, strict=True):
            tensors[f"weight.{name}"] = p.data
            for key, value in self.adamw.state.get(p, {}).items():
                tensors[f"{key}.{name}"] = value
            moments = [self.muon.state[part] for part in self.parts.get(name, ()) if part in self.muon.state]
            if moments:
                tensors[f"momentum.{name}"] = torch.cat([moment["momentum_buffer"] for moment in moments])
        if self.average is not None:
            tensors |= {f"average.{name}": p.data for name, p in self.final_model.named_parameters()}
            tensors["averaged"] = self.average.n_averaged
        return tensors

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:
        """Take up what `state` gave."""
        for name, p in zip(self.names, self.master, strict=True):
            p.data.copy_(tensors[f"weight.{name}"])
            if f"step.{name}" in tensors:
                keys = ("step", "exp_avg", "exp_avg_sq")
                self.adamw.state[p] = {key: tensors[f"{key}.{name}"].to(p.device).clone() for key in keys}
            if f"momentum.{name}" in tensors:
                moments = tensors[f"momentum.{name}"].to(p.device).chunk(len(self.parts[name]))
                for part, moment in zip(self.parts[name], moments, strict=True):
                    self.muon.state[part] = {"momentum_buffer": moment.clone()}
        if self.average is not None:
            for name, p in self.final_model.named_parameters():
                p.data.copy_(tensors[f"average.{name}"])
            self.average.n_averaged.copy_(tensors["averaged"])
        torch._foreach_copy_([w.data for w in self.working], [p.data for p in self.master])


def is_hidden(name: str, parameter: torch.Tensor) -> bool:
    """Whether this is a matrix inside the encoder's layers, what Muon is for (Jordan 2024).

    >>> is_hidden("encoder.layers.0.attention.qkv.weight", torch.empty(6, 2))
    True
    >>> is_hidden("embeddings.token.weight", torch.empty(6, 2))
    False
    """
    return name.startswith("encoder.layers.") and parameter.ndim == 2


def _parts(name: str, parameter: nn.Parameter) -> tuple[nn.Parameter, ...]:
    """The matrices a parameter is made of, sharing its memory: query, key and value, each [H, H], are kept as one."""
    count = 3 if name.endswith(".qkv.weight") else 1
    return tuple(nn.Parameter(part) for part in parameter.data.chunk(count))


def _forgetting(decay: float):
    """A running average; while few steps are in it, it forgets faster, so that it does not remember random weights
    (`num_updates` of TensorFlow's ExponentialMovingAverage)."""

    @torch.no_grad()
    def update(averages: list[torch.Tensor], weights: list[torch.Tensor], count: torch.Tensor) -> None:
        steps = int(count)
        torch._foreach_lerp_(averages, weights, 1 - min(decay, (1 + steps) / (10 + steps)))

    return update

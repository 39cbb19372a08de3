"""AdamW over a model that may compute in a smaller type than it learns in, and the rate at each moment.

The optimiser's own weights are float32; a bfloat16 copy does the work. Knows no data and no loss.
"""

import copy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from bertlab.learn.devices import bfloat16_pays


@dataclass(frozen=True)
class OptimConfig:
    """AdamW as in the paper (Devlin et al. 2019, appendix A.2), except where a smaller run wants otherwise.

    warmup and decay: shares of the run; the rate rises linearly, stays, then falls linearly to zero. decay=1 begins to
    fall right after the warm-up, as in the paper.
    """

    lr: float = 1e-3
    warmup: float = 0.05
    decay: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.98
    eps: float = 1e-6
    weight_decay: float = 0.01
    clip: float = 1.0

    def rate(self, progress: float) -> float:
        """The learning rate at `progress` in 0..1 of the run.

        >>> OptimConfig(lr=1.0, warmup=0.1, decay=1.0).rate(0.55)
        0.5
        """
        rise = progress / self.warmup if self.warmup else 1.0
        fall = (1 - progress) / max(1e-9, min(self.decay, 1 - self.warmup))
        return self.lr * max(0.0, min(1.0, rise, round(fall, 12)))


Precision = Literal["auto", "float32", "bfloat16"]


def resolve_precision(precision: Precision, device: torch.device) -> torch.dtype:
    """`auto` is bfloat16 where this machine multiplies it clearly faster, as `devices.bfloat16_pays` finds."""
    if precision == "auto":
        return torch.bfloat16 if bfloat16_pays(device) else torch.float32
    return getattr(torch, precision)


class Optimizer:
    """float32 master weights, their AdamW moments, and the working copy that computes.

    `worker` is what forward and backward run on: the model itself in float32, else a copy of it in `dtype`.
    """

    def __init__(self, model: nn.Module, config: OptimConfig, dtype: torch.dtype):
        self.config = config
        self.model = model
        self.worker = model if dtype == torch.float32 else copy.deepcopy(model).to(dtype)
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self.names = [name for name, _ in named]
        self.master = [p for _, p in named]
        working = dict(self.worker.named_parameters())
        self.working = [working[name] for name in self.names]
        groups = [
            {"params": [p for p in self.master if p.ndim >= 2], "weight_decay": config.weight_decay},
            # biases and LayerNorm are not decayed (optimization.py of google-research/bert)
            {"params": [p for p in self.master if p.ndim < 2], "weight_decay": 0.0},
        ]
        betas = (config.beta1, config.beta2)
        self.adamw = torch.optim.AdamW(groups, lr=config.lr, betas=betas, eps=config.eps, fused=True)

    def step(self, rate: float) -> float:
        """One update at `rate` from the gradients of `worker`, which are then cleared; the norm before clipping."""
        if self.worker is not self.model:
            for p, w in zip(self.master, self.working, strict=True):
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                p.grad.copy_(w.grad) if w.grad is not None else p.grad.zero_()
        norm = float(nn.utils.clip_grad_norm_(self.master, self.config.clip))
        for group in self.adamw.param_groups:
            group["lr"] = rate
        self.adamw.step()
        if self.worker is not self.model:
            torch._foreach_copy_([w.data for w in self.working], [p.data for p in self.master])
        for w in self.working:
            w.grad = None
        return norm

    def state(self) -> dict[str, torch.Tensor]:
        """Weights and moments by name, ready for a safetensors file."""
        tensors = {}
        for name, p in zip(self.names, self.master, strict=True):
            tensors[f"weight.{name}"] = p.data
            for key, value in self.adamw.state.get(p, {}).items():
                tensors[f"{key}.{name}"] = value
        return tensors

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:
        """Take up what `state` gave."""
        for name, p in zip(self.names, self.master, strict=True):
            p.data.copy_(tensors[f"weight.{name}"])
            if f"step.{name}" in tensors:
                self.adamw.state[p] = {
                    key: tensors[f"{key}.{name}"].to("cpu" if key == "step" else p.device).clone()
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
        torch._foreach_copy_([w.data for w in self.working], [p.data for p in self.master])

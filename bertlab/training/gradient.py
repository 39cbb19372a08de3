"""The gradient of a global batch, of which this process has its share and takes that in parts.

A loss is a sum of means, each over its own kind of item (masked words, rows). Means of means would weigh parts with few
items too much, so the items of the whole batch are counted first, over every part and process; then any split of a
batch gives the loss and the gradient of the batch in one piece. Knows neither model nor data.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from bertlab.training import distributed

ROWS = "rows"


@dataclass(frozen=True)
class Loss:
    """What a loss function gives: a scalar to minimise, named figures to report, and the real tokens it read.

    parts: means whose sum is `value`, by the names under which the loss function's `counts(batch)` counts their items;
    a figure called NAME_x is a mean over the same items as the part NAME. All else are means over rows, so a loss that
    is nothing but a mean over rows needs neither.
    """

    value: torch.Tensor
    metrics: dict[str, torch.Tensor]
    tokens: torch.Tensor
    parts: dict[str, torch.Tensor] = field(default_factory=dict)


class GlobalGradient:
    """Called with this process's rows of a global batch, leaves the whole batch's gradient in the worker's `.grad`.

    Args:
        worker: what computes; DistributedDataParallel averages its gradients over the processes.
        loss: (worker, batch) -> Loss, with a method `counts(batch) -> {part: items}` if it has parts.
        accumulate: how many pieces to take the rows in, one after the other, which bounds the memory of a step.
    """

    def __init__(self, worker: nn.Module, loss: Callable[[nn.Module, object], Loss], accumulate: int = 1):
        self.worker, self.loss, self.accumulate = worker, loss, accumulate
        self.working = [p for p in worker.parameters() if p.requires_grad]
        self.weighted = _Weighted(worker, loss)
        self.module: nn.Module | None = None

    def __call__(self, batch) -> Loss:
        """The loss of the global batch with its figures and tokens.

        Raises:
            BertlabError: another process is gone.
        """
        if self.accumulate == 1 and distributed.world_size() == 1:
            loss = self.loss(self.worker, batch)
            loss.value.backward()
            return loss
        pieces = [batch.part(k, self.accumulate) for k in range(min(self.accumulate, len(batch)))]
        counts = [self._counts(piece) for piece in pieces]
        if not pieces:
            # a process without a row of this batch still meets the others, with weight zero
            pieces = [batch.stand_in()]
            counts = [{name: 0 * items for name, items in self._counts(pieces[0]).items()}]
        totals_N = distributed.all_reduce_sum(
            torch.stack([torch.stack(list(c.values())) for c in counts]).sum(0)
        ).clamp(min=1)
        totals = dict(zip(counts[0], totals_N, strict=True))
        weights = [{name: c[name] / totals[name] for name in totals} for c in counts]

        self.module = self.module or self._together(pieces[0], weights[0])
        told, held_W = [], []
        for piece, weight in zip(pieces[:-1], weights[:-1], strict=True):
            with self.module.no_sync() if distributed.world_size() > 1 else nullcontext():
                told.append(self._backward(piece, weight))
            held_W = self._held(held_W)
        for p, sum_ in zip(self.working, held_W, strict=False):
            p.grad = None if sum_ is None else sum_.to(p.dtype)
        told.append(self._backward(pieces[-1], weights[-1]))
        value, tokens, *figures = distributed.all_reduce_sum(torch.stack(told).sum(0)).unbind()
        return Loss(value, dict(zip(self.weighted.names, figures, strict=True)), tokens)

    def _together(self, piece, weight: dict[str, torch.Tensor]) -> nn.Module:
        """What computes, its gradients averaged over the processes."""
        if distributed.world_size() == 1:
            return self.weighted
        devices = [device] if (device := self.working[0].device).type == "cuda" else []
        with torch.random.fork_rng(devices):
            value, _ = self.weighted(piece, weight)
        # as the pooler is where no sentence is asked about; looking for it at every step costs, so look first
        unused = any(g is None for g in torch.autograd.grad(value, self.working, allow_unused=True))
        with distributed.readable_peer_failures():
            return DistributedDataParallel(self.weighted, find_unused_parameters=unused)

    def _counts(self, piece) -> dict[str, torch.Tensor]:
        found = {ROWS: len(piece), **(self.loss.counts(piece) if hasattr(self.loss, "counts") else {})}
        device = self.working[0].device
        return {name: torch.as_tensor(items, dtype=torch.float64, device=device) for name, items in found.items()}

    def _backward(self, piece, weight: dict[str, torch.Tensor]) -> torch.Tensor:
        with distributed.readable_peer_failures():
            value, told_N = self.module(piece, weight)
            # DistributedDataParallel divides by the number of processes
            (value * distributed.world_size()).backward()
        return told_N

    def _held(self, held_W: list) -> list:
        """The gradients so far, taken off the worker and summed in float32: bfloat16 would lose the small ones."""
        found = [None if p.grad is None else p.grad.float() for p in self.working]
        for p in self.working:
            p.grad = None
        if not held_W:
            return found
        return [a if b is None else b if a is None else a.add_(b) for a, b in zip(held_W, found, strict=True)]


class _Weighted(nn.Module):
    """A piece -> its share of the global batch's loss, and of its figures: [loss, tokens, figures...], float64."""

    def __init__(self, worker: nn.Module, loss: Callable[[nn.Module, object], Loss]):
        super().__init__()
        self.worker, self.loss, self.names = worker, loss, []

    def forward(self, piece, weight: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        loss = self.loss(self.worker, piece)
        parts = loss.parts or {ROWS: loss.value}
        value = sum(part * weight[name].to(part.dtype) for name, part in parts.items())
        self.names = list(loss.metrics)
        shares = [weight.get(name.split("_")[0], weight[ROWS]) for name in self.names]
        # a mean over nothing is no number, and weighs nothing
        figures = [
            torch.where(share > 0, figure.detach().double() * share, 0.0)
            for figure, share in zip(loss.metrics.values(), shares, strict=True)
        ]
        tokens = torch.where(weight[ROWS] > 0, loss.tokens, 0)
        return value, torch.stack([value.detach().double(), tokens.double(), *figures])

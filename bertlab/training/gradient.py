"""Compute the gradient of a global batch across processes and micro-batches.

A loss is a sum of means, each over its own kind of item (masked tokens, rows). The items of the global batch are
counted first, and each mean is weighted with its micro-batch's share of them, so that the result does not depend on how
the batch is split.

Shape legend: W weights, K kinds of items, N numbers in the result for a micro-batch (loss, tokens and metrics).
"""

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from bertlab.tasks.loss import Loss
from bertlab.training import distributed

# A loss that has no parts, and every metric that belongs to no part, is weighted with the micro-batch's share of the
# items of this kind.
ROWS = "rows"


class GlobalGradient:
    """Computes the gradient of a global batch, of which each process has a shard, and stores it in `.grad`.

    A loss function whose result has parts also needs a method `count_items(batch) -> {part: number of items}`. More
    micro-batches (`accumulate`) need less memory.
    """

    def __init__(self, model: nn.Module, loss: Callable[[nn.Module, object], Loss], accumulate: int = 1):
        self.model, self.loss, self.accumulate = model, loss, accumulate
        self.weights = [p for p in model.parameters() if p.requires_grad]
        self.weighted_loss = _WeightedLoss(model, loss)
        self.module: nn.Module | None = None  # the result of `_build_module`, from the first batch that is split

    def __call__(self, batch) -> Loss:
        """Compute the loss, metrics and tokens of the global batch, and all gradients; a process may have no rows."""
        if self.accumulate == 1 and distributed.world_size() == 1:
            loss = self.loss(self.model, batch)
            loss.value.backward()
            return loss
        micro_batches = [batch.shard(k, self.accumulate) for k in range(min(self.accumulate, len(batch)))]
        counts = [self._count_items(micro_batch) for micro_batch in micro_batches]
        if not micro_batches:
            # A process that has no rows must still join the collective operations, so it computes the loss of a dummy
            # row, whose share of the items is 0.
            micro_batches = [batch.dummy_row()]
            counts = [{name: 0 * items for name, items in self._count_items(micro_batches[0]).items()}]
        item_counts_K = torch.stack([torch.stack(list(c.values())) for c in counts]).sum(0)
        totals_K = distributed.all_reduce_sum(item_counts_K).clamp(min=1)
        totals = dict(zip(counts[0], totals_K, strict=True))
        shares = [{name: c[name] / totals[name] for name in totals} for c in counts]

        self.module = self.module or self._build_module(micro_batches[0], shares[0])
        results, sums_W = [], []
        for micro_batch, part_shares in zip(micro_batches[:-1], shares[:-1], strict=True):
            with self.module.no_sync() if distributed.world_size() > 1 else nullcontext():
                results.append(self._backward(micro_batch, part_shares))
            sums_W = self._accumulate_gradients(sums_W)
        # The last backward pass adds its gradients to these sums and, with several processes, averages the totals.
        for p, sum_ in zip(self.weights, sums_W, strict=False):
            p.grad = None if sum_ is None else sum_.to(p.dtype)
        results.append(self._backward(micro_batches[-1], shares[-1]))
        value, tokens, *metrics = distributed.all_reduce_sum(torch.stack(results).sum(0)).unbind()
        metrics = dict(zip(self.weighted_loss.metric_names, metrics, strict=True))
        return Loss(value, metrics, tokens, ratios=self.weighted_loss.ratios)

    def _build_module(self, micro_batch, part_shares: dict[str, torch.Tensor]) -> nn.Module:
        """Build the module that computes the weighted loss and, with several processes, averages the gradients."""
        if distributed.world_size() == 1:
            return self.weighted_loss
        devices = [device] if (device := self.weights[0].device).type == "cuda" else []
        with torch.random.fork_rng(devices):
            value, _ = self.weighted_loss(micro_batch, part_shares)
        # Some weights may have no effect on the loss, such as the pooler without a sentence-pair objective.
        # DistributedDataParallel can search for them in every step; this takes time, so the search is switched on only
        # if it is needed.
        gradients_W = torch.autograd.grad(value, self.weights, allow_unused=True)
        some_have_no_effect = any(gradient is None for gradient in gradients_W)
        with distributed.explain_lost_process():
            return DistributedDataParallel(self.weighted_loss, find_unused_parameters=some_have_no_effect)

    def _count_items(self, micro_batch) -> dict[str, torch.Tensor]:
        counts = {ROWS: len(micro_batch)}
        if hasattr(self.loss, "count_items"):
            counts |= self.loss.count_items(micro_batch)
        device = self.weights[0].device
        return {name: torch.as_tensor(items, dtype=torch.float64, device=device) for name, items in counts.items()}

    def _backward(self, micro_batch, part_shares: dict[str, torch.Tensor]) -> torch.Tensor:
        """Add the gradient of a micro-batch to `.grad` of the weights -> the N numbers of its result."""
        with distributed.explain_lost_process():
            value, results_N = self.module(micro_batch, part_shares)
            # DistributedDataParallel divides the gradients by the number of processes; this multiplication undoes it.
            (value * distributed.world_size()).backward()
        return results_N

    def _accumulate_gradients(self, sums_W: list) -> list:
        """Add the gradients to the sums in float32, in which small values are not lost, and clear them."""
        gradients_W = [None if p.grad is None else p.grad.float() for p in self.weights]
        for p in self.weights:
            p.grad = None
        if not sums_W:
            return gradients_W
        return [a if b is None else b if a is None else a.add_(b) for a, b in zip(sums_W, gradients_W, strict=True)]


class _WeightedLoss(nn.Module):
    """Computes what a micro-batch contributes: the loss to differentiate, and [loss, tokens, metrics...] as float64.

    `part_shares` is, for each part of the loss, the micro-batch's share of all items of the global batch.
    """

    def __init__(self, model: nn.Module, loss: Callable[[nn.Module, object], Loss]):
        super().__init__()
        self.model, self.loss, self.metric_names, self.ratios = model, loss, [], {}

    def forward(self, micro_batch, part_shares: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        loss = self.loss(self.model, micro_batch)
        parts = loss.parts or {ROWS: loss.value}
        value = sum(mean * part_shares[name].to(mean.dtype) for name, mean in parts.items())
        self.metric_names, self.ratios = list(loss.metrics), loss.ratios
        # The metric "mlm_loss" is weighted like the part "mlm"; a metric that belongs to no part is weighted by rows.
        metric_shares = [part_shares.get(name.split("_")[0], part_shares[ROWS]) for name in self.metric_names]
        # A mean over no items is NaN and has the share zero; the product would be NaN, so 0 is used instead.
        metrics = [
            torch.where(metric_share > 0, metric.detach().double() * metric_share, 0.0)
            for metric, metric_share in zip(loss.metrics.values(), metric_shares, strict=True)
        ]
        tokens = torch.where(part_shares[ROWS] > 0, loss.tokens, 0)
        return value, torch.stack([value.detach().double(), tokens.double(), *metrics])

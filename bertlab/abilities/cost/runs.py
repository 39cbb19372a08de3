"""Estimate the time and the price of a whole training run on several devices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bertlab.abilities.cost.estimate import Cost, estimate
from bertlab.abilities.cost.hardware import GIB, Gpu, estimate_seconds


@dataclass(frozen=True)
class Run:
    """A training run on one kind of device."""

    device: str
    """The name of the device."""
    peak_flops: float
    """Its peak in the precision of the run, in FLOP per second."""
    fits: bool
    """Whether a training step fits into its memory by our estimate."""
    step_seconds: float
    """Seconds of a training step."""
    seconds: float
    """Seconds of the run."""
    dollars: float
    """The price of the run."""


def estimate_run(
    cost: Cost,
    steps: int,
    device: str,
    *,
    peak_flops: float,
    share: float,
    price: float,
    memory_bytes: float = float("inf"),
    devices: int = 1,
) -> Run:
    """Estimate a training run.

    Args:
        cost: the cost of a step.
        steps: the number of steps.
        device: the name of the device.
        peak_flops: its peak in FLOP per second.
        share: the share of the peak that training reaches.
        price: US dollars per hour and device.
        memory_bytes: the memory of one device.
        devices: the number of devices that share each batch. The memory of the whole batch is still compared with
            `memory_bytes`.
    """
    step_seconds = estimate_seconds(cost.flop_per_step, peak_flops, share, devices)
    seconds = steps * step_seconds
    fits = cost.training_memory.total <= memory_bytes
    return Run(device, peak_flops, fits, step_seconds, seconds, price * devices * seconds / 3600)


def estimate_runs(
    cost: Cost, steps: int, gpus: Sequence[Gpu], *, share: float, price: float | None = None
) -> list[Run]:
    """Estimate a training run on each of several GPUs, by their published peaks.

    Args:
        cost: the cost of a step; it is estimated again for a GPU.
        steps: the number of steps.
        gpus: the GPUs.
        share: the share of the peak that training reaches.
        price: US dollars per hour; None for the assumed price of each GPU.
    """
    cost = estimate(replace(cost.workload, device="gpu"))
    return [
        estimate_run(
            cost, steps, gpu.name, peak_flops=gpu.peak_flops(cost.workload.precision), share=share,
            price=gpu.price if price is None else price, memory_bytes=gpu.memory_gib * GIB,
        )
        for gpu in gpus
    ]  # fmt: skip

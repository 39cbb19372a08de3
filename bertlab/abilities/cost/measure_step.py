"""Run a few training steps of a workload as a process of their own, and print their time and memory as JSON.

Time and memory are measured in a separate process, because the memory of a process that has done other work does not
show what one step needs. The memory is the growth of the resident set since a warm-up step of a small model. The
warm-up step loads every library. The memory is measured twice: first in a step in which the C library returns freed
memory to the system at once, and then in ordinary steps, in which the C library keeps some freed memory. (It takes
blocks of less than 32 MB from a heap, and the gaps in the heap stay in memory.)
"""

import ctypes
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from bertlab.abilities.cost.measure_flops import count_flop, measure_peak_flops
from bertlab.abilities.cost.workload import Workload
from bertlab.config.config import ModelConfig
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.loss import Loss, label_loss
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.batch import LabelBatch, PairBatch
from bertlab.text.batches import Position
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.random_pairs import RandomPairs, RandomTokenizer
from bertlab.training.devices import describe_hardware, release_memory
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.trainer import Trainer

# the small model of the warm-up step
WARM_UP_CONFIG = ModelConfig(vocab_size=512, hidden_size=64, num_layers=2, num_heads=1, intermediate_size=256)
PROCESS_DIRECTORY = Path("/proc/self")  # its files describe this process (Linux only)
M_MMAP_THRESHOLD = -3  # a parameter of glibc's `mallopt`, see its malloc.h
# Arguments of `_map_blocks_from`, in bytes: the first for the step that measures the memory in use, the second for
# ordinary steps. The second is the largest threshold that glibc chooses itself.
SMALL_BLOCK, LARGEST_HEAP_BLOCK = 1 << 16, 32 << 20


@dataclass(frozen=True)
class StepMeasurement:
    """The measured cost of a training step."""

    hardware: str
    """The machine."""
    parameters: int
    """The number of parameters of the model that was trained."""
    flop: int
    """The floating-point operations of matrix products in a step, counted by PyTorch."""
    memory_bytes: int
    """The peak of the memory in use during a step, without the memory of Python and the libraries."""
    resident_bytes: int
    """The peak of the resident memory: `memory_bytes` and the freed memory that the C library keeps. On a GPU, the
    memory that PyTorch reserves."""
    runtime_bytes: int
    """The memory of Python and the libraries; 0 on a GPU."""
    seconds: float
    """The median time of a step. On a CPU, it is the CPU time divided by the number of threads, which is the time on a
    machine without other work."""
    wall_seconds: float
    """The median wall-clock time of a step."""
    peak_flops: float
    """The median FLOP per second of a large matrix product. It is measured before each step, with the clock of
    `seconds`."""
    threads: int
    """The number of CPU threads."""
    steps: int
    """The number of measured steps."""


def measure_in_this_process(workload: Workload, steps: int, device: torch.device) -> StepMeasurement:
    """Measure training steps in this process, which should have done nothing else.

    Args:
        workload: the model and its batches.
        steps: the number of steps whose time is measured.
        device: the device.
    """
    dtype, threads = getattr(torch, workload.precision), torch.get_num_threads()
    clock = time.perf_counter if device.type == "cuda" else lambda: time.process_time() / threads
    # This call comes before anything is allocated: blocks that are in the heap already stay there, and new blocks would
    # fill the gaps between them.
    _map_blocks_from(SMALL_BLOCK)
    warm_up_workload = Workload(WARM_UP_CONFIG, 32, 4, workload.precision, workload.optimizer)
    _run_step(build_trainer(warm_up_workload, device), clock)
    runtime_bytes = _reset_peak_memory(device)
    trainer = build_trainer(workload, device)
    _run_step(trainer, clock)  # the first step allocates the state of the optimiser
    _reset_peak_memory(device)
    _run_step(trainer, clock)
    memory_bytes = _read_peak_memory(device) - runtime_bytes
    _map_blocks_from(LARGEST_HEAP_BLOCK)
    _run_step(trainer, clock)
    peak_flops, seconds, wall_seconds, resident_bytes = [], [], [], []
    for _ in range(steps):
        # measured before every step, because the speed of a shared machine drifts
        peak_flops.append(measure_peak_flops(device, dtype, 2, clock))
        _reset_peak_memory(device)
        step_seconds, step_wall_seconds = _run_step(trainer, clock)
        resident_bytes.append(_read_peak_memory(device) - runtime_bytes)
        seconds.append(step_seconds)
        wall_seconds.append(step_wall_seconds)
    if device.type == "cuda":
        resident_bytes.append(torch.cuda.max_memory_reserved(device))
    flop = count_flop(lambda: _run_step(trainer, clock))
    return StepMeasurement(
        hardware=describe_hardware(device),
        parameters=sum(p.numel() for p in trainer.optimizer.model.parameters()),
        flop=flop,
        memory_bytes=memory_bytes,
        resident_bytes=max(resident_bytes),
        runtime_bytes=runtime_bytes if device.type == "cpu" else 0,
        seconds=statistics.median(seconds),
        wall_seconds=statistics.median(wall_seconds),
        peak_flops=statistics.median(peak_flops),
        threads=threads,
        steps=steps,
    )


def build_trainer(workload: Workload, device: torch.device) -> Trainer:
    """Build the trainer of a workload: bertlab's own model, loss and optimiser, on random token ids."""
    torch.manual_seed(0)
    tokenizer = RandomTokenizer(workload.config.vocab_size)
    batches = RandomPairs(tokenizer, workload.batch_size, workload.tokens, Position())
    loss = PretrainingLoss(MaskRule.for_tokenizer(tokenizer).to(device))
    if workload.task == "finetuning":
        loss = compute_classification_loss
    model = FastBert(workload.config, workload.heads, recompute=workload.recompute)
    return Trainer(
        Optimizer(model, OptimConfig(lr=1e-4, name=workload.optimizer), getattr(torch, workload.precision), device),
        batches,
        loss,
        steps=1_000_000,
    )


def compute_classification_loss(model: nn.Module, batch: PairBatch) -> Loss:
    """Compute the loss of a classification of pairs into two labels."""
    return label_loss(model.classify(model.pool(batch.inputs)), LabelBatch(batch.inputs, batch.pair_labels_B))


def _run_step(trainer: Trainer, clock: Callable[[], float]) -> tuple[float, float]:
    """Run a training step, and return its time in seconds, as measured by `clock` and by the wall clock."""
    reports, start, wall_start = iter(trainer), clock(), time.perf_counter()
    next(reports)
    return clock() - start, time.perf_counter() - wall_start


def _map_blocks_from(size: int) -> None:
    """Make the C library (glibc) map new blocks of at least this many bytes separately, and take others from its heap.

    Separate blocks return to the system as soon as they are freed, so the resident set is the memory in use; but
    mapping takes time, so the steps whose time is measured use the heap.
    """
    with suppress(AttributeError, TypeError, OSError):  # other C libraries lack this function
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, size)


def _reset_peak_memory(device: torch.device) -> int:
    """Release unused memory, start a new measurement of the peak, and return the memory in use, in bytes."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    release_memory()
    with suppress(OSError):  # Linux only; elsewhere the peak since the start of the process is reported
        (PROCESS_DIRECTORY / "clear_refs").write_text("5")
    return _read_status("VmRSS") or _read_peak_memory(device)


def _read_peak_memory(device: torch.device) -> int:
    """Return the peak memory since `_reset_peak_memory`, in bytes."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if peak := _read_status("VmHWM"):
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _read_status(name: str) -> int:
    """Return a size, in bytes, from the file in which Linux shows the status of this process; 0 if there is none."""
    with suppress(OSError):
        for line in (PROCESS_DIRECTORY / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return 0


def main(settings: dict) -> None:
    """Measure the workload that the settings describe, and print the result as JSON."""
    device = torch.device(settings["device"])
    if settings["threads"]:
        torch.set_num_threads(settings["threads"])
    workload = Workload(model=ModelConfig(**settings["model"]), **settings["workload"])
    print(json.dumps(vars(measure_in_this_process(workload, settings["steps"], device))))


if __name__ == "__main__":
    main(json.loads(sys.stdin.read()))

"""Compare the estimate with real training steps, run in a process of their own (`measure_step`)."""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from bertlab.abilities.cost import Workload, estimate
from bertlab.abilities.cost.hardware import GPU_SHARE, estimate_cpu_share, estimate_seconds
from bertlab.abilities.cost.measure_step import StepMeasurement
from bertlab.config.errors import BertlabError, first_line
from bertlab.config.languages import Message
from bertlab.training.devices import resolve_device

# Bytes that a step needs in addition to the estimate: Python, the libraries, and freed memory that the C library keeps.
RUNTIME_BYTES = 6e8
SLOWEST_FLOPS = 2e10  # FLOP per second that every CPU reaches, to estimate the longest time of a measurement
MAX_SECONDS = 600.0  # the longest time that a measurement may take


@dataclass(frozen=True)
class Comparison:
    """A measured training step and its estimate."""

    measured: StepMeasurement
    """The measurement."""
    estimated_bytes: int
    """The estimated memory in bytes."""
    estimated_seconds: float
    """The estimated seconds, computed from the peak FLOP/s that was measured together with the step."""
    estimated_parameters: int
    """The number of parameters, computed from the configuration."""
    estimated_flop: float
    """The FLOP of a step, computed from the configuration."""

    @property
    def memory_error(self) -> float:
        """The relative error of the estimated memory: -0.1 if the estimate is 10% too low."""
        return self.estimated_bytes / self.measured.memory_bytes - 1

    @property
    def time_error(self) -> float:
        """The relative error of the estimated time."""
        return self.estimated_seconds / self.measured.seconds - 1


def compare_step(
    workload: Workload, *, steps: int = 3, threads: int | None = None, device: str = "auto", share: float | None = None
) -> Comparison:
    """Run some training steps in a process of their own, and compare them with the estimate.

    Args:
        workload: the model and its batches. Its field `device` is replaced according to `device`.
        steps: the number of measured steps.
        threads: CPU threads; None for PyTorch's default.
        device: cpu, cuda or auto.
        share: the share of the peak FLOP/s that the estimate of the time assumes; None for the default.

    Raises:
        BertlabError: the steps need more memory than is available, would take longer than `MAX_SECONDS`, or failed.
    """
    torch_device = resolve_device(device)
    device_type = "gpu" if torch_device.type == "cuda" else "cpu"
    cost = estimate(Workload(**{**vars(workload), "device": device_type}))
    check_size(cost.training_memory.total, cost.flop_per_step, steps, torch_device)
    settings = {name: value for name, value in vars(cost.workload).items() if name != "model"}
    request = {
        "model": asdict(workload.model), "workload": settings, "device": str(torch_device), "threads": threads,
        "steps": steps,
    }  # fmt: skip
    command = [sys.executable, "-m", "bertlab.abilities.cost.measure_step"]
    try:
        process = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=MAX_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise BertlabError("cost-measurement-too-long", minutes=round(MAX_SECONDS / 60)) from None
    if process.returncode:
        lines = process.stderr.strip().splitlines()
        reason = first_line(lines[-1]) if lines else Message("cost-process-killed")
        raise BertlabError("cost-measurement-failed", reason=reason)
    measured = StepMeasurement(**json.loads(process.stdout.strip().splitlines()[-1]))
    share = share or (
        GPU_SHARE if device_type == "gpu" else estimate_cpu_share(workload.model.hidden_size, workload.precision)
    )
    seconds = estimate_seconds(cost.flop_per_step, measured.peak_flops, share)
    return Comparison(measured, cost.training_memory.total, seconds, cost.num_parameters, cost.flop_per_step)


def check_size(memory_bytes: float, flop: float, steps: int, device: torch.device) -> None:
    """Raise an error for a measurement that does not fit into this machine's memory, or that would take too long.

    Args:
        memory_bytes: the estimated memory of a step.
        flop: the estimated FLOP of a step.
        steps: the number of measured steps.
        device: the device.

    Raises:
        BertlabError: the measurement does not fit, or would take too long.
    """
    needed, available = memory_bytes + RUNTIME_BYTES, read_available_memory(device)
    if needed > available:
        raise BertlabError("cost-does-not-fit", needed=f"{needed / 1e9:.1f}", available=f"{available / 1e9:.1f}")
    if device.type == "cpu" and flop * (steps + 2) / SLOWEST_FLOPS > MAX_SECONDS:
        raise BertlabError("cost-measurement-too-long", minutes=round(MAX_SECONDS / 60))


def read_available_memory(device: torch.device) -> float:
    """Return how many bytes of memory a new process could use; infinity if this is unknown."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    limits = []
    with suppress(OSError, IndexError, ValueError):
        meminfo = Path("/proc/meminfo").read_text().splitlines()
        limits += [1024 * int(line.split()[1]) for line in meminfo if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):  # the limit of a container
        cgroup = Path("/sys/fs/cgroup")
        limits.append(int((cgroup / "memory.max").read_text()) - int((cgroup / "memory.current").read_text()))
    return min(limits, default=float("inf"))

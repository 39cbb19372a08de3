"""Measure bertlab and its peers alternately, and print and record the results.

A peer is an implementation that bertlab is compared with. The speed of a shared machine drifts: all implementations run
once in every round, and a ratio of two speeds is computed within each round.
"""

import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import tyro
from tqdm import tqdm

from benchmarks.results import Result, append_results
from bertlab.training.devices import resolve_device
from bertlab.training.optimizers import Precision, resolve_precision

# name of a clock -> a function that returns its time in seconds
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True, kw_only=True)
class JsonOptions:
    """The option of every benchmark."""

    json: bool = False
    """Print the results as one JSON object."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(JsonOptions):
    """The options of the benchmarks whose results BENCHMARKS.md shows."""

    record: bool = False
    """Append the results to benchmarks/results.jsonl; `bertlab bench report` writes BENCHMARKS.md from it."""


@dataclass(frozen=True, kw_only=True)
class ThreadOptions(BenchOptions):
    """The options of the benchmarks that compute with PyTorch."""

    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of CPU threads. Default: the number that PyTorch chooses, usually one for each core."""


@dataclass(frozen=True, kw_only=True)
class DeviceOptions(ThreadOptions):
    """The options of the benchmarks that may also use a GPU."""

    device: str = "auto"
    """cpu or cuda; auto uses a GPU if one is available."""
    precision: Precision = "auto"
    """Number format of the computation."""

    def set_up(self) -> tuple[torch.device, torch.dtype]:
        """Set the number of threads, and return the device and the number format."""
        if self.threads:
            torch.set_num_threads(self.threads)
        device = resolve_device(self.device)
        return device, resolve_precision(self.precision, device)


@dataclass(frozen=True, kw_only=True)
class ClockOptions(DeviceOptions):
    """The options of the benchmarks that time the training steps of this process."""

    clock: Literal[tuple(CLOCKS)] = "wall"
    """The time that is measured: wall-clock time, or the CPU time of this process. CPU time with --threads 1 gives
    stable results on a machine that other programs use too."""


def measure_alternately(
    run_bertlab: Callable[[], float],
    run_peers: Mapping[str, Callable[[], float]],
    rounds: int,
    unit: str = "tokens_per_second",
    *,
    quiet: bool,
) -> dict:
    """Run bertlab and its peers once per round and summarise the speeds that the functions return.

    Returns:
        The result of `summarise_rounds`.
    """
    speeds_by_round = []
    for _ in tqdm(range(rounds), "rounds", disable=quiet):
        speeds_by_round.append([run() for run in (run_bertlab, *run_peers.values())])
    return summarise_rounds(speeds_by_round, tuple(run_peers), unit)


def summarise_rounds(
    speeds_by_round: Sequence[Sequence[float]],
    peers: Sequence[str] = ("transformers",),
    unit: str = "tokens_per_second",
) -> dict:
    """Return the median speeds, and the median, minimum and maximum of each ratio.

    Args:
        speeds_by_round: one row per round: the speed of bertlab, then of each peer.
        peers: the ratio to the first one is called "ratio", the other ones "ratio_to_NAME".

    >>> summarise_rounds([(30.0, 10.0), (20.0, 10.0), (44.0, 11.0)])["ratio"]
    3.0
    """
    bertlab_speeds, *peer_speeds = zip(*speeds_by_round, strict=True)
    names = ("bertlab", *peers)
    summary: dict = {
        f"{name}_{unit}": round(statistics.median(speeds))
        for name, speeds in zip(names, (bertlab_speeds, *peer_speeds), strict=True)
    }
    for index, (peer, speeds) in enumerate(zip(peers, peer_speeds, strict=True)):
        ratios = [a / b for a, b in zip(bertlab_speeds, speeds, strict=True)]
        name = f"ratio_to_{peer}" if index else "ratio"
        summary[name] = round(statistics.median(ratios), 2)
        summary |= {f"{name}_min": round(min(ratios), 2), f"{name}_max": round(max(ratios), 2)}
    return summary


def measure_cpu_seconds(implementations: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Run the implementations alternately, and return the median CPU seconds of each after one warm-up round."""
    seconds_by_implementation: list[list[float]] = [[] for _ in implementations]
    for _ in range(rounds + 1):
        for run, seconds in zip(implementations, seconds_by_implementation, strict=True):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
    return [statistics.median(seconds[1:]) for seconds in seconds_by_implementation]


def make_ratio_result(claim: str, measurements: dict, name: str = "ratio", **details) -> Result:
    """Make a row of the results from a ratio of `summarise_rounds`; `details` are further fields of the row."""
    spread = (measurements[f"{name}_min"], measurements[f"{name}_max"])
    return Result(claim, measurements[name], unit="x", spread=spread, hardware=measurements["hardware"], **details)


def measure_peak_memory_mb(device: torch.device) -> int:
    """Return the peak memory of this process so far in MB, including all implementations that ran in it."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) >> 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> (20 if sys.platform == "darwin" else 10)  # macOS counts bytes, Linux kilobytes


def describe_load() -> str:
    """Describe the cores and the load of the machine; other processes lengthen all wall-clock times."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start"


def report(measurements: dict, results: Sequence[Result], options: BenchOptions) -> None:
    """Print the measurements, one per line or as one JSON object, and record the results if `--record` is given."""
    if options.json:
        print(json.dumps(measurements))
    else:
        for name, value in measurements.items():
            print(f"{name.replace('_', ' '):40} {f'{value:,}' if isinstance(value, int) else value}")
    if options.record:
        append_results(results)

"""Measure bertlab and its peers alternately, summarise their speeds, and print and record the results.

A peer is an implementation that bertlab is compared with, such as transformers.

The speed of a shared machine drifts. All implementations therefore run once in every round, and a ratio of two speeds
is computed within each round.

A benchmark returns its measurements as a dictionary, and the claims they support as `Result` rows
(`benchmarks.results`).
"""

import json
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

# name of a clock -> a function that returns its time in seconds
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
Clock = Literal["wall", "cpu", "processor"]  # "processor" is a former name of "cpu"


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """The options of every benchmark."""

    json: bool = False
    """Print the results as one JSON object."""
    record: bool = False
    """Append the results to benchmarks/results.jsonl; `bertlab bench report` writes BENCHMARKS.md from it."""


@dataclass(frozen=True, kw_only=True)
class TrainingBenchOptions(BenchOptions):
    """The options of the benchmarks that train a model in this process: the device, and how time is measured."""

    device: str = "auto"
    """cpu or cuda; auto uses a GPU if one is available."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of CPU threads. Default: the number that PyTorch chooses, usually one for each core."""
    clock: Annotated[Clock, tyro.conf.arg(metavar="{wall,cpu}")] = "wall"
    """The time that is measured: wall-clock time, or the CPU time of this process. CPU time with --threads 1 gives
    stable results on a machine that other programs use too."""

    def __post_init__(self):
        if self.clock == "processor":
            object.__setattr__(self, "clock", "cpu")


def measure_alternately(
    run_bertlab: Callable[[], float],
    run_peers: Mapping[str, Callable[[], float]],
    rounds: int,
    unit: str = "tokens_per_second",
    *,
    quiet: bool,
) -> dict:
    """Run bertlab and its peers once per round and summarise their speeds.

    Args:
        run_bertlab: runs bertlab once and returns its speed.
        run_peers: {name of a peer: a function that runs it once and returns its speed}.
        rounds: number of rounds.
        unit: the unit of the speed; the keys of the speeds are "bertlab_UNIT" and "NAME_UNIT".
        quiet: hide the progress bar.

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
    """Return the median speed of bertlab and of each peer, and the median, minimum and maximum of each ratio.

    Args:
        speeds_by_round: one row per round: the speed of bertlab, then of each peer.
        peers: the names of the peers. The ratio to the first one is called "ratio", the other ones "ratio_to_NAME".
        unit: the unit of the speed.

    >>> summarise_rounds([(30.0, 10.0), (20.0, 10.0), (44.0, 11.0)])["ratio"]
    3.0
    """
    bertlab_speeds, *peer_speeds = zip(*speeds_by_round, strict=True)
    summary: dict = {f"bertlab_{unit}": round(statistics.median(bertlab_speeds))}
    summary |= {
        f"{peer}_{unit}": round(statistics.median(speeds)) for peer, speeds in zip(peers, peer_speeds, strict=True)
    }
    for index, (peer, speeds) in enumerate(zip(peers, peer_speeds, strict=True)):
        ratios = [a / b for a, b in zip(bertlab_speeds, speeds, strict=True)]
        name = f"ratio_to_{peer}" if index else "ratio"
        summary |= {name: round(statistics.median(ratios), 2)}
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


def make_ratio_result(
    claim: str,
    measurements: dict,
    name: str = "ratio",
    *,
    n: int,
    peer: str,
    hardware: str,
    target: float | None = None,
) -> Result:
    """Make a row of the results from a ratio that `summarise_rounds` computed.

    Args:
        claim: what the ratio measures.
        measurements: a dictionary with the ratio, its minimum and its maximum.
        name: the name of the ratio in `measurements`.
        n: the number of rounds.
        peer: what bertlab is compared with.
        hardware: the machine.
        target: the ratio to reach.
    """
    spread = (measurements[f"{name}_min"], measurements[f"{name}_max"])
    return Result(claim, measurements[name], unit="x", spread=spread, n=n, peer=peer, hardware=hardware, target=target)


def measure_peak_memory_mb(device: torch.device) -> int:
    """Return the peak memory of this process so far in MB, including all implementations that ran in it."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) >> 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> (20 if sys.platform == "darwin" else 10)  # macOS counts bytes, Linux kilobytes


def report(measurements: dict, results: Sequence[Result], options: BenchOptions) -> None:
    """Print the measurements, one per line or as one JSON object, and record the results if `--record` is given."""
    if options.json:
        print(json.dumps(measurements))
    else:
        for name, value in measurements.items():
            print(f"{name.replace('_', ' '):40} {f'{value:,}' if isinstance(value, int) else value}")
    if options.record:
        append_results(results)

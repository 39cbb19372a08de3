"""The harness of all benchmarks: run alternatives in turns, compute medians and spread, print and record results.

The speed of a shared machine drifts, so the alternatives run in turns and a ratio is computed within each turn.
A benchmark returns its measurements as a dictionary, and the claims it supports as `Result` rows
(`bertlab.bench.results`).
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

from bertlab.bench.results import Result, append

OURS = "bertlab"

Clock = Literal["wall", "processor"]
CLOCKS: dict[Clock, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """Options of every benchmark."""

    json: bool = False
    """Print one JSON object."""
    record: bool = False
    """Append the results to bench/results.jsonl; `bertlab bench report` writes BENCHMARKS.md from it."""


@dataclass(frozen=True, kw_only=True)
class MachineOptions(BenchOptions):
    """Options of the benchmarks of training."""

    device: str = "auto"
    """cpu or cuda; auto uses a GPU if one is available."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """CPU threads. Default: all of them."""
    clock: Clock = "wall"
    """How time is measured: `processor` with --threads 1 gives stable results on a shared machine."""


def measure_in_turns(
    run_ours: Callable[[], float],
    peers: Mapping[str, Callable[[], float]],
    rounds: int,
    unit: str = "tokens_per_second",
    *,
    quiet: bool,
) -> dict:
    """Run all alternatives `rounds` times, one after the other.

    Args:
        run_ours: runs bertlab once and returns its speed.
        peers: the same for each peer, by name.
        rounds: number of turns.
        unit: the unit of the speed, as a suffix of the names in the result.
        quiet: show no progress bar.

    Returns:
        `summarise_turns` of the speeds.
    """
    turns = [[run() for run in (run_ours, *peers.values())] for _ in tqdm(range(rounds), "turns", disable=quiet)]
    return summarise_turns(turns, tuple(peers), unit)


def summarise_turns(
    turns: Sequence[Sequence[float]], peers: Sequence[str] = ("transformers",), unit: str = "tokens_per_second"
) -> dict:
    """Return the median speed of each alternative, and the median, smallest and largest ratio to each peer.

    Args:
        turns: one row per turn: the speed of bertlab, then of each peer.
        peers: the names of the peers. The ratio to the first is called "ratio".
        unit: the unit of the speed.

    >>> summarise_turns([(30.0, 10.0), (20.0, 10.0), (44.0, 11.0)])["ratio"]
    3.0
    """
    speeds = list(zip(*turns, strict=True))
    speeds_by_name = zip((OURS, *peers), speeds, strict=True)
    summary: dict = {f"{name}_{unit}": round(statistics.median(values)) for name, values in speeds_by_name}
    for number, (peer, peer_speeds) in enumerate(zip(peers, speeds[1:], strict=True)):
        ratios = sorted(a / b for a, b in zip(speeds[0], peer_speeds, strict=True))
        name = f"ratio_to_{peer}" if number else "ratio"
        summary |= {name: round(statistics.median(ratios), 2)}
        summary |= {f"{name}_least": round(ratios[0], 2), f"{name}_most": round(ratios[-1], 2)}
    return summary


def median_seconds(alternatives: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median processor seconds of each alternative, in turns, after one warm-up turn."""
    seconds_of_each: list[list[float]] = [[] for _ in alternatives]
    for _ in range(rounds + 1):
        for run, seconds in zip(alternatives, seconds_of_each, strict=True):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
    return [statistics.median(seconds[1:]) for seconds in seconds_of_each]


def ratio_result(claim: str, measurements: dict, name: str = "ratio", *, n: int, peer: str, hardware: str) -> Result:
    """Return a ratio of `summarise_turns` as a row of the results."""
    spread = (measurements[f"{name}_least"], measurements[f"{name}_most"])
    return Result(claim, measurements[name], unit="x", spread=spread, n=n, peer=peer, hardware=hardware)


def peak_memory_mb(device: torch.device) -> int:
    """Return the peak memory of the whole process, all alternatives together."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) >> 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> (20 if sys.platform == "darwin" else 10)


def report(measurements: dict, results: Sequence[Result], options: BenchOptions) -> None:
    """Print the measurements, one per line or as one JSON object, and record the results if `--record` is given."""
    if options.json:
        print(json.dumps(measurements))
    else:
        for name, value in measurements.items():
            print(f"{name.replace('_', ' '):40} {f'{value:,}' if isinstance(value, int) else value}")
    if options.record:
        append(results)

"""`bertlab bench cost`: compare the estimates of `bertlab cost` with real training steps.

Each workload runs in a process of its own (`bertlab.abilities.cost.measure_step`).
"""

from dataclasses import dataclass
from typing import Annotated

import tyro
from tqdm import tqdm

from benchmarks.harness import DeviceOptions, report
from benchmarks.results import Result
from benchmarks.training_loop import Preset
from bertlab.abilities.cost import Workload
from bertlab.abilities.cost.measure import compare_step
from bertlab.config.presets import get_preset

MEMORY_TARGET, TIME_TARGET = 15.0, 25.0  # estimates may be wrong by this many percent


@dataclass(frozen=True)
class CostBenchConfig(DeviceOptions):
    """Compare the estimated memory and time of a training step with real steps on this machine.

    On a CPU, times are CPU seconds, which other programs hardly affect. Memory is the resident set of a separate
    process, without the memory of Python and the libraries.

    Examples:
      bertlab bench cost
      bertlab bench cost --presets tiny mini --precision float32 --record
    """

    presets: Annotated[tuple[Preset, ...], tyro.conf.arg(metavar="NAME ...")] = ("tiny", "mini", "small", "base")
    """The sizes of the models."""
    tokens: int = 128
    """Tokens in a sequence."""
    batch_size: int = 16
    """Sequences in a step."""
    threads: int = 1
    """Number of CPU threads."""
    rounds: int = 3
    """Number of measured steps of each model."""


def measure(config: CostBenchConfig) -> dict:
    """Return the settings and, for each preset, the estimated and the measured memory and time of a step."""
    precision = str(config.set_up()[1]).removeprefix("torch.")
    rows, hardware = {}, ""
    for name in tqdm(config.presets, "presets", disable=config.json):
        workload = Workload(get_preset(name), config.tokens, config.batch_size, precision)
        comparison = compare_step(workload, steps=config.rounds, threads=config.threads, device=config.device)
        hardware = comparison.measured.hardware
        rows[name] = {
            "estimated_mb": round(comparison.estimated_bytes / 1e6),
            "measured_mb": round(comparison.measured.memory_bytes / 1e6),
            "memory_error_percent": round(100 * comparison.memory_error, 1),
            "estimated_seconds": round(comparison.estimated_seconds, 3),
            "measured_seconds": round(comparison.measured.seconds, 3),
            "time_error_percent": round(100 * comparison.time_error, 1),
        }
    batch = f"{config.batch_size} x {config.tokens}"
    return {"hardware": hardware, "batch": batch, "precision": precision, "presets": rows}


def run(config: CostBenchConfig) -> None:
    """Measure, print a table, and record the errors if `--record` is given."""
    measurements = measure(config)
    rows = measurements["presets"]
    results = make_results(measurements)
    if not config.json:
        measurements = {name: value for name, value in measurements.items() if name != "presets"} | {
            name: f"{row['estimated_mb']} MB for {row['measured_mb']} MB ({row['memory_error_percent']:+} %), "
            f"{row['estimated_seconds']} s for {row['measured_seconds']} s ({row['time_error_percent']:+} %)"
            for name, row in rows.items()
        }
    report(measurements, results, config)


def make_results(measurements: dict) -> list[Result]:
    """Return two results: the largest error of the estimated memory, and of the estimated time, over all presets."""
    rows = measurements["presets"]
    setting = f"{', '.join(rows)}, {measurements['batch']} tokens, {measurements['precision']}"
    results = []
    for quantity, target in (("memory", MEMORY_TARGET), ("time", TIME_TARGET)):
        errors = [row[f"{quantity}_error_percent"] for row in rows.values()]
        claim = f"Training step: largest error of its estimated {quantity}, {setting}"
        spread = (min(errors), max(errors))
        details = {"peer": "measured step", "target": target, "hardware": measurements["hardware"]}
        results.append(Result(claim, max(map(abs, errors)), "%", spread, len(rows), **details))
    return results

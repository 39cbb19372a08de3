"""`bertlab bench lengths`: measure the speed of pre-training by sequence length and batch size.

The cost of attention per token grows with the length; the paper therefore trains mostly on short inputs (appendix A.2).
"""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import tyro
from tqdm import tqdm

from benchmarks.harness import CLOCKS, ClockOptions, measure_peak_memory_mb, report
from benchmarks.results import Result
from benchmarks.training_loop import Preset, TrainingLoop, prepare_synthetic_corpus
from bertlab.config.text_table import format_table
from bertlab.training.devices import describe_hardware


@dataclass(frozen=True)
class LengthsBenchConfig(ClockOptions):
    """Measure the tokens per second of pre-training for each combination of sequence length and batch size.

    Examples:
      bertlab bench lengths --corpus runs/corpus
      bertlab bench lengths --preset base --max-tokens 128 512 --batch-sizes 32 256
    """

    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus. Default: a synthetic one."""
    preset: Preset = "mini"
    """The size of the model."""
    max_tokens: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (64, 128, 256, 512)
    """Tokens in a sentence pair."""
    batch_sizes: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (8, 16, 32)
    """Sentence pairs in a step."""
    tokens: int = 8192
    """Tokens that each combination reads in a round. The number of steps follows from it, and is at least one."""
    rounds: int = 5
    """Number of rounds; each combination runs once in every round."""


def measure(config: LengthsBenchConfig) -> dict:
    """Return the settings of the measurement and, in `cells`, the median tokens per second by length and batch size."""
    device, dtype = config.set_up()
    clock = CLOCKS[config.clock]
    speeds: dict[tuple[int, int], list[float]] = {(T, B): [] for T in config.max_tokens for B in config.batch_sizes}
    with TemporaryDirectory() as directory:
        corpus = config.corpus or prepare_synthetic_corpus(Path(directory, "corpus"))
        loops = {
            (T, B): TrainingLoop(config.preset, corpus, B, T, device=device, dtype=dtype, clock=clock)
            for T, B in speeds
        }
        for round_number in tqdm(range(config.rounds + 1), "rounds", disable=config.json):
            for (T, B), loop in loops.items():
                speed = loop.run_steps(math.ceil(config.tokens / (T * B)))
                if round_number:  # the first round is a warm-up, in which data is loaded and memory allocated
                    speeds[T, B].append(speed)
    return {
        "model": config.preset,
        "data": config.corpus.name if config.corpus else "synthetic corpus",
        "hardware": describe_hardware(device),
        "precision": str(dtype).removeprefix("torch."),
        "clock": config.clock,
        "cells": {
            T: {B: round(statistics.median(speeds[T, B])) for B in config.batch_sizes} for T in config.max_tokens
        },
        "peak_memory_mb": measure_peak_memory_mb(device),
    }


def format_speeds(cells: dict[int, dict[int, int]]) -> str:
    """Format {tokens in a pair: {pairs in a batch: tokens per second}} as a table.

    >>> print(format_speeds({64: {8: 4100, 16: 4300}, 512: {8: 3000, 16: 3100}}))
    tokens in a pair  8 pairs  16 pairs
                  64    4,100     4,300
                 512    3,000     3,100
    """
    rows = [("tokens in a pair", *(f"{B} pairs" for B in next(iter(cells.values()))))]
    rows += [(str(T), *(f"{speed:,}" for speed in row.values())) for T, row in cells.items()]
    return "\n".join(format_table(rows, ">" * len(rows[0])))


def run(config: LengthsBenchConfig) -> None:
    """Measure, print the table of speeds, and record the result if `--record` is given."""
    measurements = measure(config)
    cells = measurements.pop("cells")
    short, long, batch_size = min(cells), max(cells), max(config.batch_sizes)
    relative_time = round(cells[short][batch_size] / cells[long][batch_size], 2)
    setting = f"{config.preset}, {measurements['precision']}"
    claim = f"Pre-training: time per token at length {long} relative to length {short}, {setting}"
    result = Result(claim, relative_time, unit="x", n=config.rounds, hardware=measurements["hardware"])
    report(measurements | ({"cells": cells} if config.json else {}), [result], config)
    if not config.json:
        print(f"\ntokens per second\n{format_speeds(cells)}")

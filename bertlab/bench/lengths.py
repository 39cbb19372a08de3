"""`bertlab bench lengths`: what a token costs in inputs of different length and in batches of different size.

Attention's work on a token grows with the length of the input, all other work does not (which is why the paper trains
on short inputs first, appendix A.2); how much that is of the whole is what is measured here.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from tqdm import tqdm

from bertlab.bench.ours import Ours, Preset
from bertlab.bench.turns import CLOCKS, Clock, peak_memory_mb, tell
from bertlab.training.devices import describe_hardware, resolve_device
from bertlab.training.optimizers import Precision, resolve_precision


@dataclass(frozen=True)
class LengthsBenchConfig:
    """Measure tokens per second of our pre-training for lengths x batch sizes, in turns in one run.

    Examples:
      bertlab bench lengths --corpus runs/corpus
      bertlab bench lengths --preset base --max-tokens 128 512 --batch-sizes 32 256
    """

    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus; without one, random pairs with the same layout."""
    preset: Preset = "mini"
    """The size of the model."""
    vocab_size: int = 8192
    """Of the random pairs; a corpus brings its own."""
    max_tokens: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (64, 128, 256, 512)
    """Tokens in a pair."""
    batch_sizes: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (8, 16, 32)
    """Sentence pairs a step."""
    tokens: int = 8192
    """In a turn, at least; of one step or of several."""
    rounds: int = 5
    """Turns each."""
    precision: Precision = "auto"
    """Of all arithmetic."""
    device: str = "auto"
    """cpu or cuda; auto takes a GPU if there is one."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Processor threads; all of them if not given."""
    clock: Clock = "wall"
    """What a second is; `processor`, with --threads 1, is steady on a machine that others use too."""
    json: bool = False
    """Print one JSON object."""


def bench(config: LengthsBenchConfig) -> dict:
    """Returns `cells`, the median tokens per second by length and batch size, and what they were measured on."""
    if config.threads:
        torch.set_num_threads(config.threads)
    device = resolve_device(config.device)
    dtype = resolve_precision(config.precision, device)
    clock = CLOCKS[config.clock]
    speeds: dict[tuple[int, int], list[float]] = {(T, B): [] for T in config.max_tokens for B in config.batch_sizes}
    ways = {(T, B): Ours.of(config, B, T, device=device, dtype=dtype, clock=clock) for T, B in speeds}
    for number in tqdm(range(config.rounds + 1), "turns", disable=config.json):
        for (T, B), ours in ways.items():
            speed = ours.turn(max(1, -(-config.tokens // (T * B))))
            # the first turn loads and allocates
            speeds[T, B] += [speed] if number else []
    return {
        "model": config.preset,
        "data": config.corpus.name if config.corpus else "random pairs",
        "hardware": describe_hardware(device),
        "precision": str(dtype).removeprefix("torch."),
        "clock": config.clock,
        "cells": {
            T: {B: round(statistics.median(speeds[T, B])) for B in config.batch_sizes} for T in config.max_tokens
        },
        "peak_memory_mb": peak_memory_mb(device),
    }


def table(cells: dict[int, dict[int, int]]) -> str:
    """Lengths down, batch sizes across.

    >>> print(table({64: {8: 4100, 16: 4300}, 512: {8: 3000, 16: 3100}}))
    tokens in a pair     8 pairs    16 pairs
                  64       4,100       4,300
                 512       3,000       3,100
    """
    sizes = next(iter(cells.values()))
    lines = [f"{'tokens in a pair':16}" + "".join(f"{f'{B} pairs':>12}" for B in sizes)]
    lines += [f"{T:>16}" + "".join(f"{speed:>12,}" for speed in row.values()) for T, row in cells.items()]
    return "\n".join(lines)


def run(config: LengthsBenchConfig) -> None:
    """Measure and print."""
    found = bench(config)
    cells = found.pop("cells")
    tell(found | ({"cells": cells} if config.json else {}), config.json)
    if not config.json:
        print(f"\ntokens a second\n{table(cells)}")

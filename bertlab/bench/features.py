"""`bertlab bench features`: the speed of turning SQuAD rows into features, compared with `datasets.map`."""

import contextlib
import os
import time
from dataclasses import dataclass
from typing import Annotated

import datasets
import torch
import transformers
import tyro

from bertlab.bench import peer
from bertlab.bench.harness import BenchOptions, measure_in_turns, peak_memory_mb, ratio_result, report
from bertlab.checkpoints import checkpoint, locate
from bertlab.tasks.span.squad import read_rows
from bertlab.tasks.span.windows import span_features
from bertlab.training.devices import describe_hardware


@dataclass(frozen=True)
class FeaturesBenchConfig(BenchOptions):
    """Measure how many SQuAD questions per second are converted to features, compared with `run_qa.py` of
    transformers.

    Both sides start with the rows in memory and are measured alternately. bertlab's time ends when every window is
    built, the peer's when `datasets.map` has written them. The peer runs in one process with a thread per core, or in
    a process per core, whichever is faster on a sample.

    Examples:
      bertlab bench features --data squad/train.parquet
      bertlab bench features --data squad/train.parquet --rows 10000 --rounds 3
    """

    data: Annotated[str, tyro.conf.arg(metavar="FILE")] = "rajpurkar/squad"
    """SQuAD rows: a file, a directory or a hub id."""
    checkpoint: Annotated[str, tyro.conf.arg(metavar="CHECKPOINT")] = "squad"
    """The checkpoint whose tokenizer is used."""
    rows: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Use only this many questions, from the start; all if not given."""
    max_tokens: int = 384
    """Tokens in a window."""
    stride: int = 128
    """Distance between the starts of neighbouring windows; for the peer, their overlap."""
    rounds: int = 1
    """Number of repetitions for each implementation."""


def bench(config: FeaturesBenchConfig) -> dict:
    """Return the questions per second of both sides, their ratio per round, and the seconds of the slowest rounds."""
    source = locate.find(config.checkpoint)
    tokenizer, peer_tokenizer = checkpoint.load(config.checkpoint).tokenizer, peer.tokenizer(source)
    rows = read_rows(config.data, "train")[: config.rows]
    table = datasets.Dataset.from_list(peer.without_places(rows))
    seconds: dict[str, list[float]] = {"ours": [], "lazy": [], "theirs": []}
    window_counts: dict[str, int] = {}

    def our_turn() -> float:
        began = time.perf_counter()
        features = span_features(tokenizer, rows, config.max_tokens, config.stride)
        seconds["lazy"].append(time.perf_counter() - began)
        window_counts["ours"] = sum(1 for _ in features.windows)
        seconds["ours"].append(time.perf_counter() - began)
        return len(rows) / seconds["ours"][-1]

    def their_features(part: datasets.Dataset, workers: int | None) -> float:
        began = time.perf_counter()
        with contextlib.ExitStack() as stack:
            if config.json:
                datasets.disable_progress_bars()
                stack.callback(datasets.enable_progress_bars)
            window_counts["theirs"] = len(
                peer.span_rows(part, peer_tokenizer, config.max_tokens, config.stride, workers)
            )
        return time.perf_counter() - began

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    sample = table.select(range(min(len(table), 4000)))
    workers = min((None, cores), key=lambda workers: their_features(sample, workers))

    def their_turn() -> float:
        seconds["theirs"].append(their_features(table, workers))
        return len(rows) / seconds["theirs"][-1]

    speeds = measure_in_turns(
        our_turn, {"transformers": their_turn}, config.rounds, "questions_per_second", quiet=config.json
    )
    return {
        "questions": len(rows),
        "windows": f"ours {window_counts['ours']:,}, transformers' {window_counts['theirs']:,}",
        "hardware": f"{describe_hardware(torch.device('cpu'))}, {cores} cores",
        "peer": f"datasets.map in {workers or 1} process(es)",
        "versions": f"transformers {transformers.__version__}, datasets {datasets.__version__}",
        "bertlab_seconds": round(max(seconds["ours"]), 1),
        "bertlab_seconds_before_windows": round(max(seconds["lazy"]), 1),
        "transformers_seconds": round(max(seconds["theirs"]), 1),
        **speeds,
        "peak_memory_mb": peak_memory_mb(torch.device("cpu")),
    }


def run(config: FeaturesBenchConfig) -> None:
    """Measure, print and record."""
    measurements = bench(config)
    claim = f"Data: SQuAD rows to features, {measurements['questions']:,} questions"
    peer_name = f"transformers, {measurements['peer']}"
    result = ratio_result(claim, measurements, n=config.rounds, peer=peer_name, hardware=measurements["hardware"])
    report(measurements, [result], config)

"""`bertlab bench features`: measure how fast SQuAD rows become features, compared with `datasets.map` (the peer)."""

import time
from dataclasses import dataclass
from typing import Annotated

import datasets
import torch
import transformers
import tyro

from benchmarks import transformers_peer
from benchmarks.harness import BenchOptions, make_ratio_result, measure_alternately, measure_peak_memory_mb, report
from bertlab.checkpoints import checkpoint, locate
from bertlab.config.processor import count_cores
from bertlab.tasks.span.squad import make_examples, read_rows
from bertlab.tasks.span.windows import encode_questions
from bertlab.training.devices import describe_hardware

SAMPLE_ROWS = 4000  # the peer is first timed on this many rows, to choose its number of processes


@dataclass(frozen=True)
class FeaturesBenchConfig(BenchOptions):
    """Measure how many SQuAD questions per second are converted to features, by bertlab and by `run_qa.py` of
    transformers (the peer).

    Both implementations start with the rows in memory and are measured alternately. bertlab has finished when every
    window is built; the peer has finished when `datasets.map` has written the features. The peer runs in one process
    with a thread per core, or in one process per core, whichever is faster on a sample of the questions.

    Examples:
      bertlab bench features --data squad/train.parquet
      bertlab bench features --data squad/train.parquet --rows 10000 --rounds 3
    """

    data: Annotated[str, tyro.conf.arg(metavar="FILE")] = "rajpurkar/squad"
    """SQuAD rows: a file, a directory or a hub id."""
    checkpoint: Annotated[str, tyro.conf.arg(metavar="CHECKPOINT")] = "squad"
    """The checkpoint whose tokenizer is used."""
    rows: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of questions to use, counted from the start of the data. Default: all of them."""
    max_tokens: int = 384
    """Tokens in a window."""
    stride: int = 128
    """The stride passed to both implementations. bertlab takes it as the distance between the starts of neighbouring
    windows, transformers as their overlap, so they produce different numbers of windows."""
    rounds: int = 1
    """Number of rounds; each implementation runs once in every round."""


def measure(config: FeaturesBenchConfig) -> dict:
    """Return the questions per second of bertlab and the peer, and their ratio."""
    source = locate.find(config.checkpoint)
    tokenizer, peer_tokenizer = checkpoint.load(config.checkpoint).tokenizer, transformers_peer.load_tokenizer(source)
    rows = read_rows(config.data, "train")[: config.rows]
    table = datasets.Dataset.from_list(transformers_peer.drop_row_locations(rows))
    if config.json:
        datasets.disable_progress_bars()

    def run_bertlab() -> float:
        start = time.perf_counter()
        features = encode_questions(tokenizer, make_examples(rows), config.max_tokens, config.stride)
        _ = features.start_and_end_W
        for _ in features.windows:
            pass
        return len(rows) / (time.perf_counter() - start)

    def run_peer(part: datasets.Dataset, processes: int | None) -> float:
        start = time.perf_counter()
        transformers_peer.encode_span_rows(part, peer_tokenizer, config.max_tokens, config.stride, processes)
        return len(part) / (time.perf_counter() - start)

    sample = table.select(range(min(len(table), SAMPLE_ROWS)))
    # None: one process, in which the tokenizer uses a thread per core
    processes = max((None, count_cores()), key=lambda processes: run_peer(sample, processes))
    peers = {"transformers": lambda: run_peer(table, processes)}
    speeds = measure_alternately(run_bertlab, peers, config.rounds, "questions_per_second", quiet=config.json)
    return {
        "questions": len(rows),
        "hardware": f"{describe_hardware(torch.device('cpu'))}, {count_cores()} cores",
        "peer": f"datasets.map in {processes or 1} process(es)",
        "versions": f"transformers {transformers.__version__}, datasets {datasets.__version__}",
        **speeds,
        "peak_memory_mb": measure_peak_memory_mb(torch.device("cpu")),
    }


def run(config: FeaturesBenchConfig) -> None:
    """Measure, print the measurements, and record the result if `--record` is given."""
    measurements = measure(config)
    claim = f"Data: SQuAD rows to features, {measurements['questions']:,} questions"
    result = make_ratio_result(claim, measurements, n=config.rounds, peer=f"transformers, {measurements['peer']}")
    report(measurements, [result], config)

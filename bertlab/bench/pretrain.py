"""`bertlab bench pretrain`: the speed of `bertlab pretrain` beside plain loops over `transformers`.

bertlab runs as its own command, in a process of its own, and its speed is read from its log as the run writes it: the
time of every checkpoint, snapshot and report along the way counts. The peers are `BertForPreTraining` with the same
padded sentence pairs, and with rows of grouped text that need no padding.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import transformers
import tyro

from bertlab.bench.ceiling import count_operations, peak_rate
from bertlab.bench.harness import BenchOptions, measure_in_turns, ratio_result, report
from bertlab.bench.pretrain_peers import FullRows, PaddedPairs, Peer
from bertlab.bench.synthetic_corpus import prepare_synthetic_corpus
from bertlab.bench.training_loop import Preset, TrainingLoop
from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.devices import describe_hardware, resolve_device
from bertlab.training.optimizers import Precision, resolve_precision

WARM_UP_STEPS = 10  # in which either side allocates memory and builds kernels
POLL_SECONDS = 0.02  # between looks at the log of the run


@dataclass(frozen=True)
class BenchConfig(BenchOptions):
    """Measure the tokens per second of `bertlab pretrain`, alternating with `BertForPreTraining` of transformers.

    The first peer reads the same padded sentence pairs. The second reads rows of grouped text without padding, as is
    common with packed corpora. Padding tokens are not counted for either implementation.

    Examples:
      bertlab bench pretrain --corpus runs/corpus
      bertlab bench pretrain --preset tiny --batch-size 64 --minutes 0.5
    """

    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus. Default: a synthetic one."""
    preset: Preset = "mini"
    """The size of all models."""
    vocab_size: int = 8192
    """Vocabulary size of the synthetic corpus, at most."""
    batch_size: int = 32
    """Sentence pairs, or rows, in a step."""
    max_tokens: int = 128
    """Tokens in a pair or row."""
    minutes: float = 1.0
    """Length of a repetition in minutes."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of steps in a repetition."""
    rounds: int = 5
    """Number of repetitions for each implementation."""
    precision: Precision = "auto"
    """Number format of both sides."""
    peer_dropout: float = 0.1
    """Dropout of the peers: 0.1 is their default, 0 is that of `bertlab pretrain`."""
    device: str = "auto"
    """cpu or cuda; auto uses a GPU if one is available."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """CPU threads. Default: all of them."""


def bench(config: BenchConfig) -> dict:
    """Return the median tokens per second of all sides, both ratios turn by turn, and the share of the machine's peak
    rate that bertlab reaches."""
    if config.threads:
        torch.set_num_threads(config.threads)
    device = resolve_device(config.device)
    dtype = resolve_precision(config.precision, device)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        corpus = config.corpus or prepare_synthetic_corpus(directory / "corpus", config.vocab_size)
        settings = Settings(config.preset, corpus, config.vocab_size)
        loop = TrainingLoop.build(settings, config.batch_size, config.max_tokens, device=device, dtype=dtype)
        operations = operations_per_token(loop)
        shape = loop.shape.replace(hidden_dropout=config.peer_dropout, attention_dropout=config.peer_dropout)
        pairs = PaddedPairs(loop.trainer.batches)
        rows = FullRows(corpus, config.batch_size, config.max_tokens)
        peers = {
            name: Peer(shape, batches, loop.rule, loop.trainer.optim, device, dtype)
            for name, batches in (("padded_pairs", pairs), ("full_rows", rows))
        }
        parameters = sum(p.numel() for p in loop.trainer.model.parameters())
        startup: list[float] = []

        def our_turn() -> float:
            speed, seconds = time_command(config, corpus, directory / f"run-{len(startup)}", dtype)
            startup.append(seconds)
            return speed

        turns = {
            name: lambda peer=peer: peer.speed(60 * config.minutes, config.steps, WARM_UP_STEPS)
            for name, peer in peers.items()
        }
        measured = measure_in_turns(our_turn, turns, config.rounds, quiet=config.json)
        # measured last and not in a turn, so that it warms no cache for either side
        ceiling = peak_rate(device, dtype)
        drawn = drawing_speed(corpus, config.batch_size, config.max_tokens)
    return {
        "model": f"{shape.num_layers} x {shape.hidden_size}, vocabulary {shape.vocab_size:,}",
        "parameters": parameters,
        "batch": f"{config.batch_size} x {config.max_tokens}",
        "data": config.corpus.name if config.corpus else "synthetic corpus",
        "hardware": describe_hardware(device),
        "dropout": f"bertlab 0, peers {config.peer_dropout}",
        "precision": str(dtype).removeprefix("torch."),
        "versions": f"torch {torch.__version__}, transformers {transformers.__version__}",
        **measured,
        "seconds_outside_training": round(min(startup), 1),
        "pairs_drawn_tokens_per_second": round(drawn),
        "mflop_per_token": round(operations / 1e6, 2),
        "ceiling_gflop_per_second": round(ceiling / 1e9),
        "share_of_ceiling": round(operations * measured["bertlab_tokens_per_second"] / ceiling, 3),
    }


@dataclass(frozen=True)
class Settings:
    """The model and the data of a benchmark, as `TrainingLoop` takes them."""

    preset: Preset
    """The size of the model."""
    corpus: Path
    """The prepared corpus."""
    vocab_size: int
    """Not used where there is a corpus."""


def operations_per_token(loop: TrainingLoop) -> float:
    """Return the floating-point operations that a step of bertlab takes per token."""
    loop.run_steps(1)
    before = loop.trainer.progress.tokens
    operations = count_operations(lambda: loop.run_steps(2))
    return operations / (loop.trainer.progress.tokens - before)


def drawing_speed(corpus: Path, batch_size: int, max_tokens: int) -> float:
    """Return the tokens per second at which one process draws sentence pairs; a step waits where this is no more than
    it trains on."""
    pairs = PairSampler(Corpus.open(corpus), Tokenizer.load(corpus / "tokenizer"), batch_size, max_tokens, seed=1)
    next(pairs)  # opens the files
    tokens, blocks, start = 0, {(pairs.position.epoch, pairs.position.block)}, time.perf_counter()
    while len(blocks) < 3:  # the pairs of a block are drawn at once
        tokens += int(next(pairs).inputs.attention_mask_BT.sum())
        blocks.add((pairs.position.epoch, pairs.position.block))
    return tokens / (time.perf_counter() - start)


def time_command(config: BenchConfig, corpus: Path, out: Path, dtype: torch.dtype) -> tuple[float, float]:
    """Run `bertlab pretrain` and time it by the wall clock.

    Returns:
        Tokens per second between the end of the warm-up steps and the last step, everything the run did in between
        included; and the seconds of the process that lie outside of that span: start-up, warm-up and the final save.
    """
    command = [sys.executable, "-m", "bertlab", "pretrain", str(corpus), "--out", str(out), "--preset", config.preset]
    command += ["--batch-size", str(config.batch_size), "--max-tokens", str(config.max_tokens)]
    command += ["--minutes", str(config.minutes), "--device", config.device]
    command += ["--precision", str(dtype).removeprefix("torch.")]
    command += ["--threads", str(config.threads)] if config.threads else []
    command += ["--steps", str(config.steps + WARM_UP_STEPS)] if config.steps else []
    log = out / "log.jsonl"
    sizes: list[tuple[float, int]] = []  # when the log was seen to have grown, and to how many bytes
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            while process.poll() is None:
                time.sleep(POLL_SECONDS)
                size = log.stat().st_size if log.is_file() else 0
                if size and (not sizes or size > sizes[-1][1]):
                    sizes.append((time.monotonic(), size))
        finally:
            process.terminate()
            process.wait()
        ended = time.monotonic()
        errors.seek(0)
        message = errors.read().strip().splitlines()[-1:]
    seen = _steps_seen(log, sizes) if not process.returncode else []
    if len(seen) < 2:
        reason = message[0] if process.returncode and message else Message("bench-turn-too-short")
        raise BertlabError("bench-command-failed", command="bertlab pretrain", reason=reason)
    (first, tokens_before), (last, tokens_after) = seen[0], seen[-1]
    return (tokens_after - tokens_before) / (last - first), ended - began - (last - first)


def _steps_seen(log: Path, sizes: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return when a step after the warm-up was first seen in the log, and the tokens read by then."""
    content, found = log.read_bytes() if log.is_file() else b"", []
    for seconds, size in sizes:
        rows = [json.loads(line) for line in content[:size].splitlines()[-3:] if line.endswith(b"}")]
        steps = [row for row in rows if "loss" in row and row["step"] >= WARM_UP_STEPS]
        if steps and (not found or steps[-1]["tokens"] > found[-1][1]):
            found.append((seconds, steps[-1]["tokens"]))
    return found


def run(config: BenchConfig) -> None:
    """Measure, print and record."""
    measurements = bench(config)
    topic = f"Pre-training: tokens per second, {config.preset}, {measurements['precision']}"
    peer = "BertForPreTraining" + (f", dropout {config.peer_dropout}" if config.peer_dropout != 0.1 else "")
    details = {"n": config.rounds, "hardware": measurements["hardware"]}
    results = [
        ratio_result(f"{topic}, same padded pairs", measurements, peer=peer, **details),
        ratio_result(
            f"{topic}, beside full rows", measurements, "ratio_to_full_rows", peer=f"{peer}, no padding", **details
        ),
    ]
    report(measurements, results, config)

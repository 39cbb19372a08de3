"""`bertlab bench pretrain`: measure the speed of `bertlab pretrain`, compared with training loops of `transformers`.

bertlab runs as a command in a separate process. Its speed is computed from the growth of its log, so the time for
checkpoints, snapshots and reports is included.
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

from benchmarks.harness import DeviceOptions, make_ratio_result, measure_alternately, report
from benchmarks.pretrain_peers import PretrainingPeer, make_full_rows
from benchmarks.training_loop import Preset, TrainingLoop, prepare_synthetic_corpus
from bertlab.abilities.cost.measure_flops import count_flop, measure_peak_flops
from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message
from bertlab.training.devices import describe_hardware

# preset -> the target for bertlab's speed divided by the speed of the peer on padded pairs
TARGET_RATIOS = {"tiny": 5.0, "mini": 5.0, "base": 1.5}
WARM_UP_STEPS = 10  # the first steps, which are not measured, because they allocate memory and compile kernels
POLL_SECONDS = 0.02  # time between two checks of the size of the run's log


@dataclass(frozen=True)
class PretrainBenchConfig(DeviceOptions):
    """Measure the tokens per second of `bertlab pretrain` and, for comparison, of a peer: `BertForPreTraining` of
    transformers.

    There are two comparisons. In the first, the peer reads the same sentence pairs, padded to equal length. In the
    second, it reads full rows of consecutive text, which need no padding. The runs of bertlab and of the peer
    alternate. Padding tokens are never counted.

    Examples:
      bertlab bench pretrain --corpus runs/corpus
      bertlab bench pretrain --preset tiny --batch-size 64 --minutes 0.5
    """

    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus. Default: a synthetic one."""
    preset: Preset = "mini"
    """The size of the models."""
    batch_size: int = 32
    """Sentence pairs, or full rows, in a step."""
    max_tokens: int = 128
    """Tokens in a sentence pair or full row."""
    minutes: float = 1.0
    """Minutes of training in a round, for each implementation."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of steps in a round."""
    rounds: int = 5
    """Number of rounds; each implementation runs once in every round."""
    peer_dropout: float = 0.1
    """Dropout rate of the peer: 0.1 is the default of transformers, 0 the default of `bertlab pretrain`."""


def measure(config: PretrainBenchConfig) -> dict:
    """Return the median tokens per second of bertlab and of both peers, their ratios, and the MFU of bertlab."""
    device, dtype = config.set_up()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        corpus = config.corpus or prepare_synthetic_corpus(directory / "corpus")
        loop = TrainingLoop(config.preset, corpus, config.batch_size, config.max_tokens, device=device, dtype=dtype)
        flop_per_token = measure_flop_per_token(loop)
        model_config = loop.model_config.replace(
            hidden_dropout=config.peer_dropout, attention_dropout=config.peer_dropout
        )
        rows = make_full_rows(corpus, config.batch_size, config.max_tokens)
        peers = {
            name: PretrainingPeer(model_config, batches, loop.mask_rule, loop.trainer.optimizer.config, device, dtype)
            for name, batches in (("padded_pairs", loop.trainer.batches), ("full_rows", rows))
        }
        parameters = sum(p.numel() for p in loop.trainer.optimizer.model.parameters())
        outside_seconds: list[float] = []  # for each run, the time outside of training, from `time_command`

        def run_bertlab() -> float:
            run_directory = directory / f"run-{len(outside_seconds)}"
            speed, seconds_outside = time_command(config, corpus, run_directory, dtype)
            outside_seconds.append(seconds_outside)
            return speed

        run_peers = {
            name: lambda peer=peer: peer.measure_speed(60 * config.minutes, config.steps, WARM_UP_STEPS)
            for name, peer in peers.items()
        }
        speeds = measure_alternately(run_bertlab, run_peers, config.rounds, quiet=config.json)
        # measured last, so that it does not evict an implementation's data from the CPU's caches
        peak_flops = measure_peak_flops(device, dtype)
    return {
        "model": f"{model_config.num_layers} x {model_config.hidden_size}, vocabulary {model_config.vocab_size:,}",
        "parameters": parameters,
        "batch": f"{config.batch_size} x {config.max_tokens}",
        "data": config.corpus.name if config.corpus else "synthetic corpus",
        "hardware": describe_hardware(device),
        "dropout": f"bertlab 0, peers {config.peer_dropout}",
        "precision": str(dtype).removeprefix("torch."),
        "versions": f"torch {torch.__version__}, transformers {transformers.__version__}",
        **speeds,
        "seconds_outside_training": round(min(outside_seconds), 1),
        "mflop_per_token": round(flop_per_token / 1e6, 2),
        "peak_gflop_per_second": round(peak_flops / 1e9),
        "mfu": round(flop_per_token * speeds["bertlab_tokens_per_second"] / peak_flops, 3),
    }


def measure_flop_per_token(loop: TrainingLoop) -> float:
    """Return the floating-point operations of a training step per token."""
    loop.run_steps(1)
    tokens_before = loop.trainer.progress.tokens
    flop = count_flop(lambda: loop.run_steps(2))
    return flop / (loop.trainer.progress.tokens - tokens_before)


def time_command(config: PretrainBenchConfig, corpus: Path, out: Path, dtype: torch.dtype) -> tuple[float, float]:
    """Run `bertlab pretrain`, and return its tokens per second after the warm-up and the seconds outside of that time.

    The speed includes all that the run does between two steps.
    """
    command = [sys.executable, "-m", "bertlab", "pretrain", str(corpus), "--out", str(out), "--preset", config.preset]
    command += ["--batch-size", str(config.batch_size), "--max-tokens", str(config.max_tokens)]
    command += ["--minutes", str(config.minutes), "--device", config.device]
    command += ["--precision", str(dtype).removeprefix("torch.")]
    command += ["--threads", str(config.threads)] if config.threads else []
    command += ["--steps", str(config.steps + WARM_UP_STEPS)] if config.steps else []
    log = out / "log.jsonl"
    log_sizes: list[tuple[float, int]] = []  # (time, size in bytes) whenever the log has grown
    with tempfile.TemporaryFile("w+") as errors:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            while process.poll() is None:
                time.sleep(POLL_SECONDS)
                size = log.stat().st_size if log.is_file() else 0
                if size and (not log_sizes or size > log_sizes[-1][1]):
                    log_sizes.append((time.monotonic(), size))
        finally:
            process.terminate()
            process.wait()
        end = time.monotonic()
        errors.seek(0)
        last_error_line = errors.read().strip().splitlines()[-1:]
    progress = _read_progress(log, log_sizes) if not process.returncode else []
    if len(progress) < 2:
        reason = last_error_line[0] if process.returncode and last_error_line else Message("bench-run-too-short")
        raise BertlabError("bench-command-failed", command="bertlab pretrain", reason=reason)
    (first_time, tokens_before), (last_time, tokens_after) = progress[0], progress[-1]
    measured_seconds = last_time - first_time
    return (tokens_after - tokens_before) / measured_seconds, end - start - measured_seconds


def _read_progress(log: Path, log_sizes: list[tuple[float, int]]) -> list[tuple[float, int]]:
    content, progress = log.read_bytes() if log.is_file() else b"", []
    for seconds, size in log_sizes:
        # the last line may be incomplete, and some lines contain no step
        rows = [json.loads(line) for line in content[:size].splitlines()[-3:] if line.endswith(b"}")]
        steps = [row for row in rows if "loss" in row and row["step"] >= WARM_UP_STEPS]
        if steps and (not progress or steps[-1]["tokens"] > progress[-1][1]):
            progress.append((seconds, steps[-1]["tokens"]))
    return progress


def run(config: PretrainBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    topic = f"Pre-training: tokens per second, {config.preset}, {measurements['precision']}"
    peer = "BertForPreTraining" + (f", dropout {config.peer_dropout}" if config.peer_dropout != 0.1 else "")
    target, n = TARGET_RATIOS.get(config.preset), config.rounds
    pairs, rows = f"{topic}, same padded pairs", f"{topic}, compared with full rows"
    results = [
        make_ratio_result(pairs, measurements, peer=peer, target=target, n=n),
        make_ratio_result(rows, measurements, "ratio_to_full_rows", peer=f"{peer}, no padding", n=n),
    ]
    report(measurements, results, config)

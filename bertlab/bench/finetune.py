"""`bertlab bench finetune`: the speed of fine-tuning, compared with the `Trainer` of `transformers` on the same rows.

The Trainer is measured with its default, rows in random order, and with `group_by_length`.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import datasets
import torch
import transformers
import tyro

from bertlab.bench import peer
from bertlab.bench.harness import CLOCKS, MachineOptions, measure_in_turns, peak_memory_mb, ratio_result, report
from bertlab.checkpoints import locate
from bertlab.config.tasks import task
from bertlab.tasks.task_flags import finetune_type
from bertlab.training.devices import describe_hardware, resolve_device
from bertlab.training.finetune import FinetuneConfig, read_data
from bertlab.training.optimizers import Precision, resolve_precision
from bertlab.training.trainer import Trainer


@dataclass(frozen=True)
class FinetuneBenchConfig(MachineOptions):
    """Measure the tokens per second of fine-tuning, alternating with the Trainer of `transformers`.

    Padding tokens are not counted. Both implementations use the same batch size, dropout, optimiser and precision.

    Examples:
      bertlab bench finetune sst2 --data glue/sst2
      bertlab bench finetune squad --data squad --batch-size 16 --rounds 3
    """

    task: tyro.conf.Positional[Literal["sst2", "squad"]] = "sst2"
    """The task."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """The training rows: a file, a directory or a hub id. Default: the task's own on the hub."""
    checkpoint: Annotated[str, tyro.conf.arg(metavar="CHECKPOINT")] = "strongest"
    """The checkpoint that both sides fine-tune."""
    rows: int = 8000
    """Number of rows to use, from the first."""
    batch_size: int = 32
    """Rows or windows in a step."""
    steps: int = 20
    """Steps in a repetition; the Trainer first runs two warm-up steps, which are not counted."""
    rounds: int = 5
    """Number of repetitions for each implementation."""
    dropout: float = 0.1
    """Dropout of both sides."""
    precision: Precision = "auto"
    """Number format of both sides."""


def bench(config: FinetuneBenchConfig) -> dict:
    """Return the median tokens per second of bertlab and of both settings of the Trainer, and the ratios to them."""
    device, spec = resolve_device(config.device), task(config.task)
    task_type = finetune_type(spec.kind)
    dtype = resolve_precision(config.precision, device)
    datasets.disable_progress_bars()
    clock = CLOCKS[config.clock]
    rows = peer.read_task_rows(config.data or spec.hub_id, "train", task_type)[: config.rows]
    with tempfile.TemporaryDirectory() as path:
        directory = Path(path)
        datasets.Dataset.from_list(peer.without_places(rows)).to_parquet(str(directory / "train.parquet"))
        settings = FinetuneConfig(
            task=config.task, from_=config.checkpoint, data=str(directory / "train.parquet"), hold_out=0.0,
            out=directory / "run", batch_size=config.batch_size, dropout=config.dropout, device=config.device,
            threads=config.threads,
        )  # fmt: skip
        data = read_data(settings)
        model = data.new_model(config.dropout)
        ours = Trainer(
            model, data.make_batches(config.batch_size, 0, (0, 1)), data.loss, settings.optim, steps=1_000_000,
            device=device, dtype=dtype,
        )  # fmt: skip
        reports = iter(ours)

        def our_turn() -> float:
            tokens_before, start = ours.progress.tokens, clock()
            for _ in range(config.steps):
                next(reports)
            return (ours.progress.tokens - tokens_before) / (clock() - start)

        tokenizer = peer.tokenizer(locate.find(config.checkpoint))
        if not config.json:
            print(f"{len(rows):,} rows; the peer's features ...", flush=True)
        max_tokens = data.options.max_tokens
        peer_data = peer.model_inputs(rows, task_type, spec.text, tokenizer, max_tokens, min(128, max_tokens // 3))
        arguments = {
            "per_device_train_batch_size": config.batch_size, "max_steps": config.steps + peer.CountingTrainer.warm,
            "learning_rate": settings.optim.lr, "weight_decay": settings.optim.weight_decay,
            "bf16": dtype == torch.bfloat16, "use_cpu": device.type == "cpu",
        }  # fmt: skip
        trainers = {
            name: peer.trainer(
                locate.find(config.checkpoint), task_type, peer_data, tokenizer, directory, dropout=config.dropout,
                clock=clock, train_sampling_strategy=order, **arguments,
            )
            for name, order in (("transformers", "random"), ("transformers_grouped", "group_by_length"))
        }  # fmt: skip

        def their_turn(name: str) -> float:
            trainers[name].args.seed += 1  # Each turn then reads other rows.
            trainers[name].train()
            return trainers[name].tokens_per_second

        our_turn()  # The first steps allocate memory. The Trainer leaves its first steps out of every turn.
        peers = {name: lambda name=name: their_turn(name) for name in trainers}
        speeds = measure_in_turns(our_turn, peers, config.rounds, quiet=config.json)
    return {
        "task": f"{config.task}, {len(rows):,} rows",
        "model": f"{config.checkpoint}, {sum(p.numel() for p in model.parameters()):,} parameters",
        "batch": config.batch_size,
        "hardware": describe_hardware(device),
        "dropout": config.dropout,
        "clock": config.clock,
        "precision": str(dtype).removeprefix("torch."),
        "versions": f"torch {torch.__version__}, transformers {transformers.__version__}",
        **speeds,
        "peak_memory_mb": peak_memory_mb(device),
    }


def run(config: FinetuneBenchConfig) -> None:
    """Measure, print and record."""
    measurements = bench(config)
    topic = f"Fine-tuning: tokens per second, {config.task}, {config.checkpoint}, {measurements['precision']}"
    details = {"n": config.rounds, "hardware": measurements["hardware"]}
    results = [
        ratio_result(f"{topic}, rows in random order", measurements, peer="Trainer", **details),
        ratio_result(
            f"{topic}, rows grouped by length", measurements, "ratio_to_transformers_grouped",
            peer="Trainer, group_by_length", **details,
        ),
    ]  # fmt: skip
    report(measurements, results, config)

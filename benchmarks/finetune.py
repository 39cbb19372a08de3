"""`bertlab bench finetune`: measure the speed of fine-tuning, compared with a peer: transformers' Trainer.

The peer is measured twice: with rows in random order, which is its default, and with `group_by_length`.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import datasets
import torch
import transformers
import tyro

from benchmarks import transformers_peer
from benchmarks.harness import CLOCKS, ClockOptions, make_ratio_result, measure_alternately, report
from bertlab.checkpoints import locate
from bertlab.config.tasks import get_task
from bertlab.tasks.task_flags import get_finetune_type
from bertlab.training.devices import describe_hardware
from bertlab.training.finetune import FinetuneConfig, read_data
from bertlab.training.optimizers import Optimizer
from bertlab.training.trainer import Trainer as BertlabTrainer


@dataclass(frozen=True)
class FinetuneBenchConfig(ClockOptions):
    """Measure the tokens per second of fine-tuning, compared with the Trainer of transformers.

    Both implementations run alternately, with the same batch size, dropout, optimiser and precision. Padding tokens are
    not counted.

    Examples:
      bertlab bench finetune sst2 --data glue/sst2
      bertlab bench finetune squad --data squad --batch-size 16 --rounds 3
    """

    task: tyro.conf.Positional[Literal["sst2", "squad"]] = "sst2"
    """The task to fine-tune on."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """The training rows: a file, a directory or a hub id. Default: the task's data on the hub."""
    checkpoint: Annotated[str, tyro.conf.arg(metavar="CHECKPOINT")] = "strongest"
    """The checkpoint that both implementations fine-tune."""
    rows: int = 8000
    """Number of rows to use, counted from the start of the data."""
    batch_size: int = 32
    """Rows, or windows of passages, in a step."""
    steps: int = 20
    """Steps in a round; transformers' Trainer first runs two warm-up steps, which are not counted."""
    rounds: int = 5
    """Number of rounds; each implementation runs once in every round."""
    dropout: float = 0.1
    """Dropout rate of both implementations."""


def measure(config: FinetuneBenchConfig) -> dict:
    """Return the median tokens per second of bertlab and of the peer in both row orders, and their ratios."""
    (device, dtype), spec = config.set_up(), get_task(config.task)
    task_type = get_finetune_type(spec.kind)
    datasets.disable_progress_bars()
    clock = CLOCKS[config.clock]
    rows = transformers_peer.read_task_rows(config.data or spec.hub_id, "train", task_type)[: config.rows]
    with tempfile.TemporaryDirectory() as path:
        directory = Path(path)
        datasets.Dataset.from_list(transformers_peer.drop_row_locations(rows)).to_parquet(
            str(directory / "train.parquet")
        )
        settings = FinetuneConfig(
            task=config.task, from_=config.checkpoint, data=str(directory / "train.parquet"), hold_out=0.0,
            out=directory / "run", batch_size=config.batch_size, dropout=config.dropout, device=config.device,
            threads=config.threads,
        )  # fmt: skip
        data = read_data(settings)
        model = data.make_model(config.dropout)
        optimizer = Optimizer(model, settings.optim, dtype, device)
        batches = data.make_batches(config.batch_size, 0, (0, 1))
        trainer = BertlabTrainer(optimizer, batches, data.loss, steps=1_000_000)
        reports = iter(trainer)

        def run_bertlab() -> float:
            tokens_before, start = trainer.progress.tokens, clock()
            for _ in range(config.steps):
                next(reports)
            return (trainer.progress.tokens - tokens_before) / (clock() - start)

        tokenizer = transformers_peer.load_tokenizer(locate.find(config.checkpoint))
        max_tokens = data.options.max_tokens
        peer_data = transformers_peer.encode_rows(
            rows, task_type, spec.text, tokenizer, max_tokens, min(128, max_tokens // 3)
        )
        arguments = {
            "per_device_train_batch_size": config.batch_size,
            "max_steps": config.steps + transformers_peer.TimedTrainer.warm_up_steps,
            "learning_rate": settings.optim.lr, "weight_decay": settings.optim.weight_decay,
            "bf16": dtype == torch.bfloat16, "use_cpu": device.type == "cpu",
        }  # fmt: skip
        peer_trainers = {
            name: transformers_peer.make_trainer(
                locate.find(config.checkpoint), task_type, peer_data, tokenizer, directory, dropout=config.dropout,
                clock=clock, train_sampling_strategy=order, **arguments,
            )
            for name, order in (("transformers", "random"), ("transformers_grouped", "group_by_length"))
        }  # fmt: skip

        def run_peer(name: str) -> float:
            peer_trainers[name].args.seed += 1  # so that each round reads different rows
            peer_trainers[name].train()
            return peer_trainers[name].tokens_per_second

        run_bertlab()  # a warm-up, because the first steps allocate memory; `TimedTrainer` excludes its own first steps
        run_peers = {name: lambda name=name: run_peer(name) for name in peer_trainers}
        speeds = measure_alternately(run_bertlab, run_peers, config.rounds, quiet=config.json)
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
    }


def run(config: FinetuneBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    topic = f"Fine-tuning: tokens per second, {config.task}, {config.checkpoint}, {measurements['precision']}"
    random, grouped, n = f"{topic}, rows in random order", f"{topic}, rows grouped by length", config.rounds
    ratio, peer = "ratio_to_transformers_grouped", "Trainer, group_by_length"
    results = [
        make_ratio_result(random, measurements, peer="Trainer", target=2.0, n=n),
        make_ratio_result(grouped, measurements, ratio, peer=peer, n=n),
    ]
    report(measurements, results, config)

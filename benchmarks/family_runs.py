"""The individual runs of `bertlab bench families`: pre-training, its evaluation, and fine-tuning on a task."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.files import WEIGHTS
from bertlab.config.families import FAMILIES
from bertlab.config.files import write_atomically
from bertlab.nn.bert import Bert
from bertlab.nn.replaced_tokens import ReplacedTokenModel
from bertlab.tasks.pretraining_objectives import TOKEN_OBJECTIVES, find_token_objective
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.readers.rows import choose_evenly
from bertlab.text.readers.splits import read_split
from bertlab.training.evaluate import EvaluateConfig, evaluate
from bertlab.training.finetune import FinetuneConfig, finetune, read_data
from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.config import PretrainConfig, make_recipe_settings
from bertlab.training.pretraining.metrics import evaluate_pretraining
from bertlab.training.pretraining.pretrain import pretrain
from bertlab.training.pretraining.setup import load_generator
from bertlab.training.run_directory import CHECKPOINT, LOG


@dataclass(frozen=True)
class TaskRecipe:
    """The rows of a task and the settings with which every family is fine-tuned on it."""

    metric: str  # the one of the table
    rows: int  # maximum number of training rows
    epochs: float
    max_tokens: int = 128
    """Maximum number of tokens in an input; for SQuAD, in a window. The default equals that of the inputs of
    pre-training, because pre-training does not train the embeddings of later positions."""
    validation_rows: int | None = None  # maximum number of validation rows; None uses all


TASKS = {
    "sst2": TaskRecipe("accuracy", 4000, 2),
    "mrpc": TaskRecipe("f1", 3668, 2),
    "stsb": TaskRecipe("spearman", 4000, 2),
    "cola": TaskRecipe("matthews", 4000, 2),
    "squad": TaskRecipe("f1", 2000, 1, validation_rows=500),
}
"""Name of a task -> how every family is fine-tuned on it."""
# the tasks of the GLUE benchmark; the table shows the mean of their metrics
GLUE = ("sst2", "mrpc", "stsb", "cola")
# the optimiser settings of fine-tuning, and how many rows or windows a step has
FINETUNING = OptimConfig(lr=3e-4, warmup=0.1, beta2=0.999, eps=1e-8)
FINETUNING_BATCH = 16
WINDOW_STRIDE = 64  # tokens between the starts of two windows of a passage
# The metrics of pre-training that a row contains, if the family has them. Those of the first tuple are measured on
# inputs without sentence pairs; those of the second tuple are copied from the record of the checkpoint.
PRETRAINING_METRICS = ("masked_accuracy", "mlm_loss", "bits_per_character", "replaced_recall", "replaced_precision")
PAIR_METRICS = ("nsp_accuracy", "order_accuracy")


@dataclass(frozen=True, kw_only=True)
class FamilySettings:
    """The settings that all families have in common. Results with different settings are never in one table."""

    minutes: float = 4.0
    """CPU minutes of pre-training, with one thread."""
    layers: int = 2
    """Number of layers."""
    hidden: int = 256
    """Hidden size, which must be that of the teacher."""
    attention_heads: int = 4
    """Attention heads per layer."""
    batch_size: int = 16
    """Inputs per step of pre-training."""
    max_tokens: int = 128
    """Tokens per input of pre-training."""
    chosen_share: float = 0.25
    """Share of all tokens that is chosen for prediction. For modernbert it is always 0.3, as in the paper of
    ModernBERT."""
    lr: float = 1e-3
    """Learning rate of pre-training, with Muon."""
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    """Number format of all runs."""
    evaluation_rows: int = 1024
    """Number of held-out inputs on which masked tokens are evaluated."""
    teacher: Annotated[str, tyro.conf.arg(metavar="CHECKPOINT")] = "scratch"
    """The checkpoint from which distilbert learns and with whose weights it starts. The training of the teacher is not
    counted."""


def make_pretraining_config(
    settings: FamilySettings, family: str, seed: int, out: Path, corpus: Path, validation: Path
) -> PretrainConfig:
    """Make the settings of a pre-training run: the settings of all families, with the changes of the family's paper.

    Families with position embeddings start with heads that attend to neighbouring tokens. The distilled family starts
    with copies of layers of its teacher: every second layer, or fewer.
    """
    changes = dict(FAMILIES[family].pretraining or {})
    if family == "distilbert":
        changes |= {"teacher": settings.teacher, "start": "teacher"}
    common_settings = {
        "layers": settings.layers, "hidden": settings.hidden, "attention_heads": settings.attention_heads,
        "batch_size": settings.batch_size, "max_tokens": settings.max_tokens, "chosen_share": settings.chosen_share,
        "minutes": settings.minutes, "precision": settings.precision,
        "optim": OptimConfig(lr=settings.lr, warmup=0.03, decay=0.6, name="muon"),
    }  # fmt: skip
    return make_recipe_settings(
        corpus, out, family=family, seed=seed, clock="cpu", threads=1, device="cpu", snapshots=False,
        sample_predictions=False, save_minutes=1.0, validation=validation, evaluate_every=10**9, evaluate_rows=16,
        **(common_settings | changes),
    )  # fmt: skip


def run_pretraining(config: PretrainConfig, evaluation_rows: int) -> dict:
    """Pre-train, or continue an interrupted run, and return the values of its row.

    All families are evaluated on the same held-out inputs without sentence pairs, with the same masked tokens.
    """
    for _ in pretrain(config):
        pass
    log = [json.loads(line) for line in (config.out / LOG).read_text(encoding="utf-8").splitlines()]
    last_step = [row for row in log if "step_seconds" in row][-1]
    loaded = checkpoint.load(config.out)
    objective = find_token_objective(loaded.heads)
    model = loaded.model
    if TOKEN_OBJECTIVES[objective].has_generator:
        model = ReplacedTokenModel(model, load_generator(loaded))
    metrics = evaluate_pretraining(
        model, loaded.tokenizer, Corpus.open(config.validation), max_pairs=evaluation_rows,
        max_tokens=config.max_tokens, pair_objective="none", token_objective=objective,
    )  # fmt: skip
    token_metrics = {name: round(value, 4) for name, value in metrics.items() if name in PRETRAINING_METRICS}
    pair_metrics = {name: value for name, value in loaded.record["validation"].items() if name in PAIR_METRICS}
    return {
        "checkpoint": compute_checkpoint_digest(config.out),
        "parameters": count_encoder_parameters(loaded.model),
        "steps": last_step["step"],
        "tokens": last_step["tokens"],
        "tokens_per_second": round(last_step["tokens"] / last_step["seconds"]),
        **token_metrics,
        **{name: round(value, 4) for name, value in pair_metrics.items()},
    }


def run_finetuning(settings: FamilySettings, name: str, seed: int, pretraining: Path, out: Path, rows: Path) -> dict:
    """Fine-tune a checkpoint on a task, and return the values of its row."""
    recipe = TASKS[name]
    config = FinetuneConfig(
        task=name, from_=str(pretraining), data=str(rows), out=out, seed=seed, epochs=recipe.epochs,
        batch_size=FINETUNING_BATCH, max_tokens=recipe.max_tokens, stride=WINDOW_STRIDE, precision=settings.precision,
        device="cpu", threads=1, clock="cpu", optim=FINETUNING, save_minutes=1.0,
    )  # fmt: skip
    # the metrics are computed once, after the run, because evaluating during it would take as long as training
    for _ in finetune(config, replace(read_data(config), measure=None)):
        pass
    metrics = evaluate(EvaluateConfig(task=name, checkpoint=str(out), data=str(rows), threads=1, json=True))
    return {
        "checkpoint": compute_checkpoint_digest(pretraining),
        "metric": recipe.metric,
        "value": round(float(metrics[recipe.metric]), 2),
        "metrics": {key: round(value, 2) for key, value in metrics.items()},
    }


def save_rows(name: str, source: Path, directory: Path, max_rows: int | None = None) -> Path:
    """Write the rows on which all families are fine-tuned, and return their directory."""
    recipe, unlimited = TASKS[name], 10**9
    limits = {
        split: min(limit or unlimited, max_rows or unlimited)
        for split, limit in (("train", recipe.rows), ("validation", recipe.validation_rows))
    }
    path = directory / "-".join([name, *map(str, limits.values())])
    for split, limit in limits.items():
        file = path / f"{split}.jsonl"
        if not file.is_file():
            rows = read_split(source, split).rows
            chosen_rows = [rows[index] for index in choose_evenly(len(rows), limit)]
            write_atomically(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in chosen_rows))
    return path


def count_encoder_parameters(model: Bert) -> int:
    """Count the parameters of the embeddings and layers, without the pooler and the output layers."""
    parts = (model.embeddings, model.encoder)
    return sum({id(p): p.numel() for part in parts for p in part.parameters()}.values())


def compute_checkpoint_digest(run: Path) -> str:
    """Compute a short digest of the weights of a finished run."""
    return hashlib.blake2b((run / CHECKPOINT / WEIGHTS).read_bytes(), digest_size=6).hexdigest()


def describe_pretraining(family: str) -> str:
    """Describe in words what a family is trained on, for the table.

    >>> describe_pretraining("roberta")
    'masked tokens'
    """
    settings: Mapping = FAMILIES[family].pretraining or {}
    tokens = "replaced tokens" if settings.get("token_objective") == "replaced" else "masked tokens"
    pair_texts = {"next": " and next sentence", "order": " and sentence order", "none": ""}
    teacher = " and a teacher's predictions" if family == "distilbert" else ""
    return tokens + pair_texts[settings.get("pair_objective", "next")] + teacher

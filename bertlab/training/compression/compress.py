"""`bertlab compress`: make a fine-tuned checkpoint smaller and faster, and measure what that costs.

Each only if its flag is given: remove top layers, prune heads, neurons and small weights, retrain, store with fewer
bits or as an ONNX file.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
import tyro
from tqdm import tqdm

from bertlab.checkpoints import checkpoint, files, onnx_files
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.checkpoints.prune import prune
from bertlab.checkpoints.shrink import (
    keep_first_layers,
    keep_neurons,
    keep_output_layer,
    require_separate_layers,
    zero_small_weights,
)
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.limits import check_limits
from bertlab.config.text_table import format_table
from bertlab.nn.bert import Bert
from bertlab.nn.fast.linear import supports_bfloat16
from bertlab.nn.onnx_model import OnnxBert
from bertlab.tasks import evaluation
from bertlab.tasks.task_flags import CUSTOM_TASK, TaskFlags, get_finetune_type, make_task_record
from bertlab.tasks.task_type import TaskType
from bertlab.tasks.training_data import TrainingData, TrainingOptions, read_training_data
from bertlab.text.readers.rows import choose_evenly
from bertlab.training.compression.importance import choose_heads_to_prune, choose_neurons_to_keep, compute_importance
from bertlab.training.compression.measure import Measurements, count_weights, measure_speed, one_thread
from bertlab.training.compression.retrain import retrain
from bertlab.training.model_card import render_compression_card

MEASURED_ROWS = 512  # at most so many validation rows are chosen, on whose texts speed is measured
# Makes a progress bar that disappears when it is complete.
_make_bar = partial(tqdm, leave=False, bar_format="{desc} {percentage:5.1f}%|{bar}| {elapsed}<{remaining}")


@dataclass(frozen=True, kw_only=True)
class CompressConfig(TaskFlags):
    """Make a fine-tuned checkpoint smaller and faster, and print its size, speed and metric before and after.

    Without --retrain-steps, only small shares of the heads and neurons should be removed: their importance is measured
    once, before anything is removed, so the more of them are removed, the less reliable it is. Setting weights to zero
    (--magnitude) makes neither the file smaller nor the model faster; it shows how many weights the task needs.

    Examples:
      bertlab compress runs/sst2 --task sst2 --data glue/sst2 --out runs/small --heads 0.4 --retrain-steps 200
      bertlab compress runs/sst2 --task sst2 --data glue/sst2 --out runs/fast --format onnx --weights int8
      bertlab compress runs/sst2 --task sst2 --data glue/sst2 --out runs/tiny --keep-layers 4 --neurons 0.25 \\
          --retrain-steps 500 --format onnx --weights int8
    """

    SECTIONS: ClassVar = {
        "pruning": ("keep_layers", "heads", "neurons", "magnitude"),
        "retraining": ("retrain_steps", "lr", "batch_size", "importance_rows", "seed"),
        "custom task": tuple(TaskFlags.__dataclass_fields__),
    }
    """Headings in `--help`, each with the fields listed below it."""

    checkpoint: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="CHECKPOINT")] = field(kw_only=False)
    """The checkpoint: a directory, the name of a shipped checkpoint, or a hub id."""
    task: Annotated[str, tyro.conf.arg(metavar="TASK")]
    """The task that the checkpoint was fine-tuned on, as in `bertlab finetune`; or custom."""
    out: Annotated[str, tyro.conf.arg(metavar="DIRECTORY")]
    """Where to write the compressed checkpoint."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """The rows of the task: a directory with train and validation files, or a hub id. Default: the task's data set on
    the hub."""
    keep_layers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of layers to keep, counted from the lowest. Default: all."""
    heads: float = 0.0
    """Share of the attention heads to remove, the least important ones first; every layer keeps at least one head."""
    neurons: float = 0.0
    """Share of the feed-forward neurons of every layer to remove, the least important ones first."""
    magnitude: float = 0.0
    """In every matrix of the layers, the share of the weights that is set to zero, the smallest ones first."""
    retrain_steps: int = 0
    """Training steps after the pruning, on the task's training rows. Weights that --magnitude has set to zero stay
    zero."""
    lr: float = 5e-5
    """Peak learning rate of the retraining."""
    batch_size: int = 32
    """Rows in a batch, in the retraining and in the measurement of throughput."""
    importance_rows: int = 512
    """Number of training rows on which the importance of heads and neurons is measured."""
    seed: int = 0
    """Seed of the order of the training rows."""
    format: Literal["checkpoint", "onnx"] = "checkpoint"
    """The kind of file to write: a checkpoint, or an ONNX file, which gives predictions only."""
    weights: Literal["float32", "float16", "bfloat16", "int8"] = "float32"
    """The type of the weights. float16: the file is smaller, but the model computes in float32. bfloat16: speed and
    metric are measured in bfloat16, which the processor must support; open the result with `bertlab.load(DIRECTORY,
    dtype="bfloat16")` to compute in bfloat16. int8: needs --format onnx; every row of a matrix has its own scale, and
    activations are quantised while the model computes."""
    max_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of tokens in an input. Default: as in `bertlab evaluate`."""
    limit: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of rows to evaluate on."""
    replace: bool = False
    """Overwrite an existing checkpoint."""
    json: bool = False
    """Print one JSON object."""


@dataclass(frozen=True)
class CompressionResult:
    """What `compress` did."""

    path: Path  # the directory of the compressed checkpoint
    changes: dict  # what was changed: the number of layers, the pruned heads, the number of neurons, and so on
    before: Measurements  # the measurements of the original checkpoint, in float32 with PyTorch
    after: Measurements  # the measurements of the compressed checkpoint, which was written and opened again


def compress(config: CompressConfig) -> CompressionResult:
    """Compress a checkpoint and measure it before and after."""
    check_limits(config)
    _check_settings(config)
    loaded = checkpoint.load(config.checkpoint)
    if isinstance(loaded.model, OnnxBert):
        raise CheckpointError("onnx-already", name=loaded.name)
    spec = config.make_spec(config.task, loaded.record.get("task") if config.task == CUSTOM_TASK else None)
    task_type = get_finetune_type(spec.kind)
    loaded = replace(loaded, model=keep_output_layer(loaded.model, task_type.head).eval())
    options = evaluation.EvaluationOptions(
        source=config.data or spec.hub_id, is_user_data=bool(config.data), split="validation", task=config.task,
        max_tokens=config.max_tokens, limit=config.limit,
    )  # fmt: skip
    split = evaluation.list_evaluation_splits(task_type, spec, options)[0]
    examples = evaluation.read_examples(task_type, spec, split, loaded, options)
    if not examples.is_labelled:
        raise BertlabError("evaluate-rows-without-labels", name=examples.name)
    # With --json, there is no progress bar.
    bar = (lambda rows, **_: rows) if config.json else _make_bar
    model, changes = _shrink(config, loaded, task_type, spec, bar)
    path = _write(config, loaded, model, changes, make_task_record(spec), bar)
    dtype = torch.bfloat16 if config.weights == "bfloat16" else torch.float32
    with one_thread():
        compressed = checkpoint.load(path, dtype=dtype)
        sample = examples.select(choose_evenly(len(examples), MEASURED_ROWS))
        inputs = evaluation.encode(task_type, loaded, sample, options.max_tokens)
        speeds = measure_speed(
            [loaded.model, compressed.model], task_type.head, inputs, loaded.tokenizer.pad_id,
            batch_size=config.batch_size, progress=partial(bar, desc="measuring speed"),
        )  # fmt: skip
    progress = partial(bar, desc="evaluating")
    metrics = [
        task_type.score(examples, evaluation.predict(task_type, each, examples, options, progress))
        for each in (loaded, compressed)
    ]
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    file = path / (files.ONNX if config.format == "onnx" else files.WEIGHTS)
    is_onnx = isinstance(compressed.model, OnnxBert)
    return CompressionResult(
        path, changes,
        Measurements(4 * parameters / 1e6, count_weights(loaded.model), *speeds[0], metrics[0]),
        Measurements(
            file.stat().st_size / 1e6, count_weights(model) if is_onnx else count_weights(compressed.model), *speeds[1],
            metrics[1],
        ),
    )  # fmt: skip


def _check_settings(config: CompressConfig) -> None:
    if not config.out.strip():
        raise BertlabError("export-no-directory")
    if not config.replace and (Path(config.out).expanduser() / files.CONFIG).exists():
        raise BertlabError("export-checkpoint-exists", path=config.out)
    checkpoint.check_target(config.out)
    # Type of the weights -> the only format that can store it; both formats can store float32.
    needed_format = {"int8": "onnx", "float16": "checkpoint", "bfloat16": "checkpoint"}.get(config.weights)
    if needed_format and config.format != needed_format:
        raise BertlabError("compress-weights-need-format", weights=config.weights, format=needed_format)
    if config.weights == "bfloat16" and not supports_bfloat16():
        raise BertlabError("bfloat16-not-supported")


def _shrink(config: CompressConfig, loaded: Checkpoint, task_type: TaskType, spec, bar) -> tuple[Bert, dict]:
    """Remove what the settings say, and retrain -> the new model and a record of the changes."""
    model, changes, masks = loaded.model, {}, None
    if config.heads or config.neurons or config.keep_layers or config.magnitude:
        require_separate_layers(model.config)
    data = None
    if config.heads or config.neurons or config.retrain_steps:
        data = _read_training_data(config, loaded, task_type, spec)
    if config.keep_layers:
        model = keep_first_layers(model, config.keep_layers)
        changes["layers"] = config.keep_layers
    if config.heads or config.neurons:
        # Batches of 16 rows, all of them for this process: (0, 1) is (rank, number of processes).
        batches = data.make_batches(16, config.seed, (0, 1))
        num_batches = max(1, min(config.importance_rows, data.facts["examples"]) // 16)
        chosen_batches = (next(batches) for _ in bar(range(num_batches), desc="measuring importance"))
        importance = compute_importance(model, chosen_batches, data.loss)
        if config.neurons:
            model = keep_neurons(model, choose_neurons_to_keep(importance.neurons_LI, config.neurons))
            changes["neurons"] = model.config.intermediate_size
        if config.heads:
            heads_to_prune = choose_heads_to_prune(importance.heads_LN, config.heads, model.config.pruned_heads)
            model = prune(model, heads_to_prune)
            changes["pruned_heads"] = [list(pair) for pair in heads_to_prune]
    if config.magnitude:
        model, masks = zero_small_weights(model, config.magnitude)
        changes["zero_weights"] = config.magnitude
    if config.retrain_steps:
        if model is loaded.model:  # train a copy, because the original is still to be measured
            model = keep_output_layer(model, task_type.head)
        step_bar = partial(bar, desc="retraining", total=config.retrain_steps)
        model = retrain(
            model, data, config.retrain_steps, masks=masks, learning_rate=config.lr, batch_size=config.batch_size,
            seed=config.seed, progress=step_bar,
        )  # fmt: skip
        changes["retrain_steps"] = config.retrain_steps
    return model.eval(), changes


def _read_training_data(config: CompressConfig, loaded: Checkpoint, task_type: TaskType, spec) -> TrainingData:
    max_tokens = min(config.max_tokens or loaded.max_tokens_for(0) or task_type.max_tokens, loaded.config.max_tokens)
    options = TrainingOptions(
        data=config.data, validation=None, max_tokens=max_tokens, stride=loaded.stride, seed=config.seed
    )
    data = read_training_data(task_type, spec, loaded, options)
    if data.labels and data.labels != loaded.config.labels:
        raise BertlabError("compress-labels-differ", labels=list(loaded.config.labels), task_labels=list(data.labels))
    return data


def _write(config: CompressConfig, loaded: Checkpoint, model: Bert, changes: dict, task: dict, bar) -> Path:
    kept_fields = {name: value for name, value in loaded.record.items() if name not in ("cloze", "other_tasks", "note")}
    record = kept_fields | {
        "task": task, "validation": {}, "stored": config.weights, "format": config.format,
        "compressed_from": loaded.name, "compression": changes,
    }  # fmt: skip
    card = render_compression_card(Path(config.out).name, record)
    settings = loaded.sentence_settings
    options = {"card": card, "sentence_settings": settings if settings.is_recorded else None}
    arguments = config.out, model, loaded.tokenizer, record
    if config.format == "onnx":
        progress = partial(bar, desc="writing")
        return onnx_files.save(*arguments, weights=config.weights, progress=progress, **options)
    return checkpoint.save(*arguments, dtype=getattr(torch, config.weights), **options)


def run(config: CompressConfig) -> None:
    """Compress, and print the measurements as a table or as JSON."""
    result = compress(config)
    if config.json:
        print(json.dumps({**asdict(result), "path": str(result.path)}))
        return
    rows = [("", "before", "after", "after / before")]
    values = [asdict(each) for each in (result.before, result.after)]
    # Field of `Measurements` -> (title of its row, number format).
    row_formats = {
        "megabytes": ("size in MB", "{:.1f}"), "parameters": ("weights that are not zero", "{:,}"),
        "latency_ms": ("one text in ms (median)", "{:.2f}"), "texts_per_second": ("texts/s in batches", "{:.1f}"),
    }  # fmt: skip
    for name, (title, number_format) in row_formats.items():
        before, after = (each[name] for each in values)
        rows.append((title, number_format.format(before), number_format.format(after), f"{after / before:.2f}"))
    for name, before in result.before.metrics.items():
        after = result.after.metrics[name]
        number_format = "{:.2f}" if isinstance(before, float) else "{:,}"
        change = f"{after - before:+.2f}" if isinstance(before, float) else ""
        rows.append((name.replace("_", " "), number_format.format(before), number_format.format(after), change))
    print("\n".join(format_table(rows, "<>>>")))
    print(f"\n{result.path}: measured with one thread; the size in the column 'before' is four bytes per weight")

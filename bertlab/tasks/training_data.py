"""The data of a fine-tuning run: batches, loss, a model with a new output layer, and metrics on held-out rows."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.examples import Examples, hold_out
from bertlab.tasks.metrics import prefix_metrics
from bertlab.tasks.task_type import TaskType
from bertlab.text.batches import ShuffledSampler
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.readers.rows import choose_evenly
from bertlab.text.readers.splits import available_splits

# The name of the held-out rows in `bertlab.json`, if they were drawn from the training set.
HELD_OUT_OF_TRAINING = "rows drawn from the training set"


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options for reading the rows of a fine-tuning run."""

    data: str | None
    """A file, a directory or a hub id; None uses the task's own data set."""
    validation: str | None
    """The source of the held-out rows; None uses the validation split of `data`."""
    max_tokens: int
    hold_out: float = 0.0
    """The fraction of the training rows to hold out if there is no validation split. No effect on questions."""
    stride: int = 128
    """For passages: the number of tokens between the starts of two consecutive windows."""
    make_unanswerable: float | None = None
    """For questions: how many unanswerable questions to generate per answerable one; None generates none."""
    pooling: str | None = None
    """For sentence vectors: the pooling mode; None uses the pooling mode of the checkpoint."""
    invalid: InvalidRowAction = "stop"
    seed: int = 0


@dataclass(frozen=True)
class TrainingData:
    """The data of a fine-tuning run, and the functions that depend on it."""

    task_type: TaskType
    """The type of the task, adapted to the data."""
    spec: TaskSpec
    """The task; its language and metrics may have been determined from the rows."""
    loaded: Checkpoint
    """The checkpoint that the run starts from."""
    labels: tuple[str, ...]
    """The labels of the new output layer; () for an output layer without labels."""
    make_batches: Callable[[int, int, tuple[int, int]], ShuffledSampler]
    """(batch size, seed, shard) -> endless batches. The shard of a process is (rank, number of processes)."""
    measure: Callable[[Bert, int | None, Callable], dict] | None
    """(model, maximum number of rows or None, progress) -> metrics on the held-out rows; None without such rows."""
    facts: dict
    """What `bertlab.json` records: `examples`, `skipped`, `held_out` (numbers of rows), `measured_on` (the source of
    the held-out rows), and what only some task types have, such as `value_range`."""
    options: TrainingOptions
    fingerprint: dict
    """Identifies the training rows and the teacher; a run is resumed only if they are unchanged."""
    loss: Callable
    """The loss function, (model, batch) -> Loss."""
    teacher: Bert | None = None
    """The model whose predictions the loss reads (`tasks.distillation`)."""
    build_model: Callable[[float], nn.Module] | None = None
    """Dropout rate -> the model to train, for a model that is more than a BERT with an output layer (`nn.bilstm`). A
    checkpoint cannot store such a model, so the run saves only its metrics and log."""

    def make_model(self, dropout: float) -> nn.Module:
        """Make the model that training starts from."""
        if self.build_model is not None:
            return self.build_model(dropout)
        return make_finetuning_model(self.loaded.model, self.task_type.head, dropout, self.labels)


def read_training_data(
    task_type: TaskType, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions
) -> TrainingData:
    """Read, check and tokenise the rows of a fine-tuning run.

    Raises:
        BertlabError: the rows are not rows of the task, or there is nothing to train on.
    """
    source, invalid_rows = options.data or spec.hub_id, InvalidRows(options.invalid)
    rows = task_type.open_rows(source, "train", invalid_rows=invalid_rows)
    train = task_type.extend_training(task_type.read(rows, spec, (), invalid_rows, training=True), options)
    held_out: dict[str, Examples] = {}
    for split in find_held_out_splits(spec, options.data, options.validation):
        rows = task_type.open_rows(options.validation or source, split, invalid_rows=invalid_rows)
        held_out[split] = task_type.read(rows, spec, train.labels, invalid_rows)
    if not held_out and options.hold_out and not task_type.reads_windows:
        order = np.random.default_rng(options.seed).permutation
        train, held_out[HELD_OUT_OF_TRAINING] = hold_out(train, options.hold_out, order)
    for examples in held_out.values():
        if not examples.is_labelled:
            raise BertlabError("held-out-rows-without-labels", name=examples.name)
    task_type = task_type.adapt_to_training(task_type, loaded, options, train)
    features = task_type.encode(loaded.tokenizer, train, options.max_tokens)
    held_out_features = {
        split: task_type.encode(loaded.tokenizer, examples, options.max_tokens) for split, examples in held_out.items()
    }

    def measure(model: Bert, limit: int | None, progress: Callable) -> dict:
        metrics: dict = {}
        for index, (split, split_features) in enumerate(held_out_features.items()):
            examples = split_features.examples
            if limit is not None and limit < len(examples):
                examples = examples.select(choose_evenly(len(examples), limit))
                split_features = task_type.encode(loaded.tokenizer, examples, options.max_tokens)
            outputs = task_type.compute_outputs(model, split_features, progress=progress)
            split_metrics = task_type.score(examples, task_type.choose(examples, outputs))
            metrics |= prefix_metrics(split_metrics, split, is_first=index == 0)
        return metrics

    facts = {"examples": len(train), "skipped": len(invalid_rows), "held_out": sum(map(len, held_out.values()))}
    if held_out:
        source_name = Path(str(options.validation or source)).name
        facts["measured_on"] = [HELD_OUT_OF_TRAINING if HELD_OUT_OF_TRAINING in held_out else source_name]
    return TrainingData(
        task_type,
        train.spec,
        loaded,
        train.labels if task_type.has_labels else (),
        features.make_batches,
        measure if held_out else None,
        facts | task_type.collect_facts(features),
        options,
        {"examples": len(train), "digest": features.digest},
        task_type.loss,
    )


def find_held_out_splits(spec: TaskSpec, data: str | None, validation: str | None) -> tuple[str, ...]:
    """Find the held-out splits: those of `validation` or, without it, of the training data set."""
    if validation:
        return available_splits(validation, spec.validation, "validation") or spec.validation[:1]
    if data is None:
        return spec.validation
    return () if Path(data).is_file() else available_splits(data, spec.validation, "validation")


def make_finetuning_model(start_model: Bert, head: str, dropout: float, labels: tuple[str, ...] = ()) -> Bert:
    """Copy a model, and replace its output layers with one output layer (or none) that has random weights.

    If the model already has an output layer with this name and these labels, the weights of this output layer are
    copied too. A model that was fine-tuned on SQuAD v1.1, for example, can thus be fine-tuned further on v2.0.
    """
    config = start_model.config.replace(hidden_dropout=dropout, attention_dropout=dropout, labels=labels)
    model = FastBert(config, heads=[head] if head else [])
    keeps_head = head in start_model.heads and start_model.config.labels == labels
    weights = {
        name: tensor
        for name, tensor in start_model.state_dict().items()
        if not name.startswith("heads.") or (keeps_head and name.startswith(f"heads.{head}."))
    }
    model.load_state_dict(weights, strict=False)
    if not keeps_head:
        # The seed also depends on the weights of the model. Otherwise, fine-tuning a fine-tuned checkpoint with the
        # same seed would start from the same output layer as the first fine-tuning.
        with torch.random.fork_rng([]):
            weight = model.pooler.dense.weight if config.has_pooler_layer else model.embeddings.position.weight
            torch.manual_seed(torch.initial_seed() + zlib.crc32(weight.detach().numpy().tobytes()))
            model.heads.apply(model.initialise_weights)
    return model

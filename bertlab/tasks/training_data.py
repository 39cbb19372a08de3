"""The data of a fine-tuning run: batches, loss, a model with a new output layer, and metrics on held-out rows."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.text.batches import ShuffledSampler
from bertlab.text.readers.invalid_rows import InvalidRowAction

if TYPE_CHECKING:
    from bertlab.tasks.distillation import DistilledLabelLoss
    from bertlab.tasks.task_type import FinetuneTaskType

# The name of the held-out rows in `bertlab.json`, if they were drawn from the training set.
HELD_OUT_OF_TRAINING = "rows drawn from the training set"


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options for reading the rows of a fine-tuning run."""

    data: str | None
    """A file, a directory or a hub id; None uses the task's own data set."""
    validation: str | None
    """A file, a directory or a hub id of held-out rows; None uses the validation split of `data`."""
    max_tokens: int
    """Maximum number of tokens in an input."""
    hold_out: float = 0.0
    """The fraction of the training rows to hold out if there is no validation split; 0 holds out none."""
    stride: int = 128
    """For passages: the number of tokens between the starts of two consecutive windows."""
    make_unanswerable: float | None = None
    """For questions: how many unanswerable questions to generate per answerable one; None generates none."""
    pooling: str | None = None
    """For sentence vectors: the pooling mode; None uses the pooling mode of the checkpoint."""
    invalid: InvalidRowAction = "stop"
    """What to do with an invalid row."""
    seed: int = 0
    """Seed of all random choices."""


@dataclass(frozen=True)
class TrainingData:
    """The data of a fine-tuning run, and the functions that depend on it."""

    task_type: "FinetuneTaskType"
    """The type of the task."""
    spec: TaskSpec
    """The task; its language and metrics may have been determined from the rows."""
    loaded: Checkpoint
    """The checkpoint that the run starts from."""
    labels: tuple[str, ...]
    """The labels of the new output layer; () for an output layer without labels."""
    make_batches: Callable[[int, int, tuple[int, int]], ShuffledSampler]
    """Function: (batch size, seed, shard) -> endless batches. The shard of a process is (rank, number of processes)."""
    measure: Callable[[Bert, int | None, Callable], dict] | None
    """Function: (model, maximum number of rows or None, progress) -> metrics on the held-out rows. None if there are no
    such rows."""
    facts: dict
    """What `bertlab.json` records about the rows: `examples` (the number of training rows), `skipped` (the number of
    invalid rows), `held_out` (the number of held-out rows; missing for question answering), `measured_on` (the source
    of the held-out rows, if there are any), and properties that only some task types have, such as `value_range`."""
    options: TrainingOptions
    """The options with which the rows were read."""
    digest: int
    """A checksum of the tokens and targets; it depends on their order."""
    build_model: Callable[[float], nn.Module] | None = None
    """Function: dropout rate -> the model to train, for a model that is more than a BERT with an output layer
    (`nn.bilstm`). A checkpoint cannot store such a model, so the run saves only its metrics and log. None if the model
    is a BERT with an output layer."""
    distillation: "DistilledLabelLoss | None" = None
    """The loss function of a run with a teacher; None without a teacher."""

    @property
    def loss(self) -> Callable:
        """The loss function: `distillation` if there is a teacher, otherwise the loss of the task type."""
        return self.distillation or self.task_type.loss

    @property
    def fingerprint(self) -> dict:
        """A fingerprint of the training rows and the teacher; a run is resumed only if they are unchanged."""
        teacher = {"teacher": self.distillation.teacher_digest} if self.distillation else {}
        return {"examples": self.facts["examples"], "digest": self.digest, **teacher}

    def make_model(self, dropout: float) -> nn.Module:
        """Make the model that training starts from."""
        if self.build_model is not None:
            return self.build_model(dropout)
        return make_finetuning_model(self.loaded.model, self.task_type.head, dropout, self.labels)


def make_finetuning_model(start_model: Bert, head: str, dropout: float, labels: tuple[str, ...] = ()) -> Bert:
    """Copy a model, and replace its output layers with one output layer that has random weights.

    If the model already has an output layer with this name and these labels, the weights of this output layer are
    copied too. A model that was fine-tuned on SQuAD v1.1, for example, can thus be fine-tuned further on v2.0.

    Args:
        start_model: the model whose weights are copied.
        head: the key of the output layer in `nn.heads.HEADS`; "" for no output layer.
        dropout: the dropout rate of the new model.
        labels: the labels of the output layer; () for an output layer without labels.
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


def checksum(arrays: Sequence[np.ndarray]) -> int:
    """Compute the CRC-32 of the concatenated bytes of several arrays."""
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return value

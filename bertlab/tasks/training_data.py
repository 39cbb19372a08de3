"""The data of a fine-tuning run: batches, the loss, a model with a new task head, and held-out metrics."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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
    from bertlab.tasks.task_type import FinetuneTaskType

HELD_OUT_OF_TRAINING = "rows drawn from the training set"


class Share(NamedTuple):
    """The rows of every batch that this process reads: every `processes`-th row, starting at `rank`."""

    rank: int = 0
    processes: int = 1


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How the rows of a fine-tuning run are read."""

    data: str | None
    """A file, a directory or a hub id; None uses the task's own data set."""
    validation: str | None
    """A file, a directory or a hub id of held-out rows; None uses the validation split of `data`."""
    max_tokens: int
    """Maximum number of tokens in an input."""
    hold_out: float = 0.0
    """The share of the training rows to hold out if there is no validation split."""
    stride: int = 128
    """For passages: the number of tokens between the starts of two windows."""
    make_unanswerable: float | None = None
    """For questions: how many unanswerable questions to generate for each answerable one."""
    invalid: InvalidRowAction = "stop"
    """What happens to an invalid row."""
    seed: int = 0
    """Seed of all random choices."""


@dataclass(frozen=True)
class TrainingData:
    """Everything that a fine-tuning run reads."""

    task_type: "FinetuneTaskType"
    """The type of the task."""
    spec: TaskSpec
    """The task, with the language and metrics that these rows determine."""
    loaded: Checkpoint
    """The checkpoint that the run starts from."""
    labels: tuple[str, ...]
    """The labels of the new task head; () for a task head without labels."""
    make_batches: Callable[[int, int, tuple[int, int]], ShuffledSampler]
    """(batch size, seed, `Share` of this process) -> endless batches."""
    measure: Callable[[Bert, int | None, Callable], dict] | None
    """(model, maximum number of rows or None, progress) -> metrics on the held-out rows; None without such rows."""
    facts: dict
    """Facts about these rows that `bertlab.json` records."""
    options: TrainingOptions
    """How the rows were read."""
    digest: int
    """A checksum of the tokens and targets, in their order."""
    build: Callable[[float], nn.Module] | None = None
    """dropout rate -> the model to train, if it has other weights than an encoder and a task head (`nn.bilstm`). A
    checkpoint cannot store such weights, so the run then saves only its metrics and log."""

    @property
    def loss(self) -> Callable:
        """The loss of the task type."""
        return self.task_type.loss

    @property
    def fingerprint(self) -> dict:
        """Identifies the training rows, so that a run is not resumed with other rows."""
        return {"examples": self.facts["examples"], "digest": self.digest}

    def new_model(self, dropout: float) -> nn.Module:
        """The model that training begins with."""
        if self.build is not None:
            return self.build(dropout)
        return add_task_head(self.loaded.model, self.task_type.head, dropout, self.labels)


def add_task_head(encoder: Bert, head: str, dropout: float, labels: tuple[str, ...] = ()) -> Bert:
    """Put a new task head with random weights on an encoder, without the output layers of pre-training.

    A task head with the same name and labels keeps its weights, so that, for example, a model of SQuAD v1.1 can be
    fine-tuned further on v2.0.
    """
    config = encoder.config.replace(hidden_dropout=dropout, attention_dropout=dropout, labels=labels)
    model = FastBert(config, heads=[head])
    keeps_head = head in encoder.heads and encoder.config.labels == labels
    weights = {
        name: tensor
        for name, tensor in encoder.state_dict().items()
        if not name.startswith("heads.") or (keeps_head and name.startswith(f"heads.{head}."))
    }
    model.load_state_dict(weights, strict=False)
    if not keeps_head:
        # The seed also depends on the encoder. Otherwise a checkpoint that was fine-tuned with the same seed would get
        # the weights that its old task head started from.
        with torch.random.fork_rng([]):
            torch.manual_seed(torch.initial_seed() + zlib.crc32(model.pooler.dense.weight.detach().numpy().tobytes()))
            model.heads.apply(model.initialise_weights)
    return model


def checksum(arrays: Sequence[np.ndarray]) -> int:
    """Compute the CRC-32 of several arrays; it depends on the order of tokens, rows and targets."""
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return value

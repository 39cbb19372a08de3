"""What a task gives to a fine-tuning run: batches, a loss, a model with a new task head, and held-out metrics."""

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
    """Which rows of every batch are this process's: those from `rank` in steps of `processes`."""

    rank: int = 0
    processes: int = 1


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How the rows of a fine-tuning run are read."""

    data: str | None
    """A file, a directory or a hub id; None is the task's own."""
    validation: str | None
    """Held-out rows; None is what lies beside `data`."""
    max_tokens: int
    """Tokens of an input."""
    hold_out: float = 0.0
    """The share of the training rows to hold out where there are no held-out rows."""
    stride: int = 128
    """For passages: how far each window begins after the one before, in tokens."""
    make_unanswerable: float | None = None
    """For questions: how many without an answer to make for each one with an answer."""
    invalid: InvalidRowAction = "stop"
    """What happens to an invalid row."""
    seed: int = 0
    """Seed of everything drawn at random."""


@dataclass(frozen=True)
class TrainingData:
    """Everything that a fine-tuning run reads."""

    task_type: "FinetuneTaskType"
    """The type of the task."""
    spec: TaskSpec
    """The task, as these rows make it precise (its language, its metrics)."""
    loaded: Checkpoint
    """The checkpoint that the run starts from."""
    labels: tuple[str, ...]
    """The labels of the new task head; () for a head without labels."""
    make_batches: Callable[[int, int, tuple[int, int]], ShuffledSampler]
    """(batch size, seed, share of this process) -> endless batches."""
    measure: Callable[[Bert, int | None, Callable], dict] | None
    """(model, most rows or None, progress) -> metrics on the held-out rows; None where there are none."""
    facts: dict
    """What `bertlab.json` records of these rows."""
    options: TrainingOptions
    """How they were read."""
    digest: int
    """A checksum of the tokens and targets, in their order."""
    build: Callable[[float], nn.Module] | None = None
    """dropout -> the model to train, where that is more than the encoder under one output layer (`nn.bilstm`). Such
    weights have no place in a checkpoint, so the run then leaves only its metrics and log."""

    @property
    def loss(self) -> Callable:
        """The loss of the task type."""
        return self.task_type.loss

    @property
    def fingerprint(self) -> dict:
        """What tells other training rows from the same ones when a run is resumed."""
        return {"examples": self.facts["examples"], "digest": self.digest}

    def new_model(self, dropout: float) -> nn.Module:
        """The model that training begins with."""
        if self.build is not None:
            return self.build(dropout)
        return add_task_head(self.loaded.model, self.task_type.head, dropout, self.labels)


def add_task_head(encoder: Bert, head: str, dropout: float, labels: tuple[str, ...] = ()) -> Bert:
    """The encoder under a task head with random weights, without the heads of pre-training, as in the paper.

    A head of the same name and labels is kept: a model that answers every question learns from there to refuse some.
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
        # a checkpoint that was fine-tuned with this seed began with the very weights that would be drawn here
        with torch.random.fork_rng([]):
            torch.manual_seed(torch.initial_seed() + zlib.crc32(model.pooler.dense.weight.detach().numpy().tobytes()))
            model.heads.apply(model.initialise_weights)
    return model


def checksum(arrays: Sequence[np.ndarray]) -> int:
    """CRC-32 over several arrays; another order of tokens, rows or targets almost certainly differs."""
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return value

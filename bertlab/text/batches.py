"""Rows to batches: shuffled for training, longest first for prediction.

Training batches are not sorted by length, although neighbours in length would need less padding: rows of like
length are alike in other ways too, so the gradient of such a batch is biased (docs/lab-notebook.md). Padding
is left out of the arithmetic instead (`nn.fast.layouts`).

Shape legend: B batch, T tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.text.batch import Batch, collate


@dataclass(frozen=True)
class Position:
    """A position in the training data."""

    epoch: int = 0
    """The epoch, from 0."""
    batch: int = 0
    """Batches of it that are done."""


def shuffled_epoch(count: int, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Batches of row numbers that contain every row once, in an order that is a pure function of (seed, epoch).

    >>> [len(batch) for batch in shuffled_epoch(5, 2, seed=0, epoch=0)]
    [2, 2, 1]
    """
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return [order[i : i + batch_size] for i in range(0, count, batch_size)]


class ShuffledSampler:
    """Endless shuffled batches.

    Args:
        count: rows in the data set.
        batch_size: rows in a batch, over all processes.
        seed: of the order of rows.
        make: builds a batch from an array of row numbers.
        share: (process, processes): this process gets every `processes`-th row of a batch.

    `position` is where the next batch begins; assign it to resume.
    """

    def __init__(
        self,
        count: int,
        batch_size: int,
        seed: int,
        make: Callable[[np.ndarray], object],
        share: tuple[int, int] = (0, 1),
    ):
        self.share = share
        self.count, self.batch_size, self.seed, self.make = count, batch_size, seed, make
        self.position = Position()
        self._epoch: tuple[int, list[np.ndarray]] | None = None

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return -(-self.count // self.batch_size)

    def update_progress(self, progress: float) -> bool:
        """Whether the batches change in kind from now on; never, unlike those of `PairSampler`."""
        return False

    def __iter__(self):
        return self

    def __next__(self):
        if self._epoch is None or self._epoch[0] != self.position.epoch:
            epoch = self.position.epoch
            self._epoch = (epoch, shuffled_epoch(self.count, self.batch_size, self.seed, epoch))
        batches = self._epoch[1]
        first, step = self.share
        rows = batches[self.position.batch]
        made = self.make(rows[first::step])
        last = self.position.batch + 1 == len(batches)
        self.position = (
            Position(self.position.epoch + 1, 0) if last else Position(self.position.epoch, self.position.batch + 1)
        )
        return made


def score(
    inputs: Sequence, ask: Callable[[Batch], torch.Tensor], pad_id: int, batch_size: int = 32, progress: Callable = iter
) -> list[np.ndarray]:
    """Run a model on every input, longest first, so that the largest batch is allocated first.

    Args:
        inputs: anything that `collate` accepts.
        ask: a function from a batch to a tensor with one row for each input.
        pad_id: the token id of padding.
        batch_size: inputs in a batch.
        progress: wraps the iterator over batches (for example `tqdm`).

    Returns:
        a float32 array for each input, in their order; values at padding positions are still in it.
    """
    order = np.argsort([-len(inputs[i]) for i in range(len(inputs))], kind="stable")
    outputs: list[np.ndarray] = [np.empty(0)] * len(order)
    for first in progress(range(0, len(order), batch_size)):
        rows = order[first : first + batch_size]
        batch = ask(collate([inputs[int(i)] for i in rows], pad_id)).float().cpu().numpy()
        for i, output in zip(rows, batch, strict=True):
            outputs[i] = output
    return outputs


def score_spans(
    windows: Sequence,
    ask: Callable[[Batch], torch.Tensor],
    pad_id: int,
    batch_size: int = 32,
    progress: Callable = iter,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Start and end logits of every window.

    Args:
        ask: a function from a batch to logits_BT2; the other arguments as of `score`.

    Returns:
        two lists of float32 arrays [T], in the order of `windows`.
    """
    padded = score(windows, ask, pad_id, batch_size, progress)
    logits = [logits_T2[: len(window)] for logits_T2, window in zip(padded, windows, strict=True)]
    return [logits_T2[:, 0] for logits_T2 in logits], [logits_T2[:, 1] for logits_T2 in logits]

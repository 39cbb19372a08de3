"""Batches of rows: shuffled for training, longest first for prediction.

Training batches are not grouped by length, although that would need less padding. Rows of similar length are similar in
other ways too, so the gradient of such a batch would be biased (docs/lab-notebook.md). Instead, the model skips padding
in its computation (`nn.fast.layouts`).

Shape legend: B batch, T tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.text.batch import Batch, collate


@dataclass(frozen=True)
class Position:
    """A position in the sequence of shuffled batches of a run."""

    epoch: int = 0
    batch: int = 0  # how many batches of this epoch are done, which is also the index of the next batch


def shuffle_epoch(count: int, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Split shuffled row indices into batches; the order is a pure function of (seed, epoch).

    >>> [len(batch) for batch in shuffle_epoch(5, 2, seed=0, epoch=0)]
    [2, 2, 1]
    """
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return [order[i : i + batch_size] for i in range(0, count, batch_size)]


class ShuffledSampler:
    """Endless shuffled batches.

    Args:
        shard: (rank, number of processes); this process gets rows[rank::num_processes] of each batch.

    `position` is the position of the next batch; assign to it to resume.
    """

    def __init__(
        self,
        count: int,
        batch_size: int,
        seed: int,
        make_batch: Callable[[np.ndarray], object],
        shard: tuple[int, int] = (0, 1),
    ):
        self.shard = shard
        self.count, self.batch_size, self.seed, self.make_batch = count, batch_size, seed, make_batch
        self.position = Position()
        self._epoch: tuple[int, list[np.ndarray]] | None = None  # the epoch, the row indices of its batches

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return -(-self.count // self.batch_size)

    def update_progress(self, progress: float) -> bool:
        """Return False, because progress changes nothing here; batches of pairs may change (`PairSampler`)."""
        return False

    def __iter__(self):
        return self

    def __next__(self):
        if self._epoch is None or self._epoch[0] != self.position.epoch:
            epoch = self.position.epoch
            self._epoch = (epoch, shuffle_epoch(self.count, self.batch_size, self.seed, epoch))
        batches = self._epoch[1]
        rank, num_processes = self.shard
        rows = batches[self.position.batch]
        batch = self.make_batch(rows[rank::num_processes])
        is_last = self.position.batch + 1 == len(batches)
        self.position = (
            Position(self.position.epoch + 1, 0) if is_last else Position(self.position.epoch, self.position.batch + 1)
        )
        return batch


def score(
    inputs: Sequence,
    compute: Callable[[Batch], torch.Tensor],
    pad_id: int,
    batch_size: int = 32,
    progress: Callable = iter,
) -> list[np.ndarray]:
    """Run a model on every input, longest first, so that the largest batch is allocated first.

    Args:
        compute: a function that takes a batch and returns a tensor with one row for each input.

    Returns:
        one float32 array for each input, in the order of `inputs`. The arrays include the values at padding positions.
    """
    order = np.argsort([-len(inputs[i]) for i in range(len(inputs))], kind="stable")
    outputs: list[np.ndarray] = [np.empty(0)] * len(order)
    for first in progress(range(0, len(order), batch_size)):
        rows = order[first : first + batch_size]
        batch = collate([inputs[int(i)] for i in rows], pad_id)
        for i, output in zip(rows, compute(batch).float().cpu().numpy(), strict=True):
            outputs[i] = output
    return outputs


def score_spans(
    windows: Sequence,
    compute: Callable[[Batch], torch.Tensor],
    pad_id: int,
    batch_size: int = 32,
    progress: Callable = iter,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Compute the start logits and the end logits of every window: two lists of float32 arrays [T]; see `score`."""
    padded = score(windows, compute, pad_id, batch_size, progress)
    logits = [logits_T2[: len(window)] for logits_T2, window in zip(padded, windows, strict=True)]
    return [logits_T2[:, 0] for logits_T2 in logits], [logits_T2[:, 1] for logits_T2 in logits]

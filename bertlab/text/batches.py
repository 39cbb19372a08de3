"""Rows -> batches: shuffled where they are learned from, longest first where a model is asked about them.

Batches to learn from are not sorted by length, although neighbours in length would need less padding: rows alike in
length are alike in more, and what a batch of them teaches is lopsided (docs/lab-notebook.md). Padding
is left out of the arithmetic instead (`nn.fast.layouts`).

Shape legend: B batch, T tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.text.batch import Batch, collate


@dataclass(frozen=True)
class Place:
    """Where in the data a run stands: the epoch, and how many batches of it are done."""

    epoch: int = 0
    batch: int = 0


def shuffled_epoch(count: int, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """All rows once, in batches, in an order that is a pure function of (seed, epoch).

    >>> [len(batch) for batch in shuffled_epoch(5, 2, seed=0, epoch=0)]
    [2, 2, 1]
    """
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return [order[i : i + batch_size] for i in range(0, count, batch_size)]


class ShuffledSampler:
    """Endless batches of row numbers made into whatever `make` makes of them; `place` is where the next one begins."""

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
        self.place = Place()
        self._epoch: tuple[int, list[np.ndarray]] | None = None

    def __len__(self) -> int:
        """Batches in an epoch."""
        return -(-self.count // self.batch_size)

    def turn(self, done: float) -> bool:
        """Batches stay of one kind, however much of the run is done."""
        return False

    def __iter__(self):
        return self

    def __next__(self):
        if self._epoch is None or self._epoch[0] != self.place.epoch:
            epoch = self.place.epoch
            self._epoch = (epoch, shuffled_epoch(self.count, self.batch_size, self.seed, epoch))
        batches = self._epoch[1]
        first, step = self.share
        rows = batches[self.place.batch]
        made = self.make(rows[first::step])
        last = self.place.batch + 1 == len(batches)
        self.place = Place(self.place.epoch + 1, 0) if last else Place(self.place.epoch, self.place.batch + 1)
        return made


def score(
    inputs: Sequence, ask: Callable[[Batch], torch.Tensor], pad_id: int, batch_size: int = 32, progress: Callable = iter
) -> list[np.ndarray]:
    """What a model says of every input, longest first, so that memory is asked for once.

    Args:
        inputs: anything that `collate` takes.
        ask: a batch -> a tensor with one row for each input.
        progress: wraps the parts the inputs are taken in (say, `tqdm`).

    Returns:
        a float32 array for each input, in their order; what is said of padding is still in it.
    """
    order = np.argsort([-len(inputs[i]) for i in range(len(inputs))], kind="stable")
    said: list[np.ndarray] = [np.empty(0)] * len(order)
    for first in progress(range(0, len(order), batch_size)):
        rows = order[first : first + batch_size]
        found = ask(collate([inputs[int(i)] for i in rows], pad_id)).float().cpu().numpy()
        for i, own in zip(rows, found, strict=True):
            said[i] = own
    return said


def score_spans(
    windows: Sequence,
    ask: Callable[[Batch], torch.Tensor],
    pad_id: int,
    batch_size: int = 32,
    progress: Callable = iter,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Start and end logits of every window: two lists of float32 arrays [T], in the order of `windows`.

    Args:
        ask: a batch -> logits_BT2; the others as of `score`.
    """
    said = [own[: len(w)] for own, w in zip(score(windows, ask, pad_id, batch_size, progress), windows, strict=True)]
    return [own[:, 0] for own in said], [own[:, 1] for own in said]

"""Endless batches of sentence pairs from a prepared corpus, in an order that is a pure function of (seed, epoch).

A position in that order is four values, so resuming a run replays nothing.

Shape legend: B batch, T tokens, E pairs of a block.
"""

import weakref
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch

from bertlab.config.errors import DataError
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.pretraining import worker_process
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.sentence_pairs import Documents, PairObjectiveName, Pairs, make_pairs

MAX_EMPTY_EPOCHS = 20  # in a row; a small weight may leave all documents out of an epoch


@dataclass(frozen=True)
class Position:
    """A position in the training data."""

    epoch: int = 0
    """The epoch, from 0."""
    block: int = 0
    """Blocks of it that are done."""
    row: int = 0
    """The next pair of this block."""
    longer: bool = False
    """Whether the pairs are the longer ones of the last part."""


@dataclass(frozen=True)
class LongPairs:
    """Longer pairs in the last part of a run, so that all position embeddings are trained."""

    max_tokens: int
    """Tokens of a longer pair."""
    share: float
    """The share of the run that has them."""


class PairSampler:
    """Endless batches of sentence pairs; `position` is where the next batch begins.

    Documents come in blocks: the blocks in a new order each epoch, the pairs of a block drawn and shuffled anew. Pairs
    that do not fill the last batch of a block are left out, unless they are all it has.

    Args:
        corpus: the prepared corpus.
        tokenizer: its tokenizer.
        batch_size: pairs in a batch, over all processes.
        max_tokens: tokens of a pair.
        seed: of all that is drawn.
        position: where to begin.
        share: (process, processes): this process gets every `processes`-th pair of a batch, which may be none.
        pair_objective: the sentence-pair objective.
        longer: longer pairs in the last part of a run, fewer in a batch, so that a batch has as many tokens.
        ahead: blocks whose pairs are drawn in advance, each by a worker process; that changes no batch.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizer,
        batch_size: int,
        max_tokens: int,
        seed: int,
        position: Position | None = None,
        share: tuple[int, int] = (0, 1),
        pair_objective: PairObjectiveName = "next",
        longer: LongPairs | None = None,
        ahead: int = 0,
    ):
        self.corpus, self.tokenizer = corpus, tokenizer
        self.batch_size, self.max_tokens, self.seed = batch_size, max_tokens, seed
        self.position, self.share = position or Position(), share
        self.pair_objective, self.longer = pair_objective, longer
        self._loaded: tuple | None = None
        self.ahead, self._pool, self._pending = ahead, None, {}

    def update_progress(self, progress: float) -> bool:
        """Switch to longer pairs in the last part of the run.

        Args:
            progress: the share of the run that is done, 0 to 1.

        Returns:
            whether pairs are longer from now on; they begin with the next block.
        """
        if self.longer is None or self.position.longer or progress < 1 - self.longer.share:
            return False
        self.position = replace(self._next_block() if self.position.row else self.position, longer=True)
        return True

    def __iter__(self):
        return self

    def __next__(self) -> PairBatch:
        for _ in range(MAX_EMPTY_EPOCHS * self.corpus.num_blocks):
            documents, pairs, order_E = self._block(self.position)
            if len(order_E):
                break
            self.position = self._next_block()
        else:
            raise DataError("corpus-without-pairs")
        batch_size, _ = self._size()
        rows = order_E[self.position.row : self.position.row + batch_size]
        first, step = self.share
        batch = self._assemble(documents, pairs, rows[first::step])
        done = self.position.row + len(rows)
        self.position = replace(self.position, row=done) if len(order_E) - done >= batch_size else self._next_block()
        return batch

    def _size(self) -> tuple[int, int]:
        """Pairs in a batch, and tokens in a pair."""
        if not self.position.longer:
            return self.batch_size, self.max_tokens
        return max(1, round(self.batch_size * self.max_tokens / self.longer.max_tokens)), self.longer.max_tokens

    def _next_block(self) -> Position:
        return self._after(self.position)

    def _after(self, position: Position) -> Position:
        if position.block + 1 < self.corpus.num_blocks:
            return replace(position, block=position.block + 1, row=0)
        return replace(position, epoch=position.epoch + 1, block=0, row=0)

    def _block(self, position: Position) -> "Drawn":
        block = replace(position, row=0)
        if self._loaded is None or self._loaded[0] != block:
            pending = self._pending.pop(block, None)
            self._loaded = (block, pending.result() if pending else _draw(self.corpus, *self._order(block)))
            tokens, size = self._loaded[1][0].tokens, self.tokenizer.vocab_size
            if len(tokens) and tokens.max() >= size:
                raise DataError("corpus-token-unknown", id=int(tokens.max()), size=size)
            self._draw_ahead(block)
        return self._loaded[1]

    def _order(self, position: Position) -> tuple:
        longer = position.longer and self.longer
        max_tokens = self.longer.max_tokens if longer else self.max_tokens
        return self.seed, position.epoch, position.block, max_tokens, self.pair_objective

    def _draw_ahead(self, position: Position) -> None:
        if self.ahead and self._pool is None:
            self._pool = ProcessPoolExecutor(self.ahead, initializer=_begin_apart, initargs=(self.corpus,))
            weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        drawings = {}
        for _ in range(self.ahead):
            position = self._after(position)
            drawings[position] = self._pending.pop(position, None) or self._pool.submit(
                _draw_apart, *self._order(position)
            )
        for stale in self._pending.values():
            stale.cancel()
        self._pending = drawings

    def _assemble(self, documents: Documents, pairs: Pairs, rows: np.ndarray) -> PairBatch:
        """Build [CLS] A [SEP] B [SEP], or [CLS] A [SEP] where B is empty, for all pairs at once."""
        cls_id, sep_id, pad_id = self.tokenizer.cls_id, self.tokenizer.sep_id, self.tokenizer.pad_id
        a_start, a_length = pairs.a_start_E[rows, None], pairs.a_length_E[rows, None]
        b_start, b_length = pairs.b_start_E[rows, None], pairs.b_length_E[rows, None]
        t = np.arange(self._size()[1])
        first_sep = 1 + a_length
        last_sep = np.where(b_length, 2 + a_length + b_length, first_sep)
        where_BT = np.where(t < first_sep, a_start + t - 1, b_start + t - first_sep - 1)
        ids_BT = documents.tokens[where_BT.clip(0, len(documents.tokens) - 1)].astype(np.int64)
        ids_BT[:, 0] = cls_id
        ids_BT[(t == first_sep) | (t == last_sep)] = sep_id
        ids_BT[t > last_sep] = pad_id
        inputs = Batch(
            torch.from_numpy(ids_BT),
            torch.from_numpy(((t > first_sep) & (t <= last_sep)).astype(np.int64)),
            torch.from_numpy(t <= last_sep),
        )
        index = (self.position.epoch << 48) + (self.position.block << 32) + rows
        key_B = torch.from_numpy(index ^ (self.seed * 0x5851F42D4C957F2D & (1 << 62) - 1))
        return PairBatch(inputs, key_B, torch.from_numpy(pairs.label_E[rows]))


Drawn = tuple[Documents, Pairs, np.ndarray]


def _draw(corpus: Corpus, seed: int, epoch: int, nth: int, max_tokens: int, pair_objective: PairObjectiveName) -> Drawn:
    """Draw the pairs of the nth block of an epoch: its documents, the pairs, and the order of the pairs."""
    block = int(np.random.default_rng([seed, epoch]).permutation(corpus.num_blocks)[nth])
    documents = corpus.documents(block)
    rng = np.random.default_rng([seed, epoch, nth])
    if (times_D := corpus.repetitions(block, rng)) is not None:
        documents = documents.repeat(times_D)
    pairs = make_pairs(documents, max_tokens, rng, pair_objective=pair_objective)
    return documents, pairs, rng.permutation(len(pairs))


_corpus: Corpus


def _begin_apart(corpus: Corpus) -> None:
    global _corpus
    worker_process.start()
    _corpus = corpus


def _draw_apart(*order) -> Drawn:
    return _draw(_corpus, *order)

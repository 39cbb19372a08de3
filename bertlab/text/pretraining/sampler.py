"""A prepared corpus -> an endless run of batches, in an order that is a pure function of (seed, epoch).

The place in that order is four numbers, so stopping and resuming needs no replay. Knows ids, not words, and no model.

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
from bertlab.text.pretraining.sentence_pairs import Documents, Pairs, Second, make_pairs

EMPTY = 20  # epochs in a row without a pair, after which there is none: a small weight may leave all documents out


@dataclass(frozen=True)
class Place:
    """Where in the data a run stands: the epoch, how many blocks of it are done, and the next row of this block.

    longer: whether pairs have the second length by now.
    """

    epoch: int = 0
    block: int = 0
    row: int = 0
    longer: bool = False


@dataclass(frozen=True)
class Longer:
    """The last `share` of a run reads pairs of `max_tokens` tokens, so that all positions are trained."""

    max_tokens: int
    share: float


class PairSampler:
    """Iterates over batches of `batch_size` pairs of `max_tokens` tokens; `place` is where the next batch begins.

    Documents come in blocks, the blocks in a new order each epoch, the pairs of a block made and shuffled anew. Rows
    that do not fill a last batch of a block are left out, unless they are all it has. Of n processes, the one with
    share (r, n) gets rows r, r + n, ... of each batch, which may be none. When `turn` hears that it is time for
    `longer` pairs, they begin with the next block, fewer in a batch, so that a batch has as many tokens. The pairs of
    the next `ahead` blocks are made meanwhile, each by a process of its own; that changes no batch.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizer,
        batch_size: int,
        max_tokens: int,
        seed: int,
        place: Place | None = None,
        share: tuple[int, int] = (0, 1),
        second: Second = "next",
        longer: Longer | None = None,
        ahead: int = 0,
    ):
        self.corpus, self.tokenizer = corpus, tokenizer
        self.batch_size, self.max_tokens, self.seed = batch_size, max_tokens, seed
        self.place, self.share = place or Place(), share
        self.second, self.longer = second, longer
        self._loaded: tuple | None = None
        self.ahead, self._pool, self._pending = ahead, None, {}

    def turn(self, done: float) -> bool:
        """Hear how much of the run is done (0..1); True if the pairs are longer from now on."""
        if self.longer is None or self.place.longer or done < 1 - self.longer.share:
            return False
        self.place = replace(self._next_block() if self.place.row else self.place, longer=True)
        return True

    def __iter__(self):
        return self

    def __next__(self) -> PairBatch:
        for _ in range(EMPTY * self.corpus.num_blocks):
            documents, pairs, order_E = self._block(self.place)
            if len(order_E):
                break
            self.place = self._next_block()
        else:
            raise DataError("corpus-without-pairs")
        batch_size, _ = self._size()
        rows = order_E[self.place.row : self.place.row + batch_size]
        first, step = self.share
        batch = self._assemble(documents, pairs, rows[first::step])
        done = self.place.row + len(rows)
        self.place = replace(self.place, row=done) if len(order_E) - done >= batch_size else self._next_block()
        return batch

    def _size(self) -> tuple[int, int]:
        """Pairs in a batch, tokens in a pair."""
        if not self.place.longer:
            return self.batch_size, self.max_tokens
        return max(1, round(self.batch_size * self.max_tokens / self.longer.max_tokens)), self.longer.max_tokens

    def _next_block(self) -> Place:
        return self._after(self.place)

    def _after(self, place: Place) -> Place:
        if place.block + 1 < self.corpus.num_blocks:
            return replace(place, block=place.block + 1, row=0)
        return replace(place, epoch=place.epoch + 1, block=0, row=0)

    def _block(self, place: Place) -> "Drawn":
        wanted = replace(place, row=0)
        if self._loaded is None or self._loaded[0] != wanted:
            pending = self._pending.pop(wanted, None)
            self._loaded = (wanted, pending.result() if pending else _draw(self.corpus, *self._order(wanted)))
            tokens, size = self._loaded[1][0].tokens, self.tokenizer.vocab_size
            if len(tokens) and tokens.max() >= size:
                raise DataError("corpus-token-unknown", id=int(tokens.max()), size=size)
            self._draw_ahead(wanted)
        return self._loaded[1]

    def _order(self, place: Place) -> tuple:
        longer = place.longer and self.longer
        return self.seed, place.epoch, place.block, self.longer.max_tokens if longer else self.max_tokens, self.second

    def _draw_ahead(self, place: Place) -> None:
        if self.ahead and self._pool is None:
            self._pool = ProcessPoolExecutor(self.ahead, initializer=_begin_apart, initargs=(self.corpus,))
            weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        kept = {}
        for _ in range(self.ahead):
            place = self._after(place)
            kept[place] = self._pending.pop(place, None) or self._pool.submit(_draw_apart, *self._order(place))
        for stale in self._pending.values():
            stale.cancel()
        self._pending = kept

    def _assemble(self, documents: Documents, pairs: Pairs, rows: np.ndarray) -> PairBatch:
        """[CLS] A [SEP] B [SEP], or [CLS] A [SEP] where B is empty, gathered for all rows at once."""
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
        index = (self.place.epoch << 48) + (self.place.block << 32) + rows
        key_B = torch.from_numpy(index ^ (self.seed * 0x5851F42D4C957F2D & (1 << 62) - 1))
        return PairBatch(inputs, key_B, torch.from_numpy(pairs.label_E[rows]))


Drawn = tuple[Documents, Pairs, np.ndarray]


def _draw(corpus: Corpus, seed: int, epoch: int, nth: int, max_tokens: int, second: Second) -> Drawn:
    """The documents and pairs of an epoch's nth block, and the order they are shown in."""
    block = int(np.random.default_rng([seed, epoch]).permutation(corpus.num_blocks)[nth])
    documents = corpus.documents(block)
    rng = np.random.default_rng([seed, epoch, nth])
    if (times_D := corpus.repetitions(block, rng)) is not None:
        documents = documents.repeated(times_D)
    pairs = make_pairs(documents, max_tokens, rng, second=second)
    return documents, pairs, rng.permutation(len(pairs))


_corpus: Corpus


def _begin_apart(corpus: Corpus) -> None:
    global _corpus
    worker_process.start()
    _corpus = corpus


def _draw_apart(*order) -> Drawn:
    return _draw(_corpus, *order)

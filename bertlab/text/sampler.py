"""A prepared corpus -> an endless run of batches, in an order that is a pure function of (seed, epoch).

The place in that order is four numbers, so stopping and resuming needs no replay. Knows ids, not words, and no model.

Shape legend: B batch, T tokens, E pairs of a block.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from bertlab.spec.errors import DataError
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.corpus import Corpus
from bertlab.text.pairs import Documents, Pairs, Second, make_pairs


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
    `longer` pairs, they begin with the next block, fewer in a batch, so that a batch has as many tokens.
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
    ):
        self.corpus, self.tokenizer = corpus, tokenizer
        self.batch_size, self.max_tokens, self.seed = batch_size, max_tokens, seed
        self.place, self.share = place or Place(), share
        self.second, self.longer = second, longer
        self._loaded: tuple | None = None

    def turn(self, done: float) -> bool:
        """Hear how much of the run is done (0..1); True if the pairs are longer from now on."""
        if self.longer is None or self.place.longer or done < 1 - self.longer.share:
            return False
        self.place = replace(self._next_block() if self.place.row else self.place, longer=True)
        return True

    def __iter__(self):
        return self

    def __next__(self) -> PairBatch:
        documents, pairs, order_E = self._block(self.place)
        for _ in range(self.corpus.num_blocks):
            if len(order_E):
                break
            self.place = self._next_block()
            documents, pairs, order_E = self._block(self.place)
        else:
            raise DataError("the corpus has no document of two sentences, so no pair can be made from it")
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
        if self.place.block + 1 < self.corpus.num_blocks:
            return replace(self.place, block=self.place.block + 1, row=0)
        return replace(self.place, epoch=self.place.epoch + 1, block=0, row=0)

    def _block(self, place: Place) -> tuple[Documents, Pairs, np.ndarray]:
        wanted = (place.epoch, place.block, place.longer)
        if self._loaded is None or self._loaded[0] != wanted:
            order = np.random.default_rng([self.seed, place.epoch]).permutation(self.corpus.num_blocks)
            block = int(order[place.block])
            documents = self.corpus.documents(block)
            rng = np.random.default_rng([self.seed, place.epoch, place.block])
            if (times_D := self.corpus.times(block, rng)) is not None:
                documents = documents.repeated(times_D)
            pairs = make_pairs(documents, self._size()[1], rng, second=self.second)
            self._loaded = (wanted, documents, pairs, rng.permutation(len(pairs)))
        return self._loaded[1:]

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

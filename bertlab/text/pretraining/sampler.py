"""Endless batches of sentence pairs from a prepared corpus, in an order that is a pure function of (seed, epoch).

A `Position` marks a place in that order by a few numbers, so a resumed run continues there without replaying batches.

Shape legend: B batch, T tokens, E pairs of a block, D documents of a block.
"""

import weakref
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch

from bertlab.config.errors import DataError
from bertlab.text.batch import PairBatch
from bertlab.text.pretraining import worker_process
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.pair_inputs import assemble_inputs
from bertlab.text.pretraining.sentence_pairs import Documents, PairObjectiveName, Pairs, RandomBPosition, make_pairs

# The maximum number of consecutive epochs without pairs. With small weights, an epoch may use no document at all.
MAX_EMPTY_EPOCHS = 20


@dataclass(frozen=True)
class Position:
    """A position in the sentence pairs of a run."""

    epoch: int = 0
    block: int = 0  # how many blocks of this epoch were already used
    row: int = 0  # how many pairs of the current block were already used
    has_long_pairs: bool = False  # whether the pairs are the long pairs of the last part of a run (see `LongPairs`)
    has_masks: bool = True  # whether tokens are masked; False in the first part of a run with `pairs_only_share`


@dataclass(frozen=True)
class LongPairs:
    """Settings of the long pairs in the last part of a run, which train all position embeddings."""

    max_tokens: int  # the maximum number of tokens in a long pair
    share: float  # the share of the run that uses long pairs, 0 to 1


class PairSampler:
    """Endless batches of sentence pairs; `position` is the position of the next batch.

    Every epoch goes through the blocks of documents in a new order, and makes and shuffles new pairs in each block.
    If the last pairs of a block do not fill a batch, they are left out. A block with too few pairs for a batch gives
    one smaller batch.

    Args:
        shard: (rank, number of processes). This process gets the pairs rank, rank + number of processes, ... of each
            batch; there may be none.
        long_pairs: the long pairs of the last part of a run; None for no long pairs. A batch of long pairs has fewer
            pairs, but about as many tokens.
        prefetch_blocks: for how many blocks the pairs are made in advance, each block by one worker process; this
            changes no batch.
        random_b_position: where in its document a random B begins, see `make_pairs`. In long pairs, it is always "any".
        pairs_only_share: the share of the run, at its start, in which nothing is masked.
        mask_copies: the number of epochs after which the same pairs and masks are repeated, in the same order; 0 for
            new ones in every epoch.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizer,
        batch_size: int,
        max_tokens: int,
        seed: int,
        position: Position | None = None,
        shard: tuple[int, int] = (0, 1),
        pair_objective: PairObjectiveName = "next",
        long_pairs: LongPairs | None = None,
        prefetch_blocks: int = 0,
        random_b_position: RandomBPosition = "any",
        pairs_only_share: float = 0.0,
        mask_copies: int = 0,
    ):
        self.corpus, self.tokenizer = corpus, tokenizer
        self.batch_size, self.max_tokens, self.seed = batch_size, max_tokens, seed
        self.position, self.shard = position or Position(has_masks=not pairs_only_share), shard
        self.pair_objective, self.long_pairs = pair_objective, long_pairs
        self.random_b_position, self.pairs_only_share = random_b_position, pairs_only_share
        self.mask_copies = mask_copies
        self._current: tuple[Position, BlockPairs] | None = None
        self.prefetch_blocks, self._pool = prefetch_blocks, None
        self._pending: dict[Position, Future[BlockPairs]] = {}

    def update_progress(self, progress: float) -> bool:
        """Switch to masks after the first part of the run, and to long pairs in the last part.

        Returns:
            Whether this call switched to masks or to long pairs. Long pairs begin with the next block.
        """
        if not self.position.has_masks and progress >= self.pairs_only_share:
            self.position = replace(self.position, has_masks=True)
            return True
        if self.long_pairs is None or self.position.has_long_pairs or progress < 1 - self.long_pairs.share:
            return False
        self.position = replace(self._next_block() if self.position.row else self.position, has_long_pairs=True)
        return True

    def __iter__(self):
        return self

    def __next__(self) -> PairBatch:
        for _ in range(MAX_EMPTY_EPOCHS * self.corpus.num_blocks):
            documents, pairs, order_E = self._get_block(self.position)
            if len(order_E):
                break
            self.position = self._next_block()
        else:
            raise DataError("corpus-without-pairs")
        batch_size, _ = self._get_batch_shape()
        rows = order_E[self.position.row : self.position.row + batch_size]
        rank, num_processes = self.shard
        batch = self._assemble(documents, pairs, rows[rank::num_processes])
        next_row = self.position.row + len(rows)
        is_block_done = len(order_E) - next_row < batch_size
        self.position = self._next_block() if is_block_done else replace(self.position, row=next_row)
        return batch

    def _get_batch_shape(self) -> tuple[int, int]:
        """Return the number of pairs in a batch and of tokens in a pair."""
        if not self.position.has_long_pairs:
            return self.batch_size, self.max_tokens
        return max(1, round(self.batch_size * self.max_tokens / self.long_pairs.max_tokens)), self.long_pairs.max_tokens

    def _next_block(self) -> Position:
        return self._position_after(self.position)

    def _position_after(self, position: Position) -> Position:
        if position.block + 1 < self.corpus.num_blocks:
            return replace(position, block=position.block + 1, row=0)
        return replace(position, epoch=position.epoch + 1, block=0, row=0)

    def _get_block(self, position: Position) -> "BlockPairs":
        """Return the pairs of the block at a position: the current ones, prefetched ones, or newly made ones."""
        block_start = replace(position, row=0)
        if self._current is None or self._current[0] != block_start:
            pending = self._pending.pop(block_start, None)
            block = pending.result() if pending else _draw_block(self.corpus, *self._make_draw_arguments(block_start))
            self._current = (block_start, block)
            documents, _, _ = block
            tokens, vocab_size = documents.tokens, self.tokenizer.vocab_size
            if len(tokens) and tokens.max() >= vocab_size:
                raise DataError("corpus-token-unknown", id=int(tokens.max()), size=vocab_size)
            self._prefetch(block_start)
        return self._current[1]

    def _find_original_epoch(self, position: Position) -> int:
        """Return the first epoch with the same pairs and masks as the epoch at a position (see `mask_copies`)."""
        return position.epoch % self.mask_copies if self.mask_copies else position.epoch

    def _make_draw_arguments(self, position: Position) -> tuple:
        uses_long_pairs = position.has_long_pairs and self.long_pairs
        max_tokens = self.long_pairs.max_tokens if uses_long_pairs else self.max_tokens
        random_b_position = "any" if uses_long_pairs else self.random_b_position
        epoch = self._find_original_epoch(position)
        return self.seed, epoch, position.block, max_tokens, self.pair_objective, random_b_position

    def _prefetch(self, position: Position) -> None:
        """Let worker processes make the pairs of the blocks after a position, unless they are doing so already."""
        if self.prefetch_blocks and self._pool is None:
            self._pool = ProcessPoolExecutor(self.prefetch_blocks, initializer=_start_worker, initargs=(self.corpus,))
            weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        pending = {}
        for _ in range(self.prefetch_blocks):
            position = self._position_after(position)
            pending[position] = self._pending.pop(position, None) or self._pool.submit(
                _draw_in_worker, *self._make_draw_arguments(position)
            )
        for outdated in self._pending.values():
            outdated.cancel()
        self._pending = pending

    def _assemble(self, documents: Documents, pairs: Pairs, rows: np.ndarray) -> PairBatch:
        _, max_tokens = self._get_batch_shape()
        inputs = assemble_inputs(documents, pairs, rows, self.tokenizer, max_tokens)
        # The key of a row depends only on its position in the data and on the seed.
        pair_index_B = (self._find_original_epoch(self.position) << 48) + (self.position.block << 32) + rows
        key_B = torch.from_numpy(pair_index_B ^ (self.seed * 0x5851F42D4C957F2D & (1 << 62) - 1))
        if not self.position.has_masks:
            key_B = torch.full_like(key_B, -1)
        return PairBatch(inputs, key_B, torch.from_numpy(pairs.label_E[rows]))


BlockPairs = tuple[Documents, Pairs, np.ndarray]  # the documents of a block, their pairs, and the order of the pairs


def _draw_block(
    corpus: Corpus,
    seed: int,
    epoch: int,
    index: int,
    max_tokens: int,
    pair_objective: PairObjectiveName,
    random_b_position: RandomBPosition,
) -> BlockPairs:
    block = int(np.random.default_rng([seed, epoch]).permutation(corpus.num_blocks)[index])
    documents = corpus.read_documents(block)
    rng = np.random.default_rng([seed, epoch, index])
    if (times_D := corpus.draw_repetitions(block, rng)) is not None:
        documents = documents.repeat(times_D)
    pairs = make_pairs(documents, max_tokens, rng, pair_objective=pair_objective, random_b_position=random_b_position)
    return documents, pairs, rng.permutation(len(pairs))


_corpus: Corpus  # set only in worker processes


def _start_worker(corpus: Corpus) -> None:
    global _corpus
    worker_process.set_up()
    _corpus = corpus


def _draw_in_worker(*arguments) -> BlockPairs:
    return _draw_block(_corpus, *arguments)

"""An endless source of random sentence pairs, to measure the speed and the memory of training steps."""

from dataclasses import dataclass

import numpy as np
import torch

from bertlab.text.batch import Batch, PairBatch
from bertlab.text.batches import Position


@dataclass(frozen=True)
class RandomTokenizer:
    """The vocabulary size and the special token ids of a tokenizer, which are all that random sentence pairs need."""

    vocab_size: int
    pad_id: int = 0
    cls_id: int = 2
    sep_id: int = 3
    mask_id: int = 4
    special_ids: frozenset = frozenset(range(5))


@dataclass
class RandomPairs:
    """An endless source of batches of random token ids: sentence pairs of equal length, without padding."""

    tokenizer: RandomTokenizer
    batch_size: int
    max_tokens: int
    position: Position  # its `batch` is also the random seed of the next batch

    def update_progress(self, progress: float) -> bool:
        """Return False, because the length of the pairs does not change during training."""
        return False

    def __next__(self) -> PairBatch:
        B, T, tokenizer = self.batch_size, self.max_tokens, self.tokenizer
        rng = np.random.default_rng(self.position.batch)
        ids_BT = rng.integers(5, tokenizer.vocab_size, (B, T))
        ids_BT[:, 0], ids_BT[:, T // 2], ids_BT[:, -1] = tokenizer.cls_id, tokenizer.sep_id, tokenizer.sep_id
        types_BT = np.broadcast_to((np.arange(T) > T // 2).astype(np.int64), (B, T)).copy()
        inputs = Batch(torch.from_numpy(ids_BT), torch.from_numpy(types_BT), torch.ones(B, T, dtype=torch.bool))
        key_B = torch.from_numpy(rng.integers(0, 1 << 62, B))
        self.position = Position(0, self.position.batch + 1)
        return PairBatch(inputs, key_B, torch.from_numpy(rng.integers(0, 2, B)))

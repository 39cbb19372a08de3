"""bertlab's pre-training loop, run in this process to measure its speed, on a prepared corpus or on random pairs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import torch

from bertlab.config.config import ModelConfig
from bertlab.config.presets import PRESETS, get_preset
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.batches import Position
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.optimizers import OptimConfig
from bertlab.training.trainer import Trainer

Preset = Literal[tuple(PRESETS)]


@dataclass(frozen=True)
class RandomTokenizer:
    """The vocabulary size and the special token ids of a tokenizer, which are all that random sentence pairs need."""

    vocab_size: int
    """The number of tokens."""
    pad_id: int = 0
    """The id of [PAD]."""
    cls_id: int = 2
    """The id of [CLS]."""
    sep_id: int = 3
    """The id of [SEP]."""
    mask_id: int = 4
    """The id of [MASK]."""
    special_ids: frozenset = frozenset(range(5))
    """The ids of all special tokens."""


@dataclass
class RandomPairs:
    """An endless source of batches of random token ids: sentence pairs of equal length, without padding."""

    tokenizer: RandomTokenizer
    """The vocabulary size and the special token ids."""
    batch_size: int
    """Pairs in a batch."""
    max_tokens: int
    """Tokens in a pair."""
    position: Position
    """The index of the next batch, which is also the random seed of this batch."""

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


class ModelAndData(Protocol):
    """The settings that select the model to train and its data."""

    preset: Preset
    """The size of the model."""
    corpus: Path | None
    """A prepared corpus, or None for random pairs."""
    vocab_size: int
    """The vocabulary size of random pairs."""


@dataclass(frozen=True)
class TrainingLoop:
    """A trainer, and the clock that measures its steps."""

    model_config: ModelConfig
    """The configuration of the model."""
    mask_rule: MaskRule
    """How tokens are masked."""
    trainer: Trainer
    """The trainer of the model."""
    clock: Callable[[], float]
    """A function that returns the time in seconds."""

    @classmethod
    def build(
        cls,
        settings: ModelAndData,
        batch_size: int,
        max_tokens: int,
        *,
        device: torch.device,
        dtype: torch.dtype,
        clock: Callable[[], float] = time.perf_counter,
    ) -> "TrainingLoop":
        """Create a model with random weights and a trainer for it.

        Args:
            settings: the model and the data.
            batch_size: sentence pairs in a step.
            max_tokens: tokens in a sentence pair.
            device: the device of the training.
            dtype: the number format of the training.
            clock: a function that returns the time in seconds.
        """
        torch.manual_seed(0)
        if settings.corpus:
            tokenizer = Tokenizer.load(settings.corpus / "tokenizer")
            prefetch_blocks = 2 if device.type == "cuda" else 0
            corpus = Corpus.open(settings.corpus)
            batches = PairSampler(corpus, tokenizer, batch_size, max_tokens, seed=0, prefetch_blocks=prefetch_blocks)
        else:
            tokenizer = RandomTokenizer(settings.vocab_size)
            batches = RandomPairs(tokenizer, batch_size, max_tokens, Position())
        model_config = get_preset(settings.preset).replace(
            vocab_size=tokenizer.vocab_size,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            max_positions=max(512, max_tokens),
        )
        mask_rule = MaskRule.for_tokenizer(tokenizer).to(device)
        trainer = Trainer(
            FastBert(model_config, heads=("mlm", "nsp")), batches, PretrainingLoss(mask_rule), OptimConfig(lr=1e-4),
            steps=1_000_000, device=device, dtype=dtype,
        )  # fmt: skip
        return cls(model_config, mask_rule, trainer, clock)

    def run_steps(self, steps: int) -> float:
        """Train for a number of steps and return the tokens per second, without padding."""
        tokens_before, start, reports = self.trainer.progress.tokens, self.clock(), iter(self.trainer)
        for _ in range(steps):
            next(reports)
        return (self.trainer.progress.tokens - tokens_before) / (self.clock() - start)

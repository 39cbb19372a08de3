"""bertlab's pre-training loop inside this process, to be timed, on a prepared corpus or on random pairs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import torch

from bertlab.config.config import ModelConfig
from bertlab.config.presets import PRESETS, preset
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
    """The part of a tokenizer that random pairs need: a vocabulary size and the ids of special tokens."""

    vocab_size: int
    pad_id: int = 0
    cls_id: int = 2
    sep_id: int = 3
    mask_id: int = 4
    special_ids: frozenset = frozenset(range(5))


@dataclass
class RandomPairs:
    """Endless batches of random ids, laid out as sentence pairs without padding."""

    tokenizer: RandomTokenizer
    batch_size: int
    max_tokens: int
    position: Position

    def update_progress(self, progress: float) -> bool:
        return False

    def __next__(self) -> PairBatch:
        B, T, own = self.batch_size, self.max_tokens, self.tokenizer
        rng = np.random.default_rng(self.position.batch)
        ids_BT = rng.integers(5, own.vocab_size, (B, T))
        ids_BT[:, 0], ids_BT[:, T // 2], ids_BT[:, -1] = own.cls_id, own.sep_id, own.sep_id
        types_BT = np.broadcast_to((np.arange(T) > T // 2).astype(np.int64), (B, T)).copy()
        inputs = Batch(torch.from_numpy(ids_BT), torch.from_numpy(types_BT), torch.ones(B, T, dtype=torch.bool))
        key_B = torch.from_numpy(rng.integers(0, 1 << 62, B))
        self.position = Position(0, self.position.batch + 1)
        return PairBatch(inputs, key_B, torch.from_numpy(rng.integers(0, 2, B)))


class ModelAndData(Protocol):
    """The settings of a benchmark that say which model is trained on which data."""

    preset: Preset
    """The size of the model."""
    corpus: Path | None
    """A prepared corpus, or None for random pairs."""
    vocab_size: int
    """The vocabulary size of the random pairs."""


@dataclass(frozen=True)
class TrainingLoop:
    """A trainer whose steps can be timed."""

    shape: ModelConfig
    """The architecture."""
    rule: MaskRule
    """How tokens are msettings."""
    trainer: Trainer
    """The trainer."""
    clock: Callable[[], float]
    """Returns the time in seconds."""

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
        torch.manual_seed(0)
        if settings.corpus:
            tokenizer = Tokenizer.load(settings.corpus / "tokenizer")
            ahead = 2 * (device.type == "cuda")
            batches = PairSampler(Corpus.open(settings.corpus), tokenizer, batch_size, max_tokens, seed=0, ahead=ahead)
        else:
            tokenizer = RandomTokenizer(settings.vocab_size)
            batches = RandomPairs(tokenizer, batch_size, max_tokens, Position())
        shape = preset(settings.preset).replace(
            vocab_size=tokenizer.vocab_size,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            max_positions=max(512, max_tokens),
        )
        rule = MaskRule.of(tokenizer).to(device)
        trainer = Trainer(
            FastBert(shape, heads=("mlm", "nsp")), batches, PretrainingLoss(rule), OptimConfig(lr=1e-4),
            steps=1_000_000, device=device, dtype=dtype,
        )  # fmt: skip
        return cls(shape, rule, trainer, clock)

    def run_steps(self, steps: int) -> float:
        """Train some more steps and return tokens per second, padding not counted."""
        before, start, reports = self.trainer.progress.tokens, self.clock(), iter(self.trainer)
        for _ in range(steps):
            next(reports)
        return (self.trainer.progress.tokens - before) / (self.clock() - start)

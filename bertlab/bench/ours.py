"""Our pre-training steps as something to be timed, on a prepared corpus or on random pairs. Knows no peer."""

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
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.batches import Place
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.objectives import PretrainingLoss
from bertlab.training.optimizers import OptimConfig
from bertlab.training.trainer import Trainer

Preset = Literal[tuple(PRESETS)]


@dataclass(frozen=True)
class RandomTokenizer:
    """As much of a tokenizer as random pairs need."""

    vocab_size: int
    pad_id: int = 0
    cls_id: int = 2
    sep_id: int = 3
    mask_id: int = 4
    special_ids: frozenset = frozenset(range(5))


@dataclass
class RandomPairs:
    """Endless batches of random ids laid out as full sentence pairs."""

    tokenizer: RandomTokenizer
    batch_size: int
    max_tokens: int
    place: Place

    def turn(self, done: float) -> bool:
        return False

    def __next__(self) -> PairBatch:
        B, T, own = self.batch_size, self.max_tokens, self.tokenizer
        rng = np.random.default_rng(self.place.batch)
        ids_BT = rng.integers(5, own.vocab_size, (B, T))
        ids_BT[:, 0], ids_BT[:, T // 2], ids_BT[:, -1] = own.cls_id, own.sep_id, own.sep_id
        types_BT = np.broadcast_to((np.arange(T) > T // 2).astype(np.int64), (B, T)).copy()
        inputs = Batch(torch.from_numpy(ids_BT), torch.from_numpy(types_BT), torch.ones(B, T, dtype=torch.bool))
        key_B = torch.from_numpy(rng.integers(0, 1 << 62, B))
        self.place = Place(0, self.place.batch + 1)
        return PairBatch(inputs, key_B, torch.from_numpy(rng.integers(0, 2, B)))


class Asked(Protocol):
    """What is trained on what. corpus: a prepared one; without it, random pairs over `vocab_size` words."""

    preset: Preset
    corpus: Path | None
    vocab_size: int


@dataclass(frozen=True)
class Ours:
    """A trainer with its steps under way."""

    shape: ModelConfig
    rule: MaskRule
    trainer: Trainer
    clock: Callable[[], float]

    @classmethod
    def of(
        cls,
        asked: Asked,
        batch_size: int,
        max_tokens: int,
        *,
        device: torch.device,
        dtype: torch.dtype,
        clock: Callable[[], float] = time.perf_counter,
    ) -> "Ours":
        torch.manual_seed(0)
        if asked.corpus:
            tokenizer = Tokenizer.load(asked.corpus / "tokenizer")
            ahead = 2 * (device.type == "cuda")
            batches = PairSampler(Corpus.open(asked.corpus), tokenizer, batch_size, max_tokens, seed=0, ahead=ahead)
        else:
            tokenizer = RandomTokenizer(asked.vocab_size)
            batches = RandomPairs(tokenizer, batch_size, max_tokens, Place())
        shape = preset(asked.preset).replace(
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

    def turn(self, steps: int) -> float:
        """Some steps more -> tokens a second, padding not counted."""
        before, began, reports = self.trainer.progress.tokens, self.clock(), iter(self.trainer)
        for _ in range(steps):
            next(reports)
        return (self.trainer.progress.tokens - before) / (self.clock() - began)

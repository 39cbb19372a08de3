"""bertlab's pre-training loop, run in this process to measure its speed, on a prepared corpus or on random pairs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.presets import PRESETS, get_preset
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.batches import Position
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.random_pairs import RandomPairs, RandomTokenizer
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.trainer import Trainer

Preset = Literal[tuple(PRESETS)]


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
        optimizer = Optimizer(FastBert(model_config, heads=("mlm", "nsp")), OptimConfig(lr=1e-4), dtype, device)
        trainer = Trainer(optimizer, batches, PretrainingLoss(mask_rule), steps=1_000_000)
        return cls(model_config, mask_rule, trainer, clock)

    def run_steps(self, steps: int) -> float:
        """Train for a number of steps and return the tokens per second, without padding."""
        tokens_before, start, reports = self.trainer.progress.tokens, self.clock(), iter(self.trainer)
        for _ in range(steps):
            next(reports)
        return (self.trainer.progress.tokens - tokens_before) / (self.clock() - start)

"""bertlab's pre-training loop, run in this process to measure its speed, and a synthetic corpus for it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from bertlab.config.presets import PRESETS, get_preset
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.pretraining.prepare import PrepareConfig
from bertlab.training.pretraining.prepare import run as prepare
from bertlab.training.trainer import Trainer

Preset = Literal[tuple(PRESETS)]


class TrainingLoop:
    """A model with random weights, a trainer for it, and the clock that measures the steps of the trainer."""

    def __init__(
        self,
        preset: Preset,
        corpus: Path,
        batch_size: int,
        max_tokens: int,
        *,
        device: torch.device,
        dtype: torch.dtype,
        clock: Callable[[], float] = time.perf_counter,
    ):
        torch.manual_seed(0)
        tokenizer = Tokenizer.load(corpus / "tokenizer")
        prefetch_blocks = 2 if device.type == "cuda" else 0
        batches = PairSampler(
            Corpus.open(corpus), tokenizer, batch_size, max_tokens, seed=0, prefetch_blocks=prefetch_blocks
        )
        self.model_config = get_preset(preset).replace(
            vocab_size=tokenizer.vocab_size,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            max_positions=max(512, max_tokens),
        )
        self.mask_rule, self.clock = MaskRule.for_tokenizer(tokenizer).to(device), clock
        model = FastBert(self.model_config, heads=("mlm", "nsp"))
        optimizer = Optimizer(model, OptimConfig(lr=1e-4), dtype, device)
        self.trainer = Trainer(optimizer, batches, PretrainingLoss(self.mask_rule), steps=1_000_000)

    def run_steps(self, steps: int) -> float:
        """Train for a number of steps and return the tokens per second, without padding."""
        tokens_before, start, reports = self.trainer.progress.tokens, self.clock(), iter(self.trainer)
        for _ in range(steps):
            next(reports)
        return (self.trainer.progress.tokens - tokens_before) / (self.clock() - start)


def prepare_synthetic_corpus(directory: Path, vocab_size: int = 8192, num_documents: int = 1500) -> Path:
    """Prepare documents of 400 random words, whose frequencies follow Zipf's law, and return their directory."""
    rng = np.random.default_rng(0)
    # 20,000 words of one to four syllables; a syllable is a consonant and a vowel
    syllables = rng.integers(0, [14, 5], (20_000, 4, 2))
    words = np.array(
        ["".join("bdfgklmnprstvz"[c] + "aeiou"[v] for c, v in word[: 1 + i % 4]) for i, word in enumerate(syllables)]
    )
    text = directory.with_name("synthetic.txt")
    with text.open("w", encoding="utf-8") as file:
        for _ in range(num_documents):
            for _ in range(25):  # 25 sentences of 16 words each
                ranks = np.minimum(rng.zipf(1.2, 16), len(words)) - 1
                file.write(f"{' '.join(words[ranks]).capitalize()}.\n")
            file.write("\n")
    prepare(PrepareConfig((str(text),), directory, vocab_size=vocab_size, workers=1))
    return directory

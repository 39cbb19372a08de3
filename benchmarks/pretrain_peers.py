"""The implementation that `bertlab bench pretrain` compares bertlab with (the peer).

It is a training loop for transformers' `BertForPreTraining`. Its batches contain either the padded
sentence pairs that bertlab makes, or full rows, which need no padding.

Shape legend: B batch, T tokens, P slots for the predicted tokens of all rows. Every row has equally many slots, and may
leave some of them empty.
"""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import transformers

from bertlab.config.config import ModelConfig
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import IGNORED, MaskRule, mask_tokens
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.optimizers import OptimConfig


class Batches(Protocol):
    """An endless source of batches."""

    def __next__(self) -> PairBatch: ...


class PaddedPairs:
    """The padded sentence pairs that bertlab makes.

    Args:
        batches: the source of the pairs.
    """

    def __init__(self, batches: Batches):
        self.batches = batches

    def __next__(self) -> PairBatch:
        return next(self.batches)


class FullRows:
    """Rows of equal length that contain consecutive text, without padding: [CLS], tokens of the corpus, [SEP].

    Args:
        corpus: the directory of a prepared corpus.
        batch_size: rows in a batch.
        max_tokens: tokens in a row.
    """

    def __init__(self, corpus: Path, batch_size: int, max_tokens: int):
        self.corpus, self.tokenizer = Corpus.open(corpus), Tokenizer.load(corpus / "tokenizer")
        self.batch_size, self.max_tokens = batch_size, max_tokens
        self.batches = self._make_batches()

    def __next__(self) -> PairBatch:
        return next(self.batches)

    def _make_batches(self) -> Iterator[PairBatch]:
        """Yield batches without end, with the blocks of the corpus and the rows of each block in random order."""
        B, T, rng = self.batch_size, self.max_tokens, np.random.default_rng(0)
        remaining_tokens = np.empty(0, np.int64)
        while True:
            for block in rng.permutation(self.corpus.num_blocks):
                tokens = np.concatenate(
                    [remaining_tokens, self.corpus.read_documents(int(block)).tokens.astype(np.int64)]
                )
                num_rows = len(tokens) // (T - 2)
                rows = np.full((num_rows, T), self.tokenizer.cls_id)
                rows[:, 1:-1] = tokens[: num_rows * (T - 2)].reshape(num_rows, T - 2)
                rows[:, -1] = self.tokenizer.sep_id
                rng.shuffle(rows)
                used_rows = num_rows - num_rows % B  # rows that fill whole batches
                for ids_BT in rows[:used_rows].reshape(-1, B, T):
                    yield self._make_batch(torch.from_numpy(ids_BT.copy()), rng)
                # If a block is too small for one batch, its tokens are put in front of the next block.
                remaining_tokens = np.empty(0, np.int64) if used_rows else tokens

    def _make_batch(self, ids_BT: torch.Tensor, rng: np.random.Generator) -> PairBatch:
        """Make a batch whose rows are single segments. Its labels of sentence pairs are 0, because it has no pairs."""
        inputs = Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool))
        key_B = torch.from_numpy(rng.integers(0, 1 << 62, len(ids_BT)))
        return PairBatch(inputs, key_B, torch.zeros(len(ids_BT), dtype=torch.int64))


class PretrainingPeer:
    """A standard training loop: BertForPreTraining with SDPA, a label for every token, fused AdamW, and autocast.

    On CUDA the model is compiled, which is fastest there. On a CPU, compilation gains nothing.

    Args:
        config: the configuration of the model.
        batches: the source of the batches.
        mask_rule: how tokens are masked.
        optim: the settings of AdamW.
        device: the device of the training.
        dtype: the number format of autocast; float32 to train without autocast.
    """

    def __init__(
        self,
        config: ModelConfig,
        batches: Batches,
        mask_rule: MaskRule,
        optim: OptimConfig,
        device: torch.device,
        dtype: torch.dtype,
    ):
        hf_config = transformers.BertConfig(**config.to_hf(), attn_implementation="sdpa")
        self.model = transformers.BertForPreTraining(hf_config).to(device).train()
        self.compiled_model = torch.compile(self.model) if device.type == "cuda" else self.model
        parameters = self.model.parameters()
        self.adamw = torch.optim.AdamW(parameters, lr=optim.lr, weight_decay=optim.weight_decay, fused=True)
        self.batches, self.mask_rule, self.device, self.dtype = batches, mask_rule, device, dtype
        self.max_grad_norm = optim.max_grad_norm
        self.has_warmed_up = False

    def measure_speed(self, seconds: float, max_steps: int | None, warm_up_steps: int) -> float:
        """Train for some time, or until a number of steps is reached, and return the tokens per second.

        Padding is not counted. The first call begins with the warm-up steps, which are not measured.
        """
        if not self.has_warmed_up:
            for _ in range(warm_up_steps):
                self.train_step()
            self.has_warmed_up = True
        self._synchronize()
        tokens, start = 0, time.monotonic()
        for step in itertools.count(1):
            tokens += self.train_step()
            if time.monotonic() - start >= seconds or step == max_steps:
                break
        self._synchronize()
        return tokens / (time.monotonic() - start)

    def train_step(self) -> int:
        """Do one training step and return its number of tokens, without padding."""
        batch = next(self.batches).to(self.device)
        inputs, index_P, labels_P = mask_tokens(batch.inputs, batch.key_B, self.mask_rule)
        B, T = inputs.input_ids_BT.shape
        # The labels of empty slots are written to an extra last element, which is cut off. To filter them out, the CPU
        # would have to wait for the GPU.
        target_P = index_P.where(labels_P != IGNORED, B * T)
        labels_BT = torch.full((B * T + 1,), IGNORED, device=self.device).scatter(0, target_P, labels_P)[:-1].view(B, T)
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            outputs = self.compiled_model(
                input_ids=inputs.input_ids_BT,
                attention_mask=inputs.attention_mask_BT.long(),
                token_type_ids=inputs.token_type_ids_BT,
                labels=labels_BT,
                next_sentence_label=batch.pair_labels_B,
            )
        outputs.loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
        self.adamw.step()
        self.adamw.zero_grad()
        return int(inputs.attention_mask_BT.sum())

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

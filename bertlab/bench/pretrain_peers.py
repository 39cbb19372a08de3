"""The peers of `bertlab bench pretrain`: a plain training loop over `BertForPreTraining`, and the batches it reads."""

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
    """The sentence pairs that bertlab draws, padded to the longest of a batch.

    Args:
        batches: the source of the pairs.
    """

    def __init__(self, batches: Batches):
        self.batches = batches

    def __next__(self) -> PairBatch:
        return next(self.batches)


class FullRows:
    """Rows of consecutive text cut to one length, without padding: [CLS], the tokens of the corpus, [SEP].

    Args:
        corpus: the directory of a prepared corpus.
        batch_size: rows in a batch.
        max_tokens: tokens in a row.
    """

    def __init__(self, corpus: Path, batch_size: int, max_tokens: int):
        self.corpus, self.tokenizer = Corpus.open(corpus), Tokenizer.load(corpus / "tokenizer")
        self.batch_size, self.max_tokens = batch_size, max_tokens
        self.batches = self._read()

    def __next__(self) -> PairBatch:
        return next(self.batches)

    def _read(self) -> Iterator[PairBatch]:
        B, T, rng = self.batch_size, self.max_tokens, np.random.default_rng(0)
        rest = np.empty(0, np.int64)
        while True:
            for block in rng.permutation(self.corpus.num_blocks):
                tokens = np.concatenate([rest, self.corpus.documents(int(block)).tokens.astype(np.int64)])
                count = len(tokens) // (T - 2)
                rows_RT = np.full((count, T), self.tokenizer.cls_id)
                rows_RT[:, 1:-1] = tokens[: count * (T - 2)].reshape(count, T - 2)
                rows_RT[:, -1] = self.tokenizer.sep_id
                rng.shuffle(rows_RT)
                full = count - count % B
                for ids_BT in rows_RT[:full].reshape(-1, B, T):
                    yield self._batch(torch.from_numpy(ids_BT.copy()), rng)
                rest = tokens[full * (T - 2) :] if not full else np.empty(0, np.int64)

    def _batch(self, ids_BT: torch.Tensor, rng: np.random.Generator) -> PairBatch:
        inputs = Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool))
        key_B = torch.from_numpy(rng.integers(0, 1 << 62, len(ids_BT)))
        return PairBatch(inputs, key_B, torch.zeros(len(ids_BT), dtype=torch.int64))


class Peer:
    """The loop that people would write: BertForPreTraining with SDPA, a label for every token, fused AdamW, autocast.

    On CUDA the model is compiled, which is its fastest form there; on a processor compiling gains nothing.

    Args:
        config: the architecture.
        batches: what it reads.
        rule: how tokens are masked.
        optim: the settings of AdamW.
        device, dtype: where and in which number format it computes.
    """

    def __init__(
        self,
        config: ModelConfig,
        batches: Batches,
        rule: MaskRule,
        optim: OptimConfig,
        device: torch.device,
        dtype: torch.dtype,
    ):
        hf = transformers.BertConfig(**config.to_hf(), attn_implementation="sdpa")
        self.model = transformers.BertForPreTraining(hf).to(device).train()
        self.compiled = torch.compile(self.model) if device.type == "cuda" else self.model
        parameters = self.model.parameters()
        self.adamw = torch.optim.AdamW(parameters, lr=optim.lr, weight_decay=optim.weight_decay, fused=True)
        self.batches, self.rule, self.device, self.dtype, self.clip = batches, rule, device, dtype, optim.max_grad_norm
        self.is_warm = False

    def speed(self, seconds: float, steps: int | None, warm_up_steps: int) -> float:
        """Train for some time, or for some steps if that is sooner, and return tokens per second.

        Padding is not counted, nor are the steps that warm up, which only the first call takes.
        """
        if not self.is_warm:
            for _ in range(warm_up_steps):
                self.step()
            self.is_warm = True
        self._synchronize()
        tokens, start = 0, time.monotonic()
        for done in itertools.count(1):
            tokens += self.step()
            if time.monotonic() - start >= seconds or done == steps:
                break
        self._synchronize()
        return tokens / (time.monotonic() - start)

    def step(self) -> int:
        """Take one step and return the number of tokens, without padding."""
        batch = next(self.batches).to(self.device)
        inputs, index_P, labels_P = mask_tokens(batch.inputs, batch.key_B, self.rule)
        B, T = inputs.input_ids_BT.shape
        # unused places point one past the end: selecting the others would make a GPU wait for their count
        place_P = index_P.where(labels_P != IGNORED, B * T)
        labels_BT = torch.full((B * T + 1,), IGNORED, device=self.device).scatter(0, place_P, labels_P)[:-1].view(B, T)
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            out = self.compiled(
                input_ids=inputs.input_ids_BT,
                attention_mask=inputs.attention_mask_BT.long(),
                token_type_ids=inputs.token_type_ids_BT,
                labels=labels_BT,
                next_sentence_label=batch.nsp_labels_B,
            )
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.adamw.step()
        self.adamw.zero_grad()
        return int(inputs.attention_mask_BT.sum())

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

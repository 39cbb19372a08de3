"""The implementation that `bertlab bench pretrain` compares bertlab with (the peer).

Shape legend: B batch, T tokens, P slots for the predicted tokens of all rows; some slots may be empty.
"""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import transformers

from bertlab.config.config import ModelConfig
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import IGNORED, MaskRule, mask_tokens
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.optimizers import OptimConfig


def make_full_rows(corpus: Path, batch_size: int, max_tokens: int) -> Iterator[PairBatch]:
    """Yield batches without end whose rows are consecutive text without padding: [CLS], tokens of the corpus, [SEP].

    The blocks of the corpus and the rows of a block are in random order.
    """
    opened, tokenizer = Corpus.open(corpus), Tokenizer.load(corpus / "tokenizer")
    B, T, rng = batch_size, max_tokens, np.random.default_rng(0)
    remaining_tokens = np.empty(0, np.int64)
    while True:
        for block in rng.permutation(opened.num_blocks):
            tokens = np.concatenate([remaining_tokens, opened.read_documents(int(block)).tokens.astype(np.int64)])
            num_rows = len(tokens) // (T - 2)
            rows = np.full((num_rows, T), tokenizer.cls_id)
            rows[:, 1:-1] = tokens[: num_rows * (T - 2)].reshape(num_rows, T - 2)
            rows[:, -1] = tokenizer.sep_id
            rng.shuffle(rows)
            used_rows = num_rows - num_rows % B  # rows that fill whole batches
            for row_ids_BT in rows[:used_rows].reshape(-1, B, T):
                ids_BT = torch.from_numpy(row_ids_BT.copy())
                inputs = Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool))
                key_B = torch.from_numpy(rng.integers(0, 1 << 62, B))
                yield PairBatch(inputs, key_B, torch.zeros(B, dtype=torch.int64))  # not pairs, so all labels are 0
            # If a block is too small for one batch, its tokens are put in front of the next block.
            remaining_tokens = np.empty(0, np.int64) if used_rows else tokens


class PretrainingPeer:
    """A standard training loop: BertForPreTraining with SDPA, a label for every token, fused AdamW, and autocast.

    On CUDA the model is compiled, which is fastest there. On a CPU, compilation gains nothing.
    """

    def __init__(
        self,
        config: ModelConfig,
        batches: Iterator[PairBatch],
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

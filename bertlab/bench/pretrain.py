"""`bertlab bench pretrain`: our training step beside a plain loop over `transformers`, on the same batches, in turns.

Of the library only this room imports `transformers`, and the tests.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
import transformers
import tyro

from bertlab.bench.ceiling import arithmetic, product_rate
from bertlab.bench.ours import Ours, Preset
from bertlab.bench.turns import Memory, in_turns, tell
from bertlab.config.config import ModelConfig
from bertlab.text.batch import PairBatch
from bertlab.text.pretraining.masking import IGNORED, MaskRule, mask_tokens
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.training.devices import describe_hardware, resolve_device
from bertlab.training.optimizers import OptimConfig, Precision, resolve_precision


@dataclass(frozen=True)
class BenchConfig:
    """Measure tokens per second of pre-training against `transformers.BertForPreTraining`, in turns in one run.

    Examples:
      bertlab bench pretrain --corpus runs/corpus
      bertlab bench pretrain --preset tiny --batch-size 64
    """

    what: tyro.conf.Positional[Literal["pretrain"]] = "pretrain"
    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus; without one, random pairs with the same layout."""
    preset: Preset = "mini"
    """The size of both models."""
    vocab_size: int = 8192
    """Of the random pairs; a corpus brings its own."""
    batch_size: int = 32
    """Sentence pairs a step."""
    max_tokens: int = 128
    """Tokens in a pair."""
    steps: int = 6
    """Steps in a turn."""
    rounds: int = 5
    """Turns each."""
    precision: Precision = "auto"
    """Of both sides."""
    peer_dropout: float = 0.1
    """Of the peer: 0.1 is what its configuration comes with, 0 is what ours trains with."""
    device: str = "auto"
    """cpu or cuda; auto takes a GPU if there is one."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Processor threads; all of them if not given."""
    json: bool = False
    """Print one JSON object."""


WARMING = 25  # steps in which ours loads, allocates, and makes kernels for the shapes that come up; the peer has one


class Peer:
    """The loop people would write: BertForPreTraining with SDPA, labels for every token, fused AdamW, autocast.

    On CUDA it is compiled, which is its best there; on a processor that gains nothing.
    """

    def __init__(
        self, config: ModelConfig, rule: MaskRule, optim: OptimConfig, device: torch.device, dtype: torch.dtype
    ):
        hf = transformers.BertConfig(**config.to_hf(), attn_implementation="sdpa")
        self.model = transformers.BertForPreTraining(hf).to(device).train()
        self.compiled = torch.compile(self.model) if device.type == "cuda" else self.model
        parameters = self.model.parameters()
        self.adamw = torch.optim.AdamW(parameters, lr=optim.lr, weight_decay=optim.weight_decay, fused=True)
        self.rule, self.device, self.dtype, self.clip = rule, device, dtype, optim.clip

    def step(self, batch: PairBatch) -> int:
        inputs, index_P, labels_P = mask_tokens(batch.inputs, batch.key_B, self.rule)
        B, T = inputs.input_ids_BT.shape
        # what is not used goes beyond the end: picking the others would make a GPU wait
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


def bench(config: BenchConfig) -> dict:
    """Returns tokens per second of both (median of the turns), the ratio turn by turn (median, least, most), and how
    much of what matrix products alone reach here our steps do."""
    if config.threads:
        torch.set_num_threads(config.threads)
    device = resolve_device(config.device)
    dtype = resolve_precision(config.precision, device)
    ours = Ours.of(config, config.batch_size, config.max_tokens, device=device, dtype=dtype)
    batches, shape = ours.trainer.batches, ours.shape
    ours.turn(max(config.steps, WARMING))
    memory = Memory(device)
    peer_shape = shape.replace(hidden_dropout=config.peer_dropout, attention_dropout=config.peer_dropout)
    peer = Peer(peer_shape, ours.rule, ours.trainer.optim, device, dtype)

    def our_turn() -> float:
        return ours.turn(config.steps)

    def peer_turn() -> float:
        tokens, began = 0, time.perf_counter()
        for _ in range(config.steps):
            tokens += peer.step(next(batches).to(device))
        if device.type == "cuda":
            torch.cuda.synchronize()
        return tokens / (time.perf_counter() - began)

    def drawn() -> float:
        """Over whole blocks, whose pairs are drawn at once."""
        own = PairSampler(batches.corpus, batches.tokenizer, config.batch_size, config.max_tokens, seed=1)
        next(own)  # opens the files
        tokens, blocks, began = 0, {(own.place.epoch, own.place.block)}, time.perf_counter()
        while len(blocks) < 3:
            tokens += int(next(own).inputs.attention_mask_BT.sum())
            blocks.add((own.place.epoch, own.place.block))
        return tokens / (time.perf_counter() - began)

    peer_turn()
    peaks = memory.told()
    before = ours.trainer.progress.tokens
    operations = arithmetic(our_turn) / (ours.trainer.progress.tokens - before)
    ceiling = product_rate(device, dtype)
    measured = in_turns(our_turn, {"transformers": peer_turn}, config.rounds, quiet=config.json)
    return {
        "model": f"{shape.num_layers} x {shape.hidden_size}, vocabulary {shape.vocab_size:,}",
        "parameters": sum(p.numel() for p in ours.trainer.model.parameters()),
        "batch": f"{config.batch_size} x {config.max_tokens}",
        "data": str(config.corpus.name) if config.corpus else "random pairs",
        "hardware": describe_hardware(device),
        "dropout": f"ours 0, peer's {config.peer_dropout}",
        "precision": str(dtype).removeprefix("torch."),
        "versions": f"torch {torch.__version__}, transformers {transformers.__version__}",
        **measured,
        "mflop_per_token": round(operations / 1e6, 2),
        "ceiling_gflop_per_second": round(ceiling / 1e9),
        "share_of_ceiling": round(operations * measured["bertlab_tokens_per_second"] / ceiling, 3),
        # of one process that does nothing else; a step waits for data where this is no more than it computes
        **({"pairs_drawn_tokens_per_second": round(drawn())} if config.corpus else {}),
        **peaks,
    }


def run(config: BenchConfig) -> None:
    """Measure and print."""
    tell(bench(config), config.json)

"""What a processor's training step gains from the fused attention kernel, from leaving padding out, from drawing
less for dropout, and from moving all matrices at once.

    python scripts/bench_step.py --threads 1

Processor seconds, so that other work on the machine matters little; ways in turns, medians. With more than one thread
processor seconds add up over the threads.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import tyro

from bertlab.config.presets import preset
from bertlab.nn.bert import Bert, additive_mask
from bertlab.nn.fast.dropout import dropout
from bertlab.nn.fast.model import FastBert
from bertlab.text.batch import Batch
from bertlab.training.muon import Muon
from bertlab.training.optimizers import is_hidden

SHAPES = ((16, 12, 128, 32), (8, 12, 256, 32), (6, 12, 384, 32), (4, 12, 512, 32), (8, 4, 256, 64))


@dataclass(frozen=True)
class Bench:
    """How often, and on how many threads."""

    rounds: int = 7
    threads: int = 1
    preset: str = "minilm"
    """The model whose steps are timed with and without padding."""
    dropout: float = 0.0
    """Of that model."""


def main(config: Bench) -> None:
    torch.set_num_threads(config.threads)
    print("attention forward and backward, ms: written out / fused")
    for dtype in (torch.float32, torch.bfloat16):
        for shape in SHAPES:
            written, fused = in_turns(attention_ways(shape, dtype), config.rounds)
            told = f"{dtype!s:16}{shape!s:20}"
            print(f"{told}{1e3 * written:8.1f}{1e3 * fused:8.1f}   {written / fused:.2f} times as fast")
    print(f"a classifier's step, dropout {config.dropout}, tokens a second: padded / without padding")
    torch.manual_seed(0)
    own = {"hidden_dropout": config.dropout, "attention_dropout": config.dropout, "labels": ("no", "yes")}
    model = FastBert(preset(config.preset).replace(**own), ["classify"])
    rng = np.random.default_rng(0)
    shapes = {
        "short": rng.geometric(1 / 11, 32).clip(3, 60),
        "one length": np.full(32, 13),
        "windows": rng.lognormal(5.0, 0.4, 16).astype(int).clip(40, 384),
    }
    for name, lengths in shapes.items():
        batch = padded(torch.from_numpy(lengths))
        share = 1 - lengths.sum() / batch.input_ids_BT.numel()
        before, after = (lengths.sum() / seconds for seconds in in_turns(step_ways(model, batch), config.rounds))
        print(f"{name:12}{share:6.0%} padding{before:10,.0f}{after:10,.0f}   {after / before:.2f} times as fast")
    print("dropout of a tenth, forward and backward, ns an element: torch's / ours")
    for shape in ((1, 12, 220, 220), (2700, 384)):
        hidden = torch.randn(shape, requires_grad=True)
        torchs, ours = in_turns([lambda x=hidden, f=f: f(x, 0.1).sum().backward() for f in (F.dropout, dropout)], 21)
        told = [1e9 * seconds / hidden.numel() for seconds in (torchs, ours)]
        print(f"{shape!s:20}{told[0]:8.1f}{told[1]:8.1f}   {torchs / ours:.2f} times as fast")
    print("one update of the layers' matrices by Muon, ms: torch's / ours")
    for name in ("tiny", "mini", "minilm"):
        torchs, ours = in_turns(muon_ways(FastBert(preset(name))), config.rounds)
        print(f"{name:20}{1e3 * torchs:8.1f}{1e3 * ours:8.1f}   {torchs / ours:.2f} times as fast")


def in_turns(ways: list[Callable[[], None]], rounds: int) -> list[float]:
    """Median processor seconds of each way, after one turn that does not count."""
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds + 1):
        for way, seconds in zip(ways, taken, strict=True):
            began = time.process_time()
            way()
            seconds.append(time.process_time() - began)
    return [statistics.median(seconds[1:]) for seconds in taken]


def attention_ways(shape: tuple[int, int, int, int], dtype: torch.dtype) -> list[Callable[[], None]]:
    B, N, T, D = shape
    query, key, value = torch.randn(B, T, 3, N, D).to(dtype).permute(2, 0, 3, 1, 4).requires_grad_().unbind(0)
    mask_BT = torch.arange(T).expand(B, T) < T - T // 8
    mask = additive_mask(mask_BT, query[:, 0])

    def written() -> None:
        scores = (query * D**-0.5) @ key.transpose(-1, -2) + mask
        (torch.softmax(scores, dim=-1) @ value).sum().backward()

    def fused() -> None:
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask).sum().backward()

    return [written, fused]


def padded(length_B: torch.Tensor) -> Batch:
    mask_BT = torch.arange(int(length_B.max())) < length_B[:, None]
    input_ids_BT = torch.randint(10, 1000, mask_BT.shape) * mask_BT
    return Batch(input_ids_BT, torch.zeros_like(input_ids_BT), mask_BT)


def step_ways(model: FastBert, batch: Batch) -> list[Callable[[], None]]:
    """The padded batch through every layer, as in `Bert`; and `FastBert.pooled`."""
    labels_B = torch.zeros(len(batch.input_ids_BT), dtype=torch.int64)

    def whole() -> None:
        F.cross_entropy(model.classify(Bert.forward(model, batch).pooled_BH), labels_B).backward()

    def tokens_alone() -> None:
        F.cross_entropy(model.classify(model.pooled(batch)), labels_B).backward()

    return [whole, tokens_alone]


def muon_ways(model: Bert) -> list[Callable[[], None]]:
    matrices = [p for name, p in model.named_parameters() if is_hidden(name, p)]
    for p in matrices:
        p.grad = torch.randn_like(p)
    torchs = torch.optim.Muon(matrices, adjust_lr_fn="match_rms_adamw")
    return [torchs.step, Muon(matrices, weight_decay=0.1, dtype=torch.float32).step]


if __name__ == "__main__":
    main(tyro.cli(Bench, description=__doc__))

"""`bertlab bench step`: measure the speed-up of individual parts of a training step on a CPU.

Times are CPU times, which depend little on other programs; with several threads they are summed over the threads.

Shape legend: B batch, T tokens, H hidden size.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.harness import BenchOptions, measure_cpu_seconds, report
from benchmarks.results import Result
from benchmarks.training_loop import Preset
from bertlab.config.presets import get_preset
from bertlab.nn.bert import Bert, make_additive_mask
from bertlab.nn.fast.dropout import dropout
from bertlab.nn.fast.model import FastBert
from bertlab.text.batch import Batch
from bertlab.training.devices import describe_hardware
from bertlab.training.muon import Muon
from bertlab.training.optimizers import is_hidden_matrix

ATTENTION_SHAPE = (6, 12, 384, 32)  # of queries, keys and values: batch size, heads, tokens, head size
MUON_PRESET = "mini"  # the model whose Muon update is measured


@dataclass(frozen=True)
class StepBenchConfig(BenchOptions):
    """Measure how much faster individual parts of a training step are than their plain PyTorch versions, on a CPU.

    The parts are attention (fused), dropout, and the optimiser Muon. A whole step without padding is also compared with
    a padded one.

    Examples:
      bertlab bench step
      bertlab bench step --dropout 0.1 --rounds 3
    """

    rounds: int = 7
    """Number of rounds; each version of a part runs once in every round."""
    threads: int = 1
    """Number of CPU threads."""
    preset: Preset = "minilm"
    """The size of the model whose whole step is measured with and without padding."""
    dropout: float = 0.0
    """The dropout rate of that model."""


def measure(config: StepBenchConfig) -> dict:
    """Return for each part the milliseconds of its plain and of its optimised version, and the speed-up."""
    torch.set_num_threads(config.threads)
    torch.manual_seed(0)
    measurements = {"hardware": describe_hardware(torch.device("cpu")), "dropout": config.dropout}

    def compare(name: str, versions: list[Callable[[], None]], rounds: int = config.rounds) -> None:
        plain, optimised = measure_cpu_seconds(versions, rounds)
        speed_up = round(plain / optimised, 2)
        measurements[name] = {"before_ms": 1e3 * plain, "after_ms": 1e3 * optimised, "speed_up": speed_up}

    for dtype in (torch.float32, torch.bfloat16):
        B, N, T, D = ATTENTION_SHAPE
        setting = f"{str(dtype).removeprefix('torch.')}, batch {B}, {N} heads, {T} tokens, head size {D}"
        compare(f"fused attention, {setting}", make_attention_functions(ATTENTION_SHAPE, dtype))
    changes = {"hidden_dropout": config.dropout, "attention_dropout": config.dropout, "labels": ("no", "yes")}
    model = FastBert(get_preset(config.preset).replace(**changes), ["classify"])
    rng = np.random.default_rng(0)
    # name of a batch -> the number of tokens of each of its texts
    lengths_by_name = {
        "short texts": rng.geometric(1 / 11, 32).clip(3, 60),
        "texts of one length": np.full(32, 13),
        "passage windows": rng.lognormal(5.0, 0.4, 16).astype(int).clip(40, 384),
    }
    for name, length_B in lengths_by_name.items():
        compare(f"without padding, {name}", make_step_functions(model, make_random_batch(torch.from_numpy(length_B))))
    attention = torch.randn((1, 12, 220, 220), requires_grad=True)
    functions = [lambda f=f: f(attention, 0.1).sum().backward() for f in (F.dropout, dropout)]
    compare("dropout on a tensor of shape 1 x 12 x 220 x 220", functions, 3 * config.rounds)
    compare(f"Muon update, {MUON_PRESET}", make_muon_functions(FastBert(get_preset(MUON_PRESET))))
    return measurements


def run(config: StepBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    parts = {name: row for name, row in measurements.items() if isinstance(row, dict)}
    results = [
        Result(f"Training step: {name}", row["speed_up"], unit="x", n=config.rounds, hardware=measurements["hardware"])
        for name, row in parts.items()
    ]
    if not config.json:
        for name, row in parts.items():
            measurements[name] = f"{row['before_ms']:.1f} ms to {row['after_ms']:.1f} ms, {row['speed_up']:.2f}x"
    report(measurements, results, config)


def make_attention_functions(shape: tuple[int, int, int, int], dtype: torch.dtype) -> list[Callable[[], None]]:
    """Return two functions that compute attention, forward and backward: with separate operations, and fused."""
    B, N, T, D = shape
    query, key, value = torch.randn(B, T, 3, N, D).to(dtype).permute(2, 0, 3, 1, 4).requires_grad_().unbind(0)
    mask_BT = torch.arange(T).expand(B, T) < T - T // 8
    mask = make_additive_mask(mask_BT, query[:, 0])

    def unfused() -> None:
        scores = (query * D**-0.5) @ key.transpose(-1, -2) + mask
        (torch.softmax(scores, dim=-1) @ value).sum().backward()

    def fused() -> None:
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask).sum().backward()

    return [unfused, fused]


def make_random_batch(length_B: torch.Tensor) -> Batch:
    """Return a padded batch of random tokens, with texts of the given lengths."""
    mask_BT = torch.arange(int(length_B.max())) < length_B[:, None]
    input_ids_BT = torch.randint(10, 1000, mask_BT.shape) * mask_BT
    return Batch(input_ids_BT, torch.zeros_like(input_ids_BT), mask_BT)


def make_step_functions(model: FastBert, batch: Batch) -> list[Callable[[], None]]:
    """Return two functions that compute a training step, forward and backward: first with padding, then without."""
    labels_B = torch.zeros(len(batch.input_ids_BT), dtype=torch.int64)

    def step_with_padding() -> None:
        F.cross_entropy(model.classify(Bert.forward(model, batch).pooled_BH), labels_B).backward()

    def step_without_padding() -> None:
        F.cross_entropy(model.classify(model.pool(batch)), labels_B).backward()

    return [step_with_padding, step_without_padding]


def make_muon_functions(model: Bert) -> list[Callable[[], None]]:
    """Return two functions that update all hidden matrices of a model: torch's Muon, and bertlab's."""
    matrices = [p for name, p in model.named_parameters() if is_hidden_matrix(name, p)]
    for p in matrices:
        p.grad = torch.randn_like(p)
    torch_muon = torch.optim.Muon(matrices, adjust_lr_fn="match_rms_adamw")
    return [torch_muon.step, Muon(matrices, weight_decay=0.1, dtype=torch.float32).step]

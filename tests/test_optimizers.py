"""Optimisers compared with their definitions: Google's Adam, Muon, the moving average; and resumed runs."""

import itertools
from dataclasses import replace

import pytest
import torch
from support.errors import raises_error
from support.stories import losses, settings

from bertlab.checkpoints import checkpoint
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.training import optimizers
from bertlab.training.muon import Muon
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.pretraining.pretrain import pretrain

CONFIG = ModelConfig(vocab_size=20, hidden_size=8, num_layers=1, num_heads=2, intermediate_size=16)


def model(seed: int = 1) -> Bert:
    torch.manual_seed(seed)
    return FastBert(CONFIG, heads=("nsp",))


def draw_gradients(working_model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Set a random gradient for every parameter; return copies of them by name."""
    for p in working_model.parameters():
        p.grad = torch.randn_like(p)
    return {name: p.grad.clone() for name, p in working_model.named_parameters()}


def test_without_bias_correction_adamw_equals_googles():
    """AdamWeightDecayOptimizer of google-research/bert/optimization.py, written out."""
    config = OptimConfig(bias_correction=False, max_grad_norm=1e9, beta2=0.999)
    optimizer = Optimizer(model(), config, torch.float32)
    weights = {name: p.detach().clone() for name, p in optimizer.model.named_parameters()}
    mean = {name: torch.zeros_like(w) for name, w in weights.items()}
    square = {name: torch.zeros_like(w) for name, w in weights.items()}
    for _ in range(5):
        for name, g in draw_gradients(optimizer.working_model).items():
            mean[name] = 0.9 * mean[name] + 0.1 * g
            square[name] = 0.999 * square[name] + 0.001 * g * g
            decay = 0.01 * weights[name] if weights[name].ndim >= 2 else 0.0
            weights[name] = weights[name] - 1e-3 * (mean[name] / (square[name].sqrt() + 1e-6) + decay)
        optimizer.clip()
        optimizer.step(1e-3)
    for name, p in optimizer.model.named_parameters():
        torch.testing.assert_close(p.detach(), weights[name], atol=1e-6, rtol=1e-5)


def orthogonality(change: torch.Tensor) -> float:
    """The smallest singular value divided by the largest: 1 for an orthogonal matrix."""
    values = torch.linalg.svdvals(change.float())
    return float(values.min() / values.max())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_muon_updates_hidden_matrices_and_adamw_the_rest(dtype):
    muon, adam = (
        Optimizer(model(), OptimConfig(name=name, weight_decay=0.0, max_grad_norm=1e9), dtype)
        for name in ("muon", "adamw")
    )
    before = {name: p.detach().clone() for name, p in muon.model.named_parameters()}
    for optimizer in (muon, adam):
        torch.manual_seed(7)
        draw_gradients(optimizer.working_model)
        optimizer.clip()
        optimizer.step(1e-2)
    for (name, ours), theirs in zip(muon.model.named_parameters(), adam.model.parameters(), strict=True):
        hidden = name.startswith("encoder.layers.") and ours.ndim == 2
        assert torch.equal(ours, theirs) != hidden, name
        if not hidden:
            continue
        change = (ours - before[name]).detach()
        matrices = change.chunk(3) if "qkv" in name else (change,)
        for matrix in matrices:
            # Newton-Schulz in five steps brings singular values to between 0.7 and 1.2
            assert orthogonality(matrix) > 0.4, name
            # Muon's updates are scaled to the usual size of Adam's (arXiv 2502.16982, section 2.2)
            assert float(matrix.square().mean().sqrt()) == pytest.approx(0.2 * 1e-2, rel=0.4), name
    for ours, compute in zip(muon.model.parameters(), muon.working_model.parameters(), strict=True):
        assert torch.equal(ours.to(dtype), compute)


def test_batched_muon_equals_torchs_muon(monkeypatch):
    """Both compute in float32; torch's Muon has no such option, so its conversion to bfloat16 is replaced."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor.clone())
    torch.manual_seed(2)
    shapes = [(8, 8), (8, 24), (24, 8), (8, 8), (5, 7)]
    initial = [torch.randn(shape) for shape in shapes]
    ours, theirs = ([torch.nn.Parameter(matrix.clone()) for matrix in initial] for _ in range(2))
    for optimizer in (
        Muon(ours, weight_decay=0.1, dtype=torch.float32),
        torch.optim.Muon(theirs, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    ):
        torch.manual_seed(3)
        for _ in range(3):
            for p in optimizer.param_groups[0]["params"][:-1]:  # the last has no gradient
                p.grad = torch.randn_like(p)
            optimizer.step()
    for our_matrix, their_matrix, before in zip(ours, theirs, initial, strict=True):
        torch.testing.assert_close(our_matrix, their_matrix, atol=1e-5, rtol=1e-4)
        assert torch.equal(our_matrix, before) == (our_matrix.shape == (5, 7))


def build_sign_sgd(parameters, config, dtype):
    """A toy optimiser that the package does not have: every weight changes by the same amount."""

    class SignSGD(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        state = self.state[p]
                        state["steps"] = state.get("steps", 0) + 1
                        state["mean"] = 0.9 * state.get("mean", torch.zeros_like(p)) + 0.1 * p.grad
                        p.sub_(state["mean"].sign(), alpha=group["lr"])

    return [SignSGD(parameters.values(), {"lr": config.lr})]


@pytest.fixture
def sign_sgd(monkeypatch):
    monkeypatch.setattr(optimizers, "OPTIMIZERS", dict(optimizers.OPTIMIZERS))
    optimizers.register("sign_sgd", build_sign_sgd)


def test_an_unknown_optimiser_is_refused():
    with raises_error(BertlabError, "optimizer-unknown", name="adam", names=["adamw", "muon"]):
        Optimizer(model(), OptimConfig(name="adam"), torch.float32)


def test_the_moving_average_follows_its_definition():
    optimizer = Optimizer(model(), OptimConfig(ema=0.75), torch.float32)
    expected = None
    for step in range(30):
        draw_gradients(optimizer.working_model)
        optimizer.clip()
        optimizer.step(1e-2)
        now = optimizer.model.pooler.dense.weight.detach().clone()
        decay = min(0.75, (1 + step) / (10 + step))
        expected = now if step == 0 else decay * expected + (1 - decay) * now
    torch.testing.assert_close(optimizer.final_model.pooler.dense.weight, expected, atol=1e-6, rtol=1e-5)
    assert optimizer.final_model is not optimizer.model


def test_the_checkpoint_holds_the_moving_average(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", optim=OptimConfig(lr=1e-2))
    list(pretrain(config))
    averaged = replace(config, out=tmp_path / "averaged", optim=OptimConfig(lr=1e-2, ema=0.9))
    list(pretrain(averaged))
    assert losses(tmp_path / "run") == losses(tmp_path / "averaged")
    plain, average = (checkpoint.load(tmp_path / name / "checkpoint").model for name in ("run", "averaged"))
    assert not torch.equal(plain.embeddings.token.weight, average.embeddings.token.weight)


@pytest.mark.usefixtures("sign_sgd")
@pytest.mark.parametrize(
    ("optim", "precision"),
    [
        (OptimConfig(name="muon", ema=0.9), "float32"), (OptimConfig(name="muon", ema=0.9), "bfloat16"),
        (OptimConfig(bias_correction=False), "float32"), (OptimConfig(bias_correction=False), "bfloat16"),
        (OptimConfig(name="sign_sgd"), "bfloat16"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)  # fmt: skip
def test_a_resumed_run_has_identical_losses(corpus, tmp_path, optim, precision):
    config = settings(corpus, tmp_path / "whole", steps=10, optim=optim, precision=precision)
    list(pretrain(config))
    resumed = replace(config, out=tmp_path / "resumed")
    list(itertools.islice(pretrain(resumed), 6))
    list(pretrain(resumed))
    assert losses(tmp_path / "resumed") == losses(tmp_path / "whole")
    assert losses(tmp_path / "whole")[-1] < losses(tmp_path / "whole")[0]
    ours, theirs = (checkpoint.load(tmp_path / name / "checkpoint").model for name in ("resumed", "whole"))
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(a, b)

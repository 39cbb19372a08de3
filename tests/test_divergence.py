"""A diverged run stops, names the step, and keeps the state that it saved before."""

import json
from collections.abc import Container
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import mean

import pytest
import torch
from safetensors import safe_open
from support.errors import raises_error
from support.stories import losses, settings

from bertlab.checkpoints import checkpoint, history
from bertlab.config.languages import Message
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.pretraining.corpus import Corpus
from bertlab.training.divergence import REFERENCE_STEPS, Diverged, DivergenceDetector
from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.metrics import evaluate_pretraining
from bertlab.training.pretraining.pretrain import pretrain

SHIPPED_RUN = Path(__file__).resolve().parents[1] / "assets" / "runs" / "tiny-en"


def update_all(detector: DivergenceDetector, losses: list[float]) -> None:
    for loss in losses:
        detector.update(loss)


def noisy_losses(*stretches: tuple[int, float], noise: float = 0.3) -> list[float]:
    """Losses that scatter around a level; a stretch is (steps, level)."""
    generator = torch.Generator().manual_seed(0)
    return [
        level + noise * draw for steps, level in stretches for draw in torch.randn(steps, generator=generator).tolist()
    ]


@contextmanager
def raises_loss_rose(reference: float, level: float, margin: float = 0.1):
    """Expect Diverged for a loss that rose from about `reference` to about `level` nats."""
    with raises_error(Diverged, "loss-rose") as caught:
        yield
    assert float(caught.value.params["reference"]) == pytest.approx(reference, abs=margin)
    assert float(caught.value.params["level"]) == pytest.approx(level, abs=margin)


@pytest.mark.parametrize(
    "losses",
    [
        noisy_losses((500, 5.0), noise=0.5),
        noisy_losses((50, 5.0), (3, 12.0), (50, 5.0)),
        noisy_losses(*((1, 10 * 0.99**step) for step in range(400)), noise=0.2),
        # Fine-tuning: losses near zero, and now and then a batch that is predicted wrongly.
        noisy_losses(*([(8, 0.02), (2, 3.0)] * 40), noise=0.01),
    ],
    ids=["noise", "outliers", "falling", "fine-tuning"],
)
def test_noise_outliers_and_a_falling_loss_are_no_divergence(losses):
    update_all(DivergenceDetector(), losses)


def test_a_lasting_rise_is_detected_within_ten_steps():
    with raises_loss_rose(4.0, 7.2, margin=0.3):
        update_all(DivergenceDetector(), noisy_losses((REFERENCE_STEPS, 4.0), (9, 7.2)))


def test_a_loss_that_is_not_finite_is_detected_at_once():
    with raises_error(Diverged, "loss-not-finite", value="nan"):
        DivergenceDetector().update(float("nan"))


@pytest.mark.parametrize(
    "losses",
    [
        [10.1, 11.2, 69.0, 122.0, 52.0, *[50.0] * 20],
        [10.1, 60.0, *[100.0 - step for step in range(40)]],
        [0.7, 0.7, 0.7, *[9.0] * 20],
    ],
)
def test_divergence_in_the_first_steps_is_detected_within_13_steps(losses):
    detector = DivergenceDetector()
    with raises_error(Diverged, "loss-rose", reference=f"{losses[0]:.2f}"):
        update_all(detector, losses)
    assert len(detector.losses) <= 13
    assert not detector.is_stable


@pytest.mark.parametrize(
    "losses",
    [
        # The learning rate is far too high, and the run still recovers by itself.
        [10.2, 9.9, 20.0, 24.1, 38.0, 33.2, 30.9, 19.0, 31.7, 31.4, 26.0, 18.6, 25.3, 18.4, 22.9, *[17.0] * 9, 12.0],
        # A checkpoint forgets what it learned while the learning rate rises.
        [2.0, 2.3, 3.5, 5.0, *[7.7] * 20, 6.0, 5.0],
        # Squared errors: the first batch is low by chance, and the learning rate is too high at first.
        [3.1, 9.4, 22.0, 14.0, 8.9, 17.0, 6.0, *[12.0, 7.0] * 10, *[2.0] * 20],
        # Batches of one question, some of which the checkpoint answers correctly.
        [0.001, 6.0, 2.0, 5.9, *[4.0, 0.1, 5.0] * 10],
    ],
)
def test_an_unsteady_start_is_no_divergence(losses):
    update_all(DivergenceDetector(), losses)


@pytest.mark.parametrize("rows", [4, 32])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_scattered_squared_errors_are_no_divergence(rows, scale):
    """A regression that learns nothing, in any unit: means of squares over a batch."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(10):
        errors = scale * torch.randn(400, rows, generator=generator)
        update_all(DivergenceDetector(), errors.square().mean(1).tolist())


def test_one_low_loss_among_high_ones_is_not_stable():
    detector = DivergenceDetector()
    update_all(detector, [*[4.0] * 120, 9.0, 9.0, 9.0, 4.9, 4.0])
    assert not detector.is_stable
    detector.update(4.1)
    assert detector.is_stable


def test_a_detector_is_restored_from_its_fields():
    detector = DivergenceDetector()
    update_all(detector, [4.0] * 150 + [4.5] * 50 + [7.0] * 3)
    restored = DivergenceDetector(**json.loads(json.dumps(asdict(detector))))
    assert restored == detector
    with raises_error(Diverged, "loss-rose", reference="4.00", level="7.00"):
        update_all(restored, [7.0] * 3)


@pytest.mark.parametrize("steps", [50, 100, 150, 200, 300, 1000, 3000])
def test_a_slow_rise_is_detected_before_its_states_count_as_stable(steps):
    levels = [4.0] * 300 + [4.0 + 2.5 * step / steps for step in range(steps)] + [6.5] * 300
    for seed in range(20):
        generator, detector = torch.Generator().manual_seed(seed), DivergenceDetector()
        stable_levels = []
        with raises_loss_rose(4.0, 5.0, margin=1.0):
            for level in levels:
                detector.update(level + 0.3 * torch.randn((), generator=generator).item())
                stable_levels += [level] * detector.is_stable
        assert max(stable_levels) < 5.5


def test_the_shipped_run_is_stable_from_wherever_it_is_resumed():
    losses = [row["loss"] for row in history.read_log(SHIPPED_RUN) if "loss" in row]
    assert len(losses) > 300
    for first in range(0, len(losses), 10):
        detector = DivergenceDetector()
        for loss in losses[first:]:
            detector.update(loss)
            assert detector.is_stable


def test_after_a_reset_losses_are_compared_with_the_new_level():
    detector = DivergenceDetector()
    update_all(detector, [4.0] * 100)
    detector.reset()
    for loss in [6.5] * 100:
        detector.update(loss)
        assert detector.is_stable
    update_all(detector, [9.0] * 5)
    with raises_error(Diverged, "loss-rose"):
        detector.update(9.0)


class FailingLoss:
    """The loss of pre-training, which fails after a number of calls.

    Args:
        calls: the number of calls that return the true loss.
        spoil: Loss -> the loss that later calls return.
    """

    def __init__(self, calls: int, spoil):
        self.good_calls, self.spoil, self.calls, self.true_loss = calls, spoil, 0, PretrainingLoss.__call__

    def __call__(self, objective, model, batch):
        self.calls += 1
        loss = self.true_loss(objective, model, batch)
        return loss if self.calls <= self.good_calls else self.spoil(loss)


def raise_loss(loss):
    return type(loss)(loss.value + 4, loss.metrics, loss.tokens)


def make_loss_infinite(loss):
    return type(loss)(loss.value * float("inf"), loss.metrics, loss.tokens)


class NanGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * float("nan")


def break_gradient(loss):
    return type(loss)(NanGradient.apply(loss.value), loss.metrics, loss.tokens)


@contextmanager
def raises_diverged(id: str, steps: Container[int], saved_step: int | None):
    """Expect a run to stop with Diverged for the reason `id` at one of `steps`, and to name the saved step."""
    with pytest.raises(Diverged) as caught:
        yield caught
    error = caught.value
    if saved_step is not None:
        assert error.id == "run-diverged-with-checkpoint"
        error = error.params["error"]
    assert error.id == "run-diverged"
    assert error.params["error"].id == id
    assert error.params["step"] in steps
    saved = Message("run-saved-nothing") if saved_step is None else Message("run-saved-step", step=saved_step)
    assert error.params["saved"] == saved


@pytest.mark.parametrize(
    ("spoil", "id", "steps", "saved_step"),
    [
        # It takes some steps to tell a lasting rise from an outlier.
        (raise_loss, "loss-rose", (46, 47), 39),
        (make_loss_infinite, "loss-not-finite", (9,), 7),
        (break_gradient, "gradient-not-finite", (9,), 7),
    ],
)
def test_a_diverged_run_keeps_its_last_good_state(corpus, tmp_path, monkeypatch, spoil, id, steps, saved_step):
    """The last good state is that of the last step that was followed by a normal loss."""
    loss = FailingLoss(saved_step + 1, spoil)
    monkeypatch.setattr(PretrainingLoss, "__call__", lambda self, model, batch: loss(self, model, batch))
    config = settings(corpus, tmp_path / "run", steps=saved_step + 10)
    with raises_diverged(id, steps, saved_step):
        list(pretrain(config))
    with safe_open(tmp_path / "run" / "state.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["trainer"])["progress"]["step"] == saved_step
        assert all(torch.isfinite(file.get_tensor(key)).all() for key in file.keys() if key != "rng")  # noqa: SIM118
    assert checkpoint.load(tmp_path / "run" / "last-good").record["steps"] == saved_step
    log = tmp_path / "run" / "log.jsonl"
    assert "diverged" in json.loads(log.read_text().splitlines()[-1])
    assert history.find_run_status(tmp_path / "run", history.read_log(tmp_path / "run")).state == "diverged"
    # Started again, the run diverges at the same step and keeps the same state.
    state, loss.calls = (tmp_path / "run" / "state.safetensors").read_bytes(), saved_step
    with raises_diverged(id, steps, saved_step):
        list(pretrain(config))
    assert (tmp_path / "run" / "state.safetensors").read_bytes() == state
    monkeypatch.undo()
    reports = list(pretrain(config))
    assert reports[0].step == saved_step + 1
    assert reports[-1].step == saved_step + 10
    assert len(losses(tmp_path / "run")) == saved_step + 10
    assert "diverged" not in log.read_text()


def test_a_run_that_diverges_before_its_first_save_reports_it(corpus, tmp_path, monkeypatch):
    loss = FailingLoss(2, make_loss_infinite)
    monkeypatch.setattr(PretrainingLoss, "__call__", lambda self, model, batch: loss(self, model, batch))
    with raises_diverged("loss-not-finite", (3,), saved_step=None):
        list(pretrain(settings(corpus, tmp_path / "run", save_minutes=3.0)))


def test_a_run_ruined_by_its_learning_rate_keeps_good_weights(corpus, tmp_path, monkeypatch):
    """A real divergence: 30 steps that learn, then updates that are far too large."""
    monkeypatch.setattr(OptimConfig, "learning_rate_at", lambda optim, done: 3e-3 if done < 0.5 else 1.0)
    config = settings(corpus, tmp_path / "run", steps=60)
    with raises_diverged("loss-rose", range(30, 40), saved_step=30) as first:
        list(pretrain(config))
    mean_loss = mean(losses(tmp_path / "run")[20:30])
    good = checkpoint.load(tmp_path / "run" / "last-good")
    assert all(torch.isfinite(weight).all() for weight in good.model.state_dict().values())
    metrics = evaluate_pretraining(
        good.model, good.tokenizer, Corpus.open(corpus), max_pairs=128, pair_objective="next"
    )
    assert metrics["mlm_loss"] + metrics["nsp_loss"] == pytest.approx(mean_loss, abs=0.5)
    state = (tmp_path / "run" / "state.safetensors").read_bytes()
    with pytest.raises(Diverged) as repeated:
        list(pretrain(config))
    assert str(repeated.value) == str(first.value)
    assert (tmp_path / "run" / "state.safetensors").read_bytes() == state


def test_a_learning_rate_that_ruins_the_first_steps_stops_the_run(corpus, tmp_path):
    with pytest.raises(Diverged) as caught:
        list(pretrain(settings(corpus, tmp_path / "run", steps=60, optim=OptimConfig(lr=1.0))))
    reason = caught.value
    while "error" in reason.params:
        reason = reason.params["error"]
    assert reason.id == "loss-rose"
    assert 5 <= float(reason.params["reference"]) < 6
    assert float(reason.params["level"]) > 10


def test_weights_without_a_finite_loss_are_not_saved(corpus, tmp_path):
    with raises_diverged("loss-not-finite", (2,), saved_step=None):
        list(pretrain(settings(corpus, tmp_path / "run", steps=60, optim=OptimConfig(lr=1e30))))

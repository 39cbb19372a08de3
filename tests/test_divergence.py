"""A diverged run stops and names the step, and the state it saved is from before."""

import itertools
import json
from dataclasses import asdict
from pathlib import Path
from statistics import mean

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from support.errors import raises_error
from support.stories import losses, settings

from bertlab.checkpoints import checkpoint, history
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.pretraining.corpus import Corpus
from bertlab.training.divergence import REFERENCE_STEPS, Diverged, DivergenceDetector
from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.metrics import evaluate_pretraining
from bertlab.training.pretraining.pretrain import pretrain

RUN = Path(__file__).resolve().parents[1] / "assets" / "runs" / "tiny-en"


def seen(*stretches: tuple[int, float], noise: float = 0.3) -> int:
    """How many losses a fresh watch takes: stretches of (steps, level)."""
    generator = torch.Generator().manual_seed(0)
    watch, count = DivergenceDetector(), 0
    for steps, level in stretches:
        for draw in torch.randn(steps, generator=generator).tolist():
            watch.update(level + noise * draw)
            count += 1
    return count


def show(watch: DivergenceDetector, losses: list[float]) -> None:
    for loss in losses:
        watch.update(loss)


def test_noise_outliers_and_a_falling_loss_are_no_divergence():
    assert seen((500, 5.0), noise=0.5)
    assert seen((50, 5.0), (3, 12.0), (50, 5.0))
    assert seen(*((1, 10 * 0.99**step) for step in range(400)), noise=0.2)
    # fine-tuning: near zero, and now and then a batch that is all wrong
    assert seen(*([(8, 0.02), (2, 3.0)] * 40), noise=0.01)


def test_a_lasting_rise_is_detected_soon():
    with pytest.raises(Diverged, match=r"rose from 4\.\d\d to 7"):
        seen((REFERENCE_STEPS, 4.0), (9, 7.2))
    with raises_error(Diverged, "loss-not-finite", value="nan"):
        DivergenceDetector().update(float("nan"))


@pytest.mark.parametrize(
    "begun",
    [
        [10.1, 11.2, 69.0, 122.0, 52.0, *[50.0] * 20],
        [10.1, 60.0, *[100.0 - step for step in range(40)]],
        [0.7, 0.7, 0.7, *[9.0] * 20],
    ],
)
def test_divergence_in_the_first_steps_is_detected_soon(begun):
    watch = DivergenceDetector()
    with pytest.raises(Diverged, match=rf"the loss rose from {begun[0]:.2f} to "):
        show(watch, begun)
    assert len(watch.losses) <= 13
    assert not watch.calm


@pytest.mark.parametrize(
    "begun",
    [
        # far too high a rate, and still the run finds its way back by itself
        [10.2, 9.9, 20.0, 24.1, 38.0, 33.2, 30.9, 19.0, 31.7, 31.4, 26.0, 18.6, 25.3, 18.4, 22.9, *[17.0] * 9, 12.0],
        # a checkpoint that forgets all it knew while the rate rises
        [2.0, 2.3, 3.5, 5.0, *[7.7] * 20, 6.0, 5.0],
        # squared errors: the first batch low by chance, the rate too high at first
        [3.1, 9.4, 22.0, 14.0, 8.9, 17.0, 6.0, *[12.0, 7.0] * 10, *[2.0] * 20],
        # single questions of which a checkpoint knows some
        [0.001, 6.0, 2.0, 5.9, *[4.0, 0.1, 5.0] * 10],
    ],
)
def test_an_unsteady_start_is_no_divergence(begun):
    show(DivergenceDetector(), begun)


@pytest.mark.parametrize("rows", [4, 32])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_squared_errors_scatter_and_are_no_divergence(rows, scale):
    """A regression that learns nothing, in whatever unit: the means of a batch's squares."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(10):
        values = scale * torch.randn(400, rows, generator=generator)
        show(DivergenceDetector(), values.square().mean(1).tolist())


def test_one_low_loss_among_high_ones_is_not_calm():
    watch = DivergenceDetector()
    show(watch, [*[4.0] * 120, 9.0, 9.0, 9.0, 4.9, 4.0])
    assert not watch.calm
    watch.update(4.1)
    assert watch.calm


def test_a_detector_is_restored_from_its_fields():
    watch = DivergenceDetector()
    show(watch, [4.0] * 150 + [4.5] * 50 + [7.0] * 3)
    again = DivergenceDetector(**json.loads(json.dumps(asdict(watch))))
    assert again == watch
    with pytest.raises(Diverged, match=r"rose from 4\.00 to 7\.00"):
        show(again, [7.0] * 3)


@pytest.mark.parametrize("over", [50, 100, 150, 200, 300, 1000, 3000])
def test_a_slow_rise_is_detected_and_nothing_is_saved_high_up(over):
    levels = [4.0] * 300 + [4.0 + 2.5 * step / over for step in range(over)] + [6.5] * 300
    for seed in range(20):
        saved = []
        with pytest.raises(Diverged, match=r"rose from (3\.9|4\.0)\d to [45]\.\d\d"):
            watched(levels, seed, saved)
        assert max(saved) < 5.5


def watched(levels: list[float], seed: int, saved: list[float]) -> None:
    """Show a watch noisy losses; `saved` gets the levels at which it is calm."""
    generator, watch = torch.Generator().manual_seed(seed), DivergenceDetector()
    for level in levels:
        watch.update(level + 0.3 * torch.randn((), generator=generator).item())
        saved += [level] * watch.calm


def test_the_shipped_run_raises_no_alarm_however_often_it_goes_on():
    losses = [row["loss"] for row in history.read_log(RUN) if "loss" in row]
    assert len(losses) > 300
    for begun in range(0, len(losses), 10):
        watch = DivergenceDetector()
        for loss in losses[begun:]:
            watch.update(loss)
            assert watch.calm


def test_after_forgetting_another_level_is_its_own_measure():
    watch = DivergenceDetector()
    for loss in [4.0] * 100:
        watch.update(loss)
    watch.reset()
    for loss in [6.5] * 100:
        watch.update(loss)
        assert watch.calm
    for loss in [9.0] * 5:
        watch.update(loss)
    with pytest.raises(Diverged):
        watch.update(9.0)


class Wrong:
    """The loss of pre-training, gone wrong from a step on."""

    def __init__(self, after: int, how):
        self.after, self.how, self.calls, self.right = after, how, 0, PretrainingLoss.__call__

    def __call__(self, loss, model, batch):
        self.calls += 1
        found = self.right(loss, model, batch)
        return found if self.calls <= self.after else self.how(found)


def raised(found):
    return type(found)(found.value + 4, found.metrics, found.tokens)


def endless(found):
    return type(found)(found.value * float("inf"), found.metrics, found.tokens)


class BackwardOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * float("nan")


def broken_gradient(found):
    return type(found)(BackwardOnly.apply(found.value), found.metrics, found.tokens)


@pytest.mark.parametrize(
    ("how", "line", "kept"),
    [
        # a leap is known as one only after a while
        (raised, r"the loss rose from \d\.\d\d to \d\.\d\d at step 4[67]; the state of step 39 is saved", 39),
        (endless, "the loss is inf at step 9; the state of step 7 is saved", 7),
        (broken_gradient, "the gradient norm is nan at step 9; the state of step 7 is saved", 7),
    ],
)
def test_a_run_that_diverges_keeps_its_last_good_state(corpus, tmp_path, monkeypatch, how, line, kept):
    """The last step that a healthy loss came after."""
    wrong = Wrong(kept + 1, how)
    monkeypatch.setattr(PretrainingLoss, "__call__", lambda self, model, batch: wrong(self, model, batch))
    config = settings(corpus, tmp_path / "run", steps=kept + 10)
    with pytest.raises(Diverged, match=line):
        list(pretrain(config))
    with safe_open(tmp_path / "run" / "state.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["trainer"])["progress"]["step"] == kept
        assert all(torch.isfinite(file.get_tensor(key)).all() for key in file.keys() if key != "rng")  # noqa: SIM118
    assert checkpoint.load(tmp_path / "run" / "last-good").record["steps"] == kept
    log = tmp_path / "run" / "log.jsonl"
    assert "is saved" in json.loads(log.read_text().splitlines()[-1])["diverged"]
    assert history.run_status(tmp_path / "run", history.read_log(tmp_path / "run")).state == "diverged"
    # given again it goes wrong as before, and what is kept stays
    state, wrong.calls = (tmp_path / "run" / "state.safetensors").read_bytes(), kept
    with pytest.raises(Diverged, match=line):
        list(pretrain(config))
    assert (tmp_path / "run" / "state.safetensors").read_bytes() == state
    monkeypatch.undo()
    reports = list(pretrain(config))
    assert reports[0].step == kept + 1
    assert reports[-1].step == kept + 10
    assert len(losses(tmp_path / "run")) == kept + 10
    assert "diverged" not in log.read_text()


def test_a_run_that_diverges_before_its_first_save_says_so(corpus, tmp_path, monkeypatch):
    wrong = Wrong(2, endless)
    monkeypatch.setattr(PretrainingLoss, "__call__", lambda self, model, batch: wrong(self, model, batch))
    with pytest.raises(Diverged, match="the loss is inf at step 3; nothing was saved before"):
        list(pretrain(settings(corpus, tmp_path / "run", save_minutes=3.0)))


def test_a_run_ruined_by_its_learning_rate_keeps_good_weights(corpus, tmp_path, monkeypatch):
    """Nothing is feigned but the schedule: 30 steps that learn, then updates that no model survives."""
    monkeypatch.setattr(OptimConfig, "learning_rate_at", lambda optim, done: 3e-3 if done < 0.5 else 1.0)
    config = settings(corpus, tmp_path / "run", steps=60)
    line = r"the loss rose from \d\.\d\d to \d\d\.\d\d at step 3\d; the state of step 30 is saved"
    with pytest.raises(Diverged, match=line) as first:
        list(pretrain(config))
    healthy = mean(losses(tmp_path / "run")[20:30])
    good = checkpoint.load(tmp_path / "run" / "last-good")
    assert all(torch.isfinite(weight).all() for weight in good.model.state_dict().values())
    figures = evaluate_pretraining(good.model, good.tokenizer, Corpus.open(corpus), rows=128, second="next")
    assert figures["mlm_loss"] + figures["nsp_loss"] == pytest.approx(healthy, abs=0.5)
    state = (tmp_path / "run" / "state.safetensors").read_bytes()
    with pytest.raises(Diverged) as second:
        list(pretrain(config))
    assert str(second.value) == str(first.value)
    assert (tmp_path / "run" / "state.safetensors").read_bytes() == state


@pytest.mark.parametrize(
    ("optim", "line"),
    [
        (OptimConfig(lr=1.0), r"the loss rose from 5\.\d\d to \d\d\.\d\d at step 1\d; "),
        # the first update leaves weights that no loss can be had from, so they are not kept
        (OptimConfig(lr=1e30), "the loss is (nan|inf) at step 2; nothing was saved before"),
    ],
)
def test_a_learning_rate_that_ruins_the_first_steps_stops_the_run(corpus, tmp_path, optim, line):
    with pytest.raises(Diverged, match=line):
        list(pretrain(settings(corpus, tmp_path / "run", steps=60, optim=optim)))


def test_a_state_without_a_detector_still_opens(corpus, tmp_path):
    config, path = settings(corpus, tmp_path / "run"), tmp_path / "run" / "state.safetensors"
    whole = [report.loss for report in pretrain(settings(corpus, tmp_path / "whole"))]
    list(itertools.islice(pretrain(config), 6))
    with safe_open(path, framework="pt") as file:
        facts = json.loads(file.metadata()["trainer"])
    assert len(facts.pop("watch")["losses"]) == 5
    save_file(load_file(path), path, metadata={"trainer": json.dumps(facts)})
    list(pretrain(config))
    assert losses(tmp_path / "run") == whole

"""A run that has gone wrong stops, names the step, and what it saved is from before."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from stories import losses, settings

from bertlab.learn.divergence import LONG, Diverged, Watch
from bertlab.learn.objectives import PretrainingLoss
from bertlab.learn.pretraining.pretrain import pretrain
from bertlab.weights import checkpoint, history

RUN = Path(__file__).resolve().parents[1] / "assets" / "runs" / "tiny-en"


def seen(*stretches: tuple[int, float], noise: float = 0.3) -> int:
    """How many losses a fresh watch takes: stretches of (steps, level)."""
    generator = torch.Generator().manual_seed(0)
    watch, count = Watch(), 0
    for steps, level in stretches:
        for draw in torch.randn(steps, generator=generator).tolist():
            watch.see(level + noise * draw)
            count += 1
    return count


def test_noise_single_leaps_and_a_falling_loss_are_no_divergence():
    assert seen((500, 5.0), noise=0.5)
    assert seen((50, 5.0), (3, 12.0), (50, 5.0))
    assert seen(*((1, 10 * 0.99**step) for step in range(400)), noise=0.2)
    # fine-tuning: near zero, and now and then a batch that is all wrong
    assert seen(*([(8, 0.02), (2, 3.0)] * 40), noise=0.01)


def test_a_lasting_leap_is_found_soon():
    with pytest.raises(Diverged, match=r"rose from 4\.\d\d to 7"):
        seen((LONG, 4.0), (9, 7.2))
    with pytest.raises(Diverged, match="is nan"):
        Watch().see(float("nan"))


@pytest.mark.parametrize("over", [50, 100, 150, 200, 300, 1000, 3000])
def test_a_slow_rise_is_found_and_nothing_is_saved_far_up(over):
    levels = [4.0] * 300 + [4.0 + 2.5 * step / over for step in range(over)] + [6.5] * 300
    for seed in range(20):
        saved = []
        with pytest.raises(Diverged, match=r"rose from (3\.9|4\.0)\d to [45]\.\d\d"):
            watched(levels, seed, saved)
        assert max(saved) < 5.5


def watched(levels: list[float], seed: int, saved: list[float]) -> None:
    """Show a watch noisy losses; `saved` gets the levels at which it is calm."""
    generator, watch = torch.Generator().manual_seed(seed), Watch()
    for level in levels:
        watch.see(level + 0.3 * torch.randn((), generator=generator).item())
        saved += [level] * watch.calm


def test_the_shipped_run_raises_no_alarm_however_often_it_goes_on():
    losses = [row["loss"] for row in history.read_log(RUN) if "loss" in row]
    assert len(losses) > 300
    for begun in range(0, len(losses), 10):
        watch = Watch()
        for loss in losses[begun:]:
            watch.see(loss)
            assert watch.calm


def test_after_forgetting_another_level_is_its_own_measure():
    watch = Watch()
    for loss in [4.0] * 100:
        watch.see(loss)
    watch.forget()
    for loss in [6.5] * 100:
        watch.see(loss)
        assert watch.calm
    for loss in [9.0] * 5:
        watch.see(loss)
    with pytest.raises(Diverged):
        watch.see(9.0)


class Wrong:
    """The loss of pre-training, gone wrong from a step on."""

    def __init__(self, after: int, how):
        self.after, self.how, self.calls, self.right = after, how, 0, PretrainingLoss.__call__

    def __call__(self, loss, model, batch):
        self.calls += 1
        found = self.right(loss, model, batch)
        return found if self.calls <= self.after else self.how(found)


def raised(found):
    return type(found)(found.value + 20, found.figures, found.tokens)


def endless(found):
    return type(found)(found.value * float("inf"), found.figures, found.tokens)


class BackwardOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * float("nan")


def broken_gradient(found):
    return type(found)(BackwardOnly.apply(found.value), found.figures, found.tokens)


@pytest.mark.parametrize(
    ("how", "line", "kept"),
    [
        # a leap is known as one only after a while
        (raised, r"the loss rose from \d\.\d\d to \d\d\.\d\d at step 4[67]; step 40 is kept", 40),
        (endless, "the loss is inf at step 9; step 8 is kept", 8),
        (broken_gradient, "the gradient's norm is nan at step 9; step 8 is kept", 8),
    ],
)
def test_a_run_that_diverges_keeps_its_last_good_state(corpus, tmp_path, monkeypatch, how, line, kept):
    wrong = Wrong(kept, how)
    monkeypatch.setattr(PretrainingLoss, "__call__", lambda self, model, batch: wrong(self, model, batch))
    config = settings(corpus, tmp_path / "run", steps=kept + 10)
    with pytest.raises(Diverged, match=line):
        list(pretrain(config))
    with safe_open(tmp_path / "run" / "state.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["trainer"])["progress"]["step"] == kept
        assert all(torch.isfinite(file.get_tensor(key)).all() for key in file.keys() if key != "rng")  # noqa: SIM118
    assert checkpoint.load(tmp_path / "run" / "last-good").record["steps"] == kept
    log = tmp_path / "run" / "log.jsonl"
    assert "is kept" in json.loads(log.read_text().splitlines()[-1])["diverged"]
    assert history.end(tmp_path / "run", history.read_log(tmp_path / "run")).state == "diverged"
    monkeypatch.undo()
    reports = list(pretrain(config))
    assert reports[0].step == kept + 1
    assert reports[-1].step == kept + 10
    assert len(losses(tmp_path / "run")) == kept + 10
    assert "diverged" not in log.read_text()


def test_before_anything_was_saved_it_says_so(corpus, tmp_path, monkeypatch):
    wrong = Wrong(2, endless)
    monkeypatch.setattr(PretrainingLoss, "__call__", lambda self, model, batch: wrong(self, model, batch))
    with pytest.raises(Diverged, match="the loss is inf at step 3; nothing was saved before"):
        list(pretrain(settings(corpus, tmp_path / "run", save_minutes=3.0)))

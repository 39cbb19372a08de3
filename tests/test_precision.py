"""Precision: `auto` measures which one is faster, and a resumed run keeps the precision that it started with."""

import itertools
import json

import pytest
import torch
from support.errors import raises_error
from support.stories import settings

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.training import devices
from bertlab.training.optimizers import resolve_precision
from bertlab.training.pretraining.pretrain import pretrain

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", ["mps", "meta", "nowhere", "cuda:99"])
def test_a_device_that_no_run_can_use_is_refused(name):
    with pytest.raises(BertlabError, match=r"use cpu or cuda|use --device cpu|GPUs are here"):
        devices.resolve_device(name)


@pytest.mark.parametrize(
    ("bfloat16_seconds", "expected"), [(0.5, torch.bfloat16), (0.9, torch.float32), (2.0, torch.float32)]
)
def test_auto_takes_bfloat16_only_where_it_is_clearly_faster(monkeypatch, bfloat16_seconds, expected):
    slowdowns = itertools.cycle([1.0, 1.0, 7.0])  # every third measurement is disturbed by another program

    def seconds(square):
        return next(slowdowns) * (bfloat16_seconds if square.dtype == torch.bfloat16 else 1.0)

    monkeypatch.setattr(devices, "_measure_matmul_seconds", seconds)
    assert resolve_precision("auto", CPU) == expected


def test_auto_measures_and_chooses_float32_or_bfloat16():
    assert resolve_precision("auto", CPU) in (torch.bfloat16, torch.float32)
    assert resolve_precision("bfloat16", CPU) == torch.bfloat16


@pytest.mark.parametrize("initial", ["bfloat16", "float32"])
def test_a_resumed_run_keeps_its_initial_precision(corpus, tmp_path, monkeypatch, initial):
    config = settings(corpus, tmp_path / "run", steps=4, precision="auto")
    monkeypatch.setattr("bertlab.training.optimizers.is_bfloat16_faster", lambda device: initial == "bfloat16")
    list(itertools.islice(pretrain(config), 2))
    assert json.loads((tmp_path / "run" / "run.json").read_text())["initial_precision"] == initial
    monkeypatch.setattr("bertlab.training.optimizers.is_bfloat16_faster", lambda device: initial != "bfloat16")
    list(pretrain(config))
    saved = tmp_path / "run" / "checkpoint"
    assert checkpoint.load(saved).record["precision"] == initial
    assert initial in (saved / "README.md").read_text()


def test_a_run_cannot_be_resumed_in_another_precision(corpus, tmp_path):
    list(pretrain(settings(corpus, tmp_path / "run", steps=1)))
    with raises_error(BertlabError, "run-settings-differ-finished") as caught:
        list(pretrain(settings(corpus, tmp_path / "run", steps=1, precision="bfloat16")))
    (difference,) = caught.value.params["differences"]
    assert difference.params == {"flag": "--precision", "before": "float32", "now": "bfloat16"}

"""Recipe of CONTRIBUTING.md: an optimiser, added from outside the package and used to pre-train and to resume."""

import pytest
import torch
from support.stories import losses

from bertlab.cli import main
from bertlab.training import optimizers


@pytest.fixture
def toy_sgd():
    def build(parameters, config, dtype):
        return [torch.optim.SGD(list(parameters.values()), lr=config.lr, momentum=config.beta1)]

    optimizers.register("toy-sgd", build)
    yield
    del optimizers.OPTIMIZERS["toy-sgd"]


def test_a_run_trains_and_resumes_with_a_new_optimizer(toy_sgd, corpus, tmp_path):
    words = ["pretrain", str(corpus), "--preset", "tiny", "--batch-size", "4", "--max-tokens", "32", "--no-snapshots"]
    words += ["--no-sample-predictions", "--device", "cpu", "--precision", "float32", "--threads", "1", "--steps", "12"]
    words += ["--optim.name", "toy-sgd", "--optim.lr", "0.1"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    first = losses(tmp_path / "run")
    assert len(first) == 12
    assert first[-1] < first[0]
    assert main([*words, "--out", str(tmp_path / "run"), "--steps", "14"]) == 0
    assert losses(tmp_path / "run")[:12] == first
    assert len(losses(tmp_path / "run")) == 14

"""Whole sets of settings for pre-training, as functions that return configurations.

A change is a keyword here and a flag on the command line: `bertlab pretrain runs/corpus --recipe google --seed 1`.
Knows no run.
"""

from collections.abc import Sequence
from pathlib import Path

import tyro

from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.config import PretrainConfig


def google(corpus: Path, out: Path, **changes) -> PretrainConfig:
    """The paper's (Devlin et al. 2019, appendix A.2, and google-research/bert): BERT-base, a million steps of 256
    pairs, the last tenth of them at 512 tokens, Adam without bias correction at 1e-4, dropout 0.1.

    Here pairs of 512 tokens come 64 at a time, so that a step has as many tokens as before; the paper kept 256.
    """
    optim = OptimConfig(
        lr=1e-4, warmup=0.01, decay=1.0, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01, clip=1.0,
        bias_correction=False,
    )  # fmt: skip
    settings = {
        "preset": "base", "steps": 1_000_000, "batch_size": 256, "max_tokens": 128, "then_tokens": 512,
        "then_share": 0.1, "mask": 0.15, "second": "next", "dropout": 0.1, "init": 0.02, "start": "paper",
        "optim": optim,
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="google", **(settings | changes))


def fast(corpus: Path, out: Path, **changes) -> PretrainConfig:
    """What leaves the plateau of the loss soonest on a small machine: small batches at ten times the paper's rate,
    which falls over the second half, Muon, no dropout, first heads that look at neighbours, a quarter of the tokens
    hidden; the last tenth at 512 tokens (docs/lab-notebook.md, "What leaves the first plateau")."""
    settings = {
        "preset": "mini", "batch_size": 16, "max_tokens": 128, "then_tokens": 512, "then_share": 0.1, "mask": 0.25,
        "dropout": 0.0, "start": "neighbours", "optim": OptimConfig(lr=1e-3, warmup=0.03, decay=0.6, method="muon"),
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="fast", **(settings | changes))


def further(corpus: Path, out: Path, **changes) -> PretrainConfig:
    """What continues a checkpoint (`from_`): a tenth of the ordinary rate, as a short run at that rate unlearns more
    than it learns (docs/lab-notebook.md, "The shipped checkpoints")."""
    return PretrainConfig(corpus=corpus, out=out, **({"optim": OptimConfig(lr=1e-4)} | changes))


RECIPES = {"google": google, "fast": fast}


def recipe_from_arguments(words: Sequence[str]) -> PretrainConfig | None:
    """The recipe that a command line names, for its other flags to change, or `further` where it continues a checkpoint
    with its vocabulary; None without one.

    >>> recipe_from_arguments(["runs/corpus", "--recipe", "fast"]).optim.lr
    0.001
    >>> recipe_from_arguments(["runs/corpus", "--from", "strongest"]).optim.lr
    0.0001
    """
    flags = " ".join(words).replace("--recipe ", "--recipe=").split()
    names = [flag.removeprefix("--recipe=") for flag in flags if flag.startswith("--recipe=")]
    if names and names[-1] in RECIPES:
        return RECIPES[names[-1]](tyro.MISSING, tyro.MISSING)
    continues = any(flag.partition("=")[0] == "--from" for flag in flags) and "--new-vocabulary" not in flags
    return further(tyro.MISSING, tyro.MISSING) if continues else None

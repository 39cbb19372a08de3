"""Recipes: complete sets of settings for pre-training, as functions that return configurations.

Keywords change single settings; on the command line flags do: `bertlab pretrain runs/corpus --recipe google --seed 1`.
"""

from collections.abc import Sequence
from pathlib import Path

import tyro

from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.config import PretrainConfig


def google(corpus: Path, out: Path, **changes) -> PretrainConfig:
    """The paper's settings: BERT-base, a million steps of 256 pairs, the last tenth of them with 512 tokens.

    Adam without bias correction, learning rate 1e-4, dropout 0.1. Unlike in the paper, pairs of 512 tokens come 64 at a
    time, so that a step has as many tokens as before; the paper kept 256.

    Source: Devlin et al. 2019, appendix A.2, and google-research/bert.
    """
    optim = OptimConfig(
        lr=1e-4, warmup=0.01, decay=1.0, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01, max_grad_norm=1.0,
        bias_correction=False,
    )  # fmt: skip
    settings = {
        "preset": "base", "steps": 1_000_000, "batch_size": 256, "max_tokens": 128, "final_max_tokens": 512,
        "final_share": 0.1, "mask": 0.15, "pair_objective": "next", "dropout": 0.1, "init": 0.02, "start": "paper",
        "optim": optim,
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="google", **(settings | changes))


def fast(corpus: Path, out: Path, **changes) -> PretrainConfig:
    """Settings that leave the first plateau of the loss soonest on a small machine.

    Small batches, ten times the paper's learning rate, falling over the second half, Muon, no dropout, first layers
    that attend to adjacent tokens, a quarter of the tokens masked, and the last tenth of the run with 512 tokens
    (measured in docs/lab-notebook.md).
    """
    settings = {
        "preset": "mini", "batch_size": 16, "max_tokens": 128, "final_max_tokens": 512, "final_share": 0.1,
        "mask": 0.25, "dropout": 0.0, "start": "neighbours",
        "optim": OptimConfig(lr=1e-3, warmup=0.03, decay=0.6, name="muon"),
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="fast", **(settings | changes))


def further(corpus: Path, out: Path, **changes) -> PretrainConfig:
    """Settings to continue a checkpoint (`from_`): a tenth of the default learning rate.

    A short run at the default rate forgets more than it learns (measured in docs/lab-notebook.md).
    """
    return PretrainConfig(corpus=corpus, out=out, **({"optim": OptimConfig(lr=1e-4)} | changes))


RECIPES = {"google": google, "fast": fast}


def recipe_from_arguments(arguments: Sequence[str]) -> PretrainConfig | None:
    """The settings that a command line starts from.

    Args:
        arguments: of `bertlab pretrain`.

    Returns:
        The recipe that `--recipe` names; `further` where the run continues a checkpoint with its vocabulary; else None.

    >>> recipe_from_arguments(["runs/corpus", "--recipe", "fast"]).optim.lr
    0.001
    >>> recipe_from_arguments(["runs/corpus", "--from", "strongest"]).optim.lr
    0.0001
    """
    flags = " ".join(arguments).replace("--recipe ", "--recipe=").split()
    names = [flag.removeprefix("--recipe=") for flag in flags if flag.startswith("--recipe=")]
    if names and names[-1] in RECIPES:
        return RECIPES[names[-1]](tyro.MISSING, tyro.MISSING)
    is_continued = any(flag.partition("=")[0] == "--from" for flag in flags) and "--new-vocabulary" not in flags
    return further(tyro.MISSING, tyro.MISSING) if is_continued else None

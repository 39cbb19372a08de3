"""Recipes: sets of settings for pre-training, each a function that returns a configuration.

Keyword arguments change individual settings, as flags do in `bertlab pretrain runs/corpus --recipe google --seed 1`.
"""

from collections.abc import Sequence
from pathlib import Path

import tyro

from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.config import PretrainConfig


def google(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The paper's settings: BERT-base, a million steps of 256 pairs, and 512 tokens per pair in the last tenth of them.

    Adam without bias correction, learning rate 1e-4, dropout 0.1. One setting differs from the paper: in the last
    tenth, a step has 64 pairs instead of 256, so that its number of tokens stays the same.

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


def fast(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The settings with which the loss leaves its first plateau soonest on a small machine (docs/lab-notebook.md).

    Small batches; Muon with ten times the paper's learning rate, which falls during the last 60 % of the run; no
    dropout; some first-layer heads initialised to attend to adjacent tokens; a quarter of the tokens masked; and 512
    tokens per pair in the last tenth of the run.
    """
    settings = {
        "preset": "mini", "batch_size": 16, "max_tokens": 128, "final_max_tokens": 512, "final_share": 0.1,
        "mask": 0.25, "dropout": 0.0, "start": "neighbours",
        "optim": OptimConfig(lr=1e-3, warmup=0.03, decay=0.6, name="muon"),
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="fast", **(settings | changes))


def continue_pretraining(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """Settings for the further training of a checkpoint (`from_`): a tenth of the default learning rate.

    With the default learning rate, a short run would make the model worse (docs/lab-notebook.md).
    """
    return PretrainConfig(corpus=corpus, out=out, **({"optim": OptimConfig(lr=1e-4)} | changes))


RECIPES = {"google": google, "fast": fast}


def recipe_from_arguments(arguments: Sequence[str]) -> PretrainConfig | None:
    """Find the settings that a command line starts from.

    Args:
        arguments: the arguments of `bertlab pretrain`.

    Returns:
        The settings of the recipe that `--recipe` names; those of `continue_pretraining` if the run continues a
        checkpoint with the same vocabulary; otherwise None.

    >>> recipe_from_arguments(["runs/corpus", "--recipe", "fast"]).optim.lr
    0.001
    >>> recipe_from_arguments(["runs/corpus", "--from", "strongest"]).optim.lr
    0.0001
    """
    flags = " ".join(arguments).replace("--recipe ", "--recipe=").split()
    names = [flag.removeprefix("--recipe=") for flag in flags if flag.startswith("--recipe=")]
    if names and names[-1] in RECIPES:
        return RECIPES[names[-1]](None, tyro.MISSING)
    is_continued = any(flag.partition("=")[0] == "--from" for flag in flags) and "--new-vocabulary" not in flags
    return continue_pretraining(None, tyro.MISSING) if is_continued else None

"""Recipes: sets of settings for pre-training, each a function that returns a configuration.

Keyword arguments change individual settings, as flags do in `bertlab pretrain runs/corpus --recipe google --seed 1`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import tyro

from bertlab.config.families import BERT, FAMILIES
from bertlab.config.presets import PRESETS, list_pretrainable_families
from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.config import PretrainConfig


def google(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The paper's settings, with Adam without bias correction.

    In the last tenth, a step has 64 pairs instead of 256, so that its number of tokens stays the same.

    Source: Devlin et al. 2019, appendix A.2, and google-research/bert.
    """
    optim = OptimConfig(
        lr=1e-4, warmup=0.01, decay=1.0, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01, max_grad_norm=1.0,
        bias_correction=False,
    )  # fmt: skip
    settings = {
        "preset": "base", "steps": 1_000_000, "batch_size": 256, "max_tokens": 128, "final_max_tokens": 512,
        "final_share": 0.1, "chosen_share": 0.15, "pair_objective": "next", "dropout": 0.1, "init": 0.02,
        "start": "paper", "optim": optim,
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="google", **(settings | changes))


def fast(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The settings with which the loss leaves its first plateau soonest on a small machine (docs/lab-notebook.md)."""
    settings = {
        "preset": "mini", "batch_size": 16, "max_tokens": 128, "final_max_tokens": 512, "final_share": 0.1,
        "chosen_share": 0.25, "dropout": 0.0, "start": "neighbours",
        "optim": OptimConfig(lr=1e-3, warmup=0.03, decay=0.6, name="muon"),
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="fast", **(settings | changes))


def stories(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The settings for a few minutes on generated stories; used if no corpus is given (docs/lab-notebook.md).

    Three of them make the model compare both sentences of a pair: in the first 15 % of the run nothing is masked, a
    head starts with attention to tokens that both share, and up to the last 30 % a random B comes from the same place
    of its document. Another `preset` keeps its own number of heads; without pairs, the run begins with masks.
    """
    settings = {
        "preset": "tiny", "attention_heads": 4, "batch_size": 20, "max_tokens": 48, "final_max_tokens": 128,
        "final_share": 0.3, "chosen_share": 0.2, "dropout": 0.0, "start": "matches", "random_b_position": "same",
        "pairs_only_share": 0.15, "optim": OptimConfig(lr=2e-3, warmup=0.03, decay=0.6, low_share=0.15, name="muon"),
    }  # fmt: skip
    if changes.get("preset", "tiny") != "tiny":
        settings["attention_heads"] = None
    if changes.get("pair_objective", "next") == "none":
        settings |= {"pairs_only_share": 0.0, "optim": replace(settings["optim"], low_share=0.0)}
    return PretrainConfig(corpus=corpus, out=out, recipe="stories", **(settings | changes))


def continue_pretraining(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """Settings for the further training of a checkpoint (`from_`): a tenth of the default learning rate."""
    return PretrainConfig(corpus=corpus, out=out, **({"optim": OptimConfig(lr=1e-4)} | changes))


# Value of --recipe -> the function of the recipe. The value "plain" needs none: it stands for the defaults of
# `PretrainConfig`.
RECIPES = {"google": google, "fast": fast, "stories": stories}


def make_recipe_settings(
    corpus: Path | None, out: Path, *, recipe: str = "plain", family: str = BERT.model_type, **changes
) -> PretrainConfig:
    """Make the settings of a recipe, and apply the changes that a model family needs (see `Family.pretraining`).

    >>> make_recipe_settings(None, Path("runs/lite"), recipe="fast", family="albert").pair_objective
    'order'
    """
    settings = {"family": family} | dict(FAMILIES[family].pretraining or {}) | changes
    if recipe in RECIPES:
        return RECIPES[recipe](corpus, out, **settings)
    return PretrainConfig(corpus=corpus, out=out, recipe=recipe, **settings)


def recipe_from_arguments(arguments: Sequence[str]) -> PretrainConfig | None:
    """Find the settings that a command line starts from; None stands for the defaults.

    They are those of the recipe and the family that it names, or those of `continue_pretraining` if the run continues a
    checkpoint with the same vocabulary.

    >>> recipe_from_arguments(["runs/corpus", "--recipe", "fast"]).optim.lr
    0.001
    >>> recipe_from_arguments(["runs/corpus", "--from", "strongest"]).optim.lr
    0.0001
    >>> recipe_from_arguments(["runs/corpus", "--family", "roberta"]).pair_objective
    'none'
    """
    recipe, family = _read_flag(arguments, "recipe"), _read_flag(arguments, "family")
    if recipe in RECIPES or family in list_pretrainable_families():
        return _make_defaults(recipe if recipe in RECIPES else "plain", arguments)
    continues_checkpoint = _read_flag(arguments, "from") is not None and "--new-vocabulary" not in arguments
    return continue_pretraining(None, tyro.MISSING) if continues_checkpoint else None


def recipe_from_config(config: PretrainConfig, arguments: Sequence[str]) -> PretrainConfig | None:
    """Find the settings of `stories` if there is neither a corpus, a checkpoint nor a recipe; else None."""
    if config.corpus is not None or config.from_ is not None or _read_flag(arguments, "recipe") is not None:
        return None
    return _make_defaults("stories", arguments)


def _make_defaults(recipe: str, arguments: Sequence[str]) -> PretrainConfig:
    flags = {"family": list_pretrainable_families(), "preset": tuple(PRESETS)}
    values = {name: _read_flag(arguments, name) for name in flags}
    changes = {name: value for name, value in values.items() if value in flags[name]}
    return make_recipe_settings(None, tyro.MISSING, recipe=recipe, **changes)


def _read_flag(arguments: Sequence[str], name: str) -> str | None:
    flags = " ".join(arguments).replace(f"--{name} ", f"--{name}=").split()
    values = [flag.removeprefix(f"--{name}=") for flag in flags if flag.startswith(f"--{name}=")]
    return values[-1] if values else None

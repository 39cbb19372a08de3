"""The commands `prepare`, `pretrain`, `finetune` and `evaluate` as functions that return dataclasses.

Keyword arguments are the fields of the commands' configurations, which `bertlab COMMAND --help` documents.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

if TYPE_CHECKING:
    from bertlab.session import Session

PathLike = str | Path


@dataclass(frozen=True)
class PreparedCorpus:
    """The result of `prepare`."""

    path: Path  # the directory of the corpus, which `pretrain` takes
    documents: int
    tokens: int  # the number of tokens, without [CLS] and [SEP]
    characters: int


@dataclass(frozen=True)
class TrainingResult:
    """The result of `pretrain` or `finetune`."""

    run: Path  # the run directory, with settings, log and snapshots
    checkpoint: Path  # the directory of the trained checkpoint
    steps: int  # the number of training steps, including those before the run was resumed
    tokens: int  # the number of training tokens, without padding
    metrics: Mapping[str, float]  # the metrics on held-out data, by name; {} if there was no held-out data

    def load(self) -> "Session":
        """Open the trained checkpoint."""
        from bertlab.session import load

        return load(self.checkpoint)


@dataclass(frozen=True)
class EvaluationResult:
    """The result of `evaluate`."""

    metrics: Mapping[str, float]  # the metrics by name, including the number of examples


def prepare(*text: PathLike, out: PathLike, **settings: object) -> PreparedCorpus:
    """Tokenise text for `pretrain`; if no `tokenizer` is given, train a vocabulary first.

    Args:
        text: files (.parquet, .jsonl, .json, .csv, .tsv, .txt), directories of them, or hub ids.
        settings: other fields of `PrepareConfig`, such as `vocab_size`, `cased`, `tokenizer` or
            `extend_vocabulary`.
    """
    from bertlab.training.pretraining.prepare import PrepareConfig, run

    corpus_facts = run(_make_configuration(PrepareConfig, text=tuple(map(str, text)), out=out, **settings)).facts
    return PreparedCorpus(Path(out), corpus_facts["documents"], corpus_facts["tokens"], corpus_facts["characters"])


def pretrain(corpus: PathLike | None, out: PathLike, **settings: object) -> TrainingResult:
    """Pre-train a BERT on a prepared corpus, or continue the run in `out`.

    Args:
        corpus: the directory that `prepare` wrote. None for generated stories, which are prepared in runs/story-world;
            if `settings` names no recipe, the recipe is then "stories".
        settings: other fields of `PretrainConfig`, such as `preset`, `steps`, `minutes`, `from_` or `recipe`; `optim`
            may be a dictionary of the optimiser settings to change.
    """
    from bertlab.config.presets import list_pretrainable_families
    from bertlab.training.pretraining.config import RECIPES, PretrainConfig, continue_pretraining, make_recipe_settings
    from bertlab.training.pretraining.pretrain import run

    # `make_config` makes the settings. The three possible functions have different defaults.
    keeps_vocabulary = settings.get("from_") is not None and not settings.get("new_vocabulary")
    make_config = continue_pretraining if keeps_vocabulary else PretrainConfig
    if corpus is None and settings.get("from_") is None:
        settings.setdefault("recipe", "stories")
    # An unknown recipe or family stays in the settings and is rejected when they are checked.
    if str(settings.get("recipe")) in RECIPES or str(settings.get("family")) in list_pretrainable_families():
        make_config = make_recipe_settings
    config = _make_configuration(PretrainConfig, make_config, corpus=corpus, out=out, **settings)
    run(config)
    return _read_result(config.out)


def finetune(task: str, out: PathLike, *, from_: PathLike = "strongest", **settings: object) -> TrainingResult:
    """Fine-tune a checkpoint on a task, or continue the run in `out`.

    Args:
        task: the name of a task ("sst2"), or "custom" for your own data; `settings` then contains its type (`kind`) and
            its columns.
        from_: the checkpoint to start from: a directory, the name of a shipped checkpoint, or a hub id.
        settings: other fields of `FinetuneConfig`, such as `data`, `validation`, `epochs`, `seeds` or `grid`; `optim`
            may be a dictionary of the optimiser settings to change.
    """
    from bertlab.training.finetune import FinetuneConfig, run

    config = _make_configuration(FinetuneConfig, task=task, out=out, from_=str(from_), **settings)
    run(config)
    return _read_result(config.out)


def evaluate(task: str = "", checkpoint: PathLike | None = None, **settings: object) -> EvaluationResult:
    """Evaluate a checkpoint, or a file of predictions, on a task or on a prepared corpus.

    Args:
        task: the name of a task, "custom", or "pretraining".
        settings: other fields of `EvaluateConfig`, such as `data`, `predictions`, `limit` or `record`.
    """
    from bertlab.training import evaluate as evaluate_module

    source = None if checkpoint is None else str(checkpoint)
    config = _make_configuration(evaluate_module.EvaluateConfig, task=task, checkpoint=source, **settings)
    if config.record:
        from bertlab.checkpoints.checkpoint import read_record

        evaluate_module.run(config)  # adds the metrics to the record of the checkpoint
        return EvaluationResult(read_record(config.checkpoint)["validation"])
    return EvaluationResult(evaluate_module.evaluate(config))


def _make_configuration(config_class: type, build: Callable[..., Any] | None = None, /, **settings: Any):
    """Make a configuration: strings become paths, lists become tuples, dictionaries change nested configurations."""
    from bertlab.config.limits import check_limits

    hints = get_type_hints(config_class)
    nested_settings = {name: settings.pop(name) for name, value in list(settings.items()) if isinstance(value, Mapping)}
    for name, value in settings.items():
        hint = hints.get(name)
        if isinstance(value, str) and (hint is Path or (Path in get_args(hint) and str not in get_args(hint))):
            settings[name] = Path(value)
        elif isinstance(value, list):
            settings[name] = tuple(value)
    config = (build or config_class)(**settings)
    changes = {name: dataclasses.replace(getattr(config, name), **values) for name, values in nested_settings.items()}
    config = dataclasses.replace(config, **changes)
    check_limits(config)
    return config


def _read_result(run_directory: Path) -> TrainingResult:
    checkpoint = run_directory / "checkpoint"
    record = json.loads((checkpoint / "bertlab.json").read_text(encoding="utf-8"))
    return TrainingResult(run_directory, checkpoint, record["steps"], record["tokens"], record["validation"])

"""Reproduce tables of the paper: compute the cells of `config.ALL_TABLES` with `pretrain` and `finetune`.

A cell is the result of one row, column and seed. Each finished cell is stored in a JSON file and not computed again. An
interrupted training run is resumed.
"""

import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bertlab.checkpoints import checkpoint, locate
from bertlab.config.errors import BertlabError
from bertlab.config.files import write_atomically
from bertlab.config.limits import check_limits
from bertlab.config.tasks import get_task
from bertlab.nn.bilstm import BertBiLSTM
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.training_data import TrainingData, make_finetuning_model
from bertlab.text.pretraining.corpus import Corpus
from bertlab.training import hyperparameter_search
from bertlab.training.finetune import Evaluation, FinetuneConfig, read_data, run_with_evaluations
from bertlab.training.optimizers import OptimConfig
from bertlab.training.paper.ablations import Column, Row
from bertlab.training.paper.benchmarks import BENCHMARK_TABLES, OURS, summarise_benchmark
from bertlab.training.paper.comparison import compare_directions, summarise_directions
from bertlab.training.paper.config import ALL_TABLES, ReproduceConfig
from bertlab.training.paper.task_data import find_task_directory, list_available_tasks
from bertlab.training.pretraining.config import PretrainConfig
from bertlab.training.pretraining.pretrain import pretrain
from bertlab.training.pretraining.recipes import fast

# Settings that may differ between two commands with the same --out.
FREE_SETTINGS = {"out", "seeds", "columns", "rows", "threads", "json"}
# The optimiser of tables that were begun before `--optim` existed.
ORIGINAL_OPTIM = OptimConfig(lr=1e-3, warmup=0.03, decay=0.6)
BENCHMARK_LEARNING_RATE = 1e-4  # the learning rate of fine-tuning in tables 1 to 4
FINETUNING_LEARNING_RATE = 3e-4  # the learning rate of fine-tuning in tables 5 to 8, whose models are small
FROZEN_ENCODER_LEARNING_RATE = 1e-3  # the learning rate of a BiLSTM on a frozen encoder


@dataclass(frozen=True)
class Cell:
    """The row, column and seed of one result."""

    row: str
    """The name of the row."""
    column: str
    """The name of the column."""
    seed: int
    """The seed of the runs."""


@dataclass(frozen=True)
class TableProgress:
    """How much of a table has been computed."""

    cell: Cell
    """The cell that is being computed."""
    activity: str
    """The current activity: "pre-training", "reading TASK", "fine-tuning" or "done"."""
    done: float
    """The number of finished cells, plus the finished share of the current one."""
    total: int
    """The number of cells."""


def reproduce(config: ReproduceConfig) -> Iterator[TableProgress]:
    """Compute the cells that are not finished yet, and yield the progress; `read_table` returns the results.

    Raises:
        BertlabError: data is missing (this is checked before any training), or the directory contains a table with
            different settings.
    """
    all_cells = list_cells(config)
    sources = _find_sources(config, all_cells)
    _claim_directory(config)
    # The examples of a task are tokenised only once, because all models of a table have the same vocabulary.
    training_data: dict[str, TrainingData] = {}
    for index, cell in enumerate(all_cells):
        if not _find_cell_file(config, cell).is_file():
            for activity, share in _compute_cell(config, cell, sources, training_data):
                yield TableProgress(cell, activity, index + share, len(all_cells))


def _compute_cell(
    config: ReproduceConfig, cell: Cell, sources: dict[str, str | None], training_data: dict[str, TrainingData]
) -> Iterator[tuple[str, float]]:
    """Train and evaluate the model of a cell, and write the result; yield (activity, finished share of the cell)."""
    table = ALL_TABLES[config.table]
    row, column = table.rows[cell.row], table.columns[cell.column]
    # The checkpoint to train, and the share of the cell's training that is pre-training.
    checkpoint_name, pretraining_share = config.from_, 0.0
    if table.pretrainings:
        pretraining_share = 1.0 if column.method == "pretrain" else 0.5
        run_config = _make_pretrain_config(config, row, cell.seed)
        if not (run_config.out / "checkpoint" / "bertlab.json").is_file():
            for report in pretrain(run_config):
                yield "pre-training", pretraining_share * report.progress
        (run_config.out / "state.safetensors").unlink(missing_ok=True)
        checkpoint_name = str(run_config.out / "checkpoint")
    if column.method == "pretrain":
        metrics = json.loads((Path(checkpoint_name) / "bertlab.json").read_text())["validation"]
        result = {"value": math.exp(metrics["mlm_loss"]), "figures": metrics}
    else:
        task_name = _find_task_name(config, column)
        run_config = _make_finetune_config(config, cell, checkpoint_name, sources[task_name])
        if task_name not in training_data:
            yield f"reading {task_name}", pretraining_share
            training_data[task_name] = read_data(run_config)
        data = _replace_checkpoint(training_data[task_name], checkpoint_name, row, column, config.lstm_width)
        metric = column.metric or data.spec.metrics[0]
        train = _search_grid if config.grid else _finetune
        result = {"metric": metric}
        for share, outcome in train(run_config, data):
            yield "fine-tuning", pretraining_share + (1 - pretraining_share) * share
            result |= outcome
        result = {"value": result["figures"][metric]} | result
        (run_config.out / "state.safetensors").unlink(missing_ok=True)
    _write_json(_find_cell_file(config, cell), asdict(cell) | {"task": _find_task_name(config, column)} | result)
    yield "done", 1.0


def _finetune(run_config: FinetuneConfig, data: TrainingData) -> Iterator[tuple[float, dict]]:
    """Fine-tune once; yield (finished share, {}) for each step, then (1.0, results)."""
    for report in run_with_evaluations(run_config, data):
        if isinstance(report, Evaluation):
            evaluation = report
        else:
            yield report.progress, {}
    minutes = round(evaluation.seconds / 60, 2)
    yield 1.0, {"figures": evaluation.metrics, "steps": evaluation.step, "minutes": minutes}


def _search_grid(run_config: FinetuneConfig, data: TrainingData) -> Iterator[tuple[float, dict]]:
    """Fine-tune with every setting of the paper's grid; yield (finished share, {}) for each step, then (1.0, results).

    The results are those of the setting with the best value of the task's first metric.
    """
    search_config, results = replace(run_config, grid=True), []
    with hyperparameter_search.lock_run(search_config):
        for number, total, _, reports in hyperparameter_search.search(search_config, data, results):
            for report in reports:
                if not isinstance(report, Evaluation):
                    yield (number - 1 + report.progress) / total, {}
    best = max(results, key=lambda result: result["figures"][data.spec.metrics[0]])
    minutes = round(sum(result["minutes"] for result in results), 2)
    yield 1.0, {"figures": best["figures"], "setting": best["setting"], "runs": len(results), "minutes": minutes}


def list_cells(config: ReproduceConfig) -> list[Cell]:
    """List the cells of a table; all cells of one seed come before those of the next seed.

    Raises:
        BertlabError: a row or column does not exist, or a setting is out of its range.
    """
    table = ALL_TABLES[config.table]
    for error_id, names, known_names in (
        ("reproduce-row-unknown", config.rows, table.rows),
        ("reproduce-column-unknown", config.columns, table.columns),
    ):
        if unknown := [name for name in names if name not in known_names]:
            raise BertlabError(error_id, table=config.table, name=unknown[0], names=list(known_names))
    check_limits(config)
    is_benchmark = config.table in BENCHMARK_TABLES
    for flag, is_set in (("--grid", config.grid), ("--quick", config.quick)):
        if is_set and not is_benchmark:
            raise BertlabError("reproduce-flag-for-benchmarks", flag=flag)
    if config.grid and config.quick:
        raise BertlabError("reproduce-quick-with-grid")
    columns = (
        config.columns
        or (list_available_tasks(config) if is_benchmark else ())
        or tuple(
            name
            for name, column in table.columns.items()
            if not column.is_optional and (column.method != "pretrain" or config.validation)
        )
    )
    return [
        Cell(name, column, seed)
        for seed in range(config.seeds)
        for name, row in table.rows.items()
        for column in columns
        if name in (config.rows or table.rows) and column in (row.columns or table.columns)
    ]


def read_benchmark(config: ReproduceConfig) -> dict:
    """Read the finished cells of one of tables 1 to 4, and combine them with the published results.

    Returns:
        The result of `summarise_benchmark`, with the settings of the table.
    """
    cells: dict[str, list[dict]] = {}
    for seed in range(config.seeds):
        for column in config.columns or BENCHMARK_TABLES[config.table].columns:
            path = _find_cell_file(config, Cell(OURS, column, seed))
            if path.is_file():
                cells.setdefault(column, []).append(json.loads(path.read_text()))
    summary = summarise_benchmark(config.table, f"{config.from_}, ours", cells)
    return summary | {"settings": _select_fixed_settings(config), "seeds": config.seeds}


def read_table(config: ReproduceConfig) -> dict:
    """Read the finished cells of a table.

    Returns:
        Title, source and settings of the table; for each row and column the values of all seeds, their mean and spread
        (standard deviation), and the paper's result; the comparisons of `compare_directions`, which show whether
        differences from the reference row have the same sign as in the paper; and a sentence that summarises them.
    """
    table = ALL_TABLES[config.table]
    rows: dict[str, dict] = {}
    for cell in list_cells(config):
        row = rows.setdefault(cell.row, {"title": table.rows[cell.row].title, "cells": {}})
        if _find_cell_file(config, cell).is_file():
            value = json.loads(_find_cell_file(config, cell).read_text())["value"]
            row["cells"].setdefault(cell.column, {"values": []})["values"].append(value)
        if table.pretrainings:
            record_path = (
                _make_pretrain_config(config, table.rows[cell.row], cell.seed).out / "checkpoint" / "bertlab.json"
            )
            if record_path.is_file():
                row["tokens"] = json.loads(record_path.read_text())["tokens"]
    for name, row in rows.items():
        for column, summary in row["cells"].items():
            summary["mean"] = statistics.mean(summary["values"])
            summary["spread"] = statistics.stdev(summary["values"]) if len(summary["values"]) > 1 else None
            summary["paper"] = table.rows[name].paper_results.get(column)
    columns = {
        name: {
            "title": column.title,
            "task": _find_task_name(config, column),
            "paper_task": column.paper_task,
            "lower": column.lower_is_better,
        }
        for name, column in table.columns.items()
        if any(name in row["cells"] for row in rows.values())
    }
    result = {
        "table": config.table,
        "title": table.title,
        "source": f"Devlin et al. 2019, {table.source}",
        "settings": _select_fixed_settings(config),
        "seeds": config.seeds,
        "columns": columns,
        "rows": rows,
        "against": table.reference_row,
    }
    return result | {"directions": compare_directions(result), "sentence": summarise_directions(result)}


# -- runs of a cell ----------------------------------------------------------------------------------------------


def _make_pretrain_config(config: ReproduceConfig, row: Row, seed: int) -> PretrainConfig:
    """Make the settings of the pre-training run that a row starts from."""
    changes = ALL_TABLES[config.table].pretrainings[row.pretrained]
    run_config = fast(
        config.corpus,
        config.out / f"pretrained-seed{seed}" / row.pretrained,
        preset=config.preset, batch_size=config.batch_size, max_tokens=config.max_tokens, seed=seed,
        validation=config.validation, evaluate_every=10**9, snapshots=False, sample_predictions=False,
        device=config.device, threads=config.threads, optim=config.optim, **changes,
    )  # fmt: skip
    limits = {"steps": config.steps} if config.steps else {"minutes": config.minutes_per_run}
    return replace(run_config, **limits)


def _make_finetune_config(
    config: ReproduceConfig, cell: Cell, checkpoint_name: str, source: str | None
) -> FinetuneConfig:
    """Make the settings with which the fine-tuning run of a cell trains a checkpoint on the rows in `source`."""
    table = ALL_TABLES[config.table]
    column, row = table.columns[cell.column], table.rows[cell.row]
    finetuning_rate = BENCHMARK_LEARNING_RATE if config.table in BENCHMARK_TABLES else FINETUNING_LEARNING_RATE
    learning_rate = FROZEN_ENCODER_LEARNING_RATE if column.method == "features" else finetuning_rate
    name = _find_task_name(config, column)
    return FinetuneConfig(
        task=name, from_=checkpoint_name, data=source, out=_find_cell_file(config, cell).with_suffix(""),
        epochs=config.epochs_per_run, minutes=config.minutes_per_run, batch_size=config.batch_size, seed=cell.seed,
        device=config.device, threads=config.threads,
        max_tokens=None if TASK_TYPES[get_task(name).kind].reads_windows else config.max_tokens,
        optim=OptimConfig(lr=learning_rate, warmup=0.1, beta2=0.999),
        # LSTMs are slow in bfloat16 on a CPU.
        precision="float32" if column.method == "features" or row.has_lstm else "auto",
    )  # fmt: skip


def _replace_checkpoint(
    data: TrainingData, checkpoint_name: str, row: Row, column: Column, lstm_width: int
) -> TrainingData:
    """Use the tokenised data of a task with a different checkpoint.

    The model to train is the encoder of this checkpoint with an output layer. A BiLSTM is between the two if the row
    has one, or if the encoder is frozen.
    """
    loaded = checkpoint.load(checkpoint_name)
    is_frozen = column.method == "features"

    def build_model(dropout: float) -> BertBiLSTM:
        head = data.task_type.head
        model = make_finetuning_model(loaded.model, head, dropout, data.labels)
        # `make_finetuning_model` sets dropout and labels, which are needed. Its output layer is not needed: it fits the
        # hidden size of the encoder, and `BertBiLSTM` builds one that fits the width of the LSTM.
        del model.heads[head]
        return BertBiLSTM(
            model,
            head,
            feature_layers=row.feature_layers if is_frozen else "last",
            width=lstm_width,
            freezes_bert=is_frozen,
        )

    return replace(data, loaded=loaded, build_model=build_model if is_frozen or row.has_lstm else None)


def _find_task_name(config: ReproduceConfig, column: Column) -> str:
    """Return the task of a column; for the columns of named entities, the task of `--ner`."""
    return config.ner if column.task == "ner" else column.task


def _find_cell_file(config: ReproduceConfig, cell: Cell) -> Path:
    """Return the JSON file of a finished cell."""
    return config.out / f"{cell.row}-seed{cell.seed}" / f"{cell.column}.json"


# -- data and directory ------------------------------------------------------------------------------------------


def _find_sources(config: ReproduceConfig, all_cells: list[Cell]) -> dict[str, str | None]:
    """Check that all data exists, and find the directory of each task.

    Returns:
        Name of the task -> its directory; None if the data on the hub is used.
    """
    table = ALL_TABLES[config.table]
    if table.pretrainings:
        if config.corpus is None:
            raise BertlabError("reproduce-needs-corpus", table=config.table)
        for directory in filter(None, (config.corpus, config.validation)):
            Corpus.open(directory)  # raises DataError if there is no corpus
    else:
        locate.find(config.from_)  # raises CheckpointError if there is no such checkpoint
    if "perplexity" in config.columns and config.validation is None:
        raise BertlabError("reproduce-perplexity-needs-validation")
    names = dict.fromkeys(_find_task_name(config, table.columns[cell.column]) for cell in all_cells)
    return {name: find_task_directory(config.data, name) for name in names if name}


def _select_fixed_settings(config: ReproduceConfig) -> dict:
    """Select the settings that all cells of a directory share, as JSON values."""
    settings = {name: value for name, value in asdict(config).items() if name not in FREE_SETTINGS}
    # Record the limits that apply, even if their flags are unset. Without --minutes, the limit is 10 minutes for tables
    # 5 to 8; older directories contain the same number, because it was the default of the flag then.
    settings |= {"minutes": config.minutes_per_run, "epochs": config.epochs_per_run}
    return json.loads(json.dumps(settings, default=str))


def _claim_directory(config: ReproduceConfig) -> None:
    """Write the settings to a new directory, or check that they equal the settings of the existing table.

    Raises:
        BertlabError: the directory contains a table with different settings.
    """
    path, settings = config.out / "reproduce.json", _select_fixed_settings(config)
    has_results = path.is_file() and any(other != path for other in config.out.iterdir())
    if not has_results:
        _write_json(path, settings)
        return
    # Directories that were begun before `reproduce` had tables 1 to 4 do not record the flags of these tables.
    old_settings = {"grid": False, "quick": False} | json.loads(path.read_text())
    old_settings["optim"] = asdict(ORIGINAL_OPTIM) | old_settings.get("optim", {})
    changed_names = sorted(name for name in settings | old_settings if settings.get(name) != old_settings.get(name))
    if changed_names:
        raise BertlabError("reproduce-other-settings", directory=config.out, changed=changed_names)


def _write_json(path: Path, value: dict) -> None:
    """Write a JSON object to a file, completely or not at all."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

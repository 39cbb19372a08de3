"""Our own results on the tasks of the paper, from shipped checkpoints, fine-tuning runs and reproduced tables."""

import statistics
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.config.errors import BertlabError
from bertlab.training.paper.benchmarks import OURS, read_cells, select_metrics
from bertlab_app import access
from bertlab_app.data import sessions, training_runs


@dataclass(frozen=True)
class OwnResult:
    """Our result on a task: the result of one checkpoint or, for a reproduced table, the mean over its seeds."""

    system: str
    """What was evaluated: the name of the checkpoint or run; for a reproduced table, its directory and the checkpoint
    that was fine-tuned."""
    task: str  # the task, a name of `config.tasks.TASKS`
    values: dict[str, float]  # {name of a `config.paper.Measure`: metric in percent}
    num_rows: int | None  # the number of validation rows; None if unknown
    source: str
    """The name or path of the checkpoint that the page opens (for a mean, the checkpoint of seed 0); "" if no
    checkpoint is stored."""


def find_results(directory: str = access.RUN_DIRECTORY) -> list[OwnResult]:
    """Find our results: those of the shipped checkpoints first, then those in a directory of runs."""
    return [*_find_shipped(), *_find_runs(directory), *_find_tables(directory)]


def _find_shipped() -> Iterator[OwnResult]:
    """Find the results that are stored with the shipped checkpoints."""
    for name in find_shipped_checkpoints():
        with suppress(BertlabError):
            _, record = sessions.read_description(name)
            yield from _make_result(name, record, name)
            for task, evaluation in record.get("other_tasks", {}).items():
                yield from _make_result(name, {"objectives": [task], "validation": evaluation.get("metrics")}, name)


def _find_runs(directory: str) -> Iterator[OwnResult]:
    """Find the results of the fine-tuning runs in a directory."""
    shipped = training_runs.find_runs("")
    for name, path in training_runs.find_runs(directory).items():
        if name not in shipped and (path / "checkpoint" / "config.json").is_file():
            with suppress(BertlabError):
                yield from _make_result(name, checkpoint.read_record(path / "checkpoint"), str(path))


def _find_tables(directory: str) -> Iterator[OwnResult]:
    """Find the results of the tables that `bertlab reproduce` wrote to subdirectories of a directory."""
    root = Path(directory)
    if not access.is_allowed(root) or not root.is_dir():
        return
    # checked again for each table, because a symbolic link may point to another directory
    for path in sorted(file.parent for file in root.glob("*/reproduce.json") if access.is_allowed(file)):
        checkpoint_name, cells = read_cells(path)
        for task, metrics_by_seed in cells.items():
            shared_names = set.intersection(*(set(metrics) for metrics in metrics_by_seed))
            means = {name: statistics.mean(metrics[name] for metrics in metrics_by_seed) for name in shared_names}
            first_run = path / f"{OURS}-seed0" / task
            source = str(first_run) if (first_run / "checkpoint" / "config.json").is_file() else ""
            record = {"objectives": [task], "validation": means}
            yield from _make_result(f"{path.name}: {checkpoint_name}", record, source)


def _make_result(system: str, record: Mapping, source: str) -> Iterator[OwnResult]:
    """Yield the result that a record contains; yield nothing if it has no metrics, or not exactly one objective."""
    objectives, metrics = record.get("objectives"), select_metrics(record.get("validation"))
    if isinstance(objectives, list) and len(objectives) == 1 and metrics:
        task = str(objectives[0])
        num_rows = metrics.get("examples", metrics.get("total"))
        values = {f"{task}.{name}": value for name, value in metrics.items()}
        yield OwnResult(system, task, values, None if num_rows is None else round(num_rows), source)

"""The results of `bertlab bench serve`: a line of benchmarks/serving.jsonl for each run."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bertlab.checkpoints.assets import REPOSITORY
from bertlab.config.errors import DataError
from bertlab.config.korean_results import KPFBERT

ROWS_PATH = REPOSITORY / "benchmarks" / "serving.jsonl"
STEPS = ("base", "student", "dynamic", "onnx", "int8", "workers", "cache")
"""The steps in their order. A step is one way to classify the texts; it changes one thing in the step before it.

base: a BERT of base size in PyTorch, all texts padded to the same length; student: a small checkpoint; dynamic: padding
to the longest text of a batch; onnx: ONNX Runtime; int8: int8 weights; workers: a single-threaded worker process per
core; cache: repeated texts are not computed again.
"""
PEERS = ("peer-base", "peer-student")
"""The implementations that the steps are compared with: `transformers` and ONNX Runtime, used as their documentation
recommends."""
COMPARED_STEP = "workers"
"""The step whose throughput is compared with that of the first step: the last step before the cache, whose speed
depends on repeated texts."""


@dataclass(frozen=True)
class PublishedAccuracy:
    """A published accuracy of a BERT of base size, to show if the first step has random weights."""

    percent: float
    """The accuracy in percent."""
    title: str
    """The model and the publication."""
    link: str
    """The address of the publication."""


PUBLISHED = {
    "sst2": PublishedAccuracy(92.7, "BERT base, Devlin et al. 2019, table 5", "https://arxiv.org/abs/1810.04805"),
    "nsmc": PublishedAccuracy(90.62, "KLUE-BERT, README of kpfBERT", KPFBERT),
}
"""Task -> a published accuracy on its validation rows; for nsmc, on the official test set."""


@dataclass(frozen=True)
class StepResult:
    """The measurements of one step or peer."""

    name: str
    """One of `STEPS` or `PEERS`."""
    texts_per_second: float
    """The throughput (median of the rounds) when all texts are sent at the start."""
    slowest: float
    """The throughput of the slowest round."""
    fastest: float
    """The throughput of the fastest round."""
    p50_ms: float
    """The median time, in milliseconds, in which one text is classified while nothing else is computed."""
    p95_ms: float
    """The 95th percentile of this time."""
    accuracy: float | None
    """The accuracy in percent; None for a model with random weights."""
    changed: int | None
    """How many texts get a label that differs from that of the student in float32; None for another model."""


@dataclass(frozen=True)
class ServingRun:
    """One run of the benchmark."""

    task: str
    """The task, a name of `config.tasks.TASKS`."""
    student: str
    """The name of the small checkpoint."""
    student_size: tuple[int, int]
    """The number of layers and the hidden size of the small checkpoint."""
    base: str | None
    """The name of the checkpoint of the first step; None for random weights of BERT's base size."""
    rows: int
    """The number of rows on which accuracy is measured."""
    texts: int
    """The number of texts in a measurement of throughput."""
    mean_tokens: float
    """The mean number of tokens of these texts."""
    max_tokens: int
    """The length to which the first two steps pad, in tokens."""
    batch_size: int
    """The maximum number of texts in a batch."""
    repeated: float
    """The share of requests that repeat an earlier text, in the step `cache`."""
    repeated_rows: float
    """The share of the rows that repeat an earlier row."""
    cores: int
    """The number of CPU cores, which is also the number of threads and of worker processes."""
    rounds: int
    """The number of rounds."""
    hardware: str
    """The machine, and its load at the start."""
    command: str
    """The command."""
    commit: str | None
    """The commit that was measured."""
    date: str
    """The day, as YYYY-MM-DD."""
    steps: tuple[StepResult, ...]
    """The results of the steps, then of the peers."""

    def find(self, name: str) -> StepResult:
        """Return the result of a step or peer."""
        return next(step for step in self.steps if step.name == name)

    def times_faster(self, name: str) -> float:
        """Return the throughput of a step or peer, divided by that of the first step."""
        return self.find(name).texts_per_second / self.find(STEPS[0]).texts_per_second

    @property
    def points_lost(self) -> float:
        """How many points of accuracy the step `COMPARED_STEP` has lost, compared with the student in float32."""
        return self.find("student").accuracy - self.find(COMPARED_STEP).accuracy


def list_values(run: ServingRun, quantity: str) -> dict[str, float]:
    """Return one quantity of every step and peer: {name: value}.

    Args:
        run: the run.
        quantity: "throughput" (texts per second) or "latency" (the median time of one text in milliseconds).
    """
    field = {"throughput": "texts_per_second", "latency": "p50_ms"}[quantity]
    return {step.name: getattr(step, field) for step in run.steps}


def append_run(run: ServingRun, path: Path | None = None) -> None:
    """Append a run to a file, by default `ROWS_PATH`."""
    path = path or ROWS_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run), ensure_ascii=False) + "\n")


def read_runs(path: Path | None = None) -> dict[str, ServingRun]:
    """Return {task: its newest run} from a file, by default `ROWS_PATH`; {} if there is no such file.

    Raises:
        DataError: a line is not a run.
    """
    path, runs = path or ROWS_PATH, {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for number, line in enumerate(lines, 1):
        try:
            run = _parse_run(json.loads(line))
        except (ValueError, TypeError, KeyError):
            raise DataError("bench-results-line-invalid", path=str(path), line=number) from None
        runs.pop(run.task, None)
        runs[run.task] = run
    return runs


def _parse_run(row: Mapping) -> ServingRun:
    """Make a run from the fields of a line.

    Raises:
        TypeError, KeyError, ValueError: a field or a step is missing or unknown.
    """
    values = {field.name: row[field.name] for field in fields(ServingRun)}
    steps = tuple(StepResult(**step) for step in row["steps"])
    if [step.name for step in steps] != [*STEPS, *PEERS]:
        raise ValueError(steps)
    return ServingRun(**values | {"steps": steps, "student_size": tuple(row["student_size"])})

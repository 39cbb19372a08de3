"""Read a run directory: its settings, its log, its snapshots, and whether the run has finished.

`bertlab pretrain` and `bertlab finetune` write run.json (settings), log.jsonl (one row for each step and each
evaluation), snapshots/step-XXXXXXXX/ and checkpoint/ (the result). The run may still be in progress, and the directory
may come from an untrusted source, so invalid rows and fields are skipped.
"""

import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertlab.checkpoints.assets import find_asset_directory
from bertlab.config.errors import DataError
from bertlab.config.files import describe_system_error

# Names in a run directory: the settings, the log, the directories of the snapshots and of the result. `RECORD` is a
# file in each snapshot and in the result.
SETTINGS, LOG, SNAPSHOTS, RESULT, RECORD = "run.json", "log.jsonl", "snapshots", "checkpoint", "bertlab.json"
STALL_SECONDS = 300  # a run without a result counts as stopped if its log has not changed for this long
THINNED_ROWS = 400  # the approximate number of rows of training steps in a thinned log
RECENT_STEPS = 100  # the number of steps over which `compute_recent_mean` averages
MAX_NUMBER = 1e15  # a larger number in a log or record is invalid
# Keys whose value in a thinned row is that of the last step, not the mean over the steps.
_LAST_VALUE_KEYS = {"step", "tokens", "seconds", "progress", "learning_rate", "step_seconds"}
# Keys of run.json that are not settings; `bertlab export-run` writes "exported".
_NOT_SETTINGS = {"initial_precision", "data_fingerprint", "lengthened_after", "exported"}
_FLAG_NAMES = {"kind": "type", "optim.ema": "ema"}  # setting -> the name of its flag, if it differs
# A stopped run has diverged if the mean loss of its last `_WINDOW_STEPS` steps exceeds the lowest mean loss of
# `_WINDOW_STEPS` consecutive steps by more than `_DIVERGED_NATS`, and by more than the factor `_DIVERGED_FACTOR`.
_DIVERGED_NATS, _DIVERGED_FACTOR = 1.0, 1.25
_WINDOW_STEPS = 20


@dataclass(frozen=True)
class Snapshot:
    """A checkpoint that a run saved during training, after so many steps and tokens."""

    step: int
    tokens: int
    path: Path
    validation: Mapping[str, float] = field(default_factory=dict)  # metrics on held-out text


@dataclass(frozen=True)
class RunStatus:
    state: str  # "running", "finished", "stopped" or "diverged"
    step: int  # the last step in the log
    idle_seconds: float  # since the log last changed


@dataclass(frozen=True)
class SamplePrediction:
    """The predictions for a sample sentence at one step of a run (`bertlab pretrain --sample-predictions`)."""

    step: int
    text: str  # the sentence, with [MASK]
    predictions: tuple[tuple[tuple[str, float], ...], ...]  # for each [MASK]: (token, probability)


def find_shipped_runs() -> dict[str, Path]:
    """Find the shipped runs -> {name: directory}."""
    return find_runs(find_asset_directory("runs"))


def find_runs(directory: str | Path) -> dict[str, Path]:
    """Find the runs in a directory, or the directory itself if it is a run -> {name: run directory}, perhaps {}."""
    try:
        directory = Path(directory).expanduser()
        if is_run(directory):
            return {directory.resolve().name: directory}
        return {path.name: path for path in sorted(directory.iterdir()) if path.name[:1] != "." and is_run(path)}
    # The path is too long, contains a null character, or begins with ~ and the name of an unknown user.
    except (OSError, RuntimeError, ValueError):
        return {}


def is_run(directory: Path) -> bool:
    return (directory / LOG).is_file() or (directory / SNAPSHOTS).is_dir()


def read_settings(run: Path) -> dict:
    """Read the settings of a run from run.json; {} if the file is missing or damaged."""
    return _read_json(run / SETTINGS)


def find_differing_settings(runs: Iterable[Mapping]) -> dict[str, list]:
    """Find the settings that differ between runs that have them -> {flag: value in each run, or None}.

    >>> span = {"kind": "span", "optim": {"lr": 0.1}, "seed": 1}
    >>> find_differing_settings([span, {"kind": "tagging", "optim": {"lr": 0.2}}])
    {'type': ['span', 'tagging'], 'optim.lr': [0.1, 0.2]}
    """
    flag_settings = [dict(_list_flags(run)) for run in runs]
    flags = dict.fromkeys(flag for settings in flag_settings for flag in settings)
    values_by_flag = {flag: [settings[flag] for settings in flag_settings if flag in settings] for flag in flags}
    differing_flags = [flag for flag, values in values_by_flag.items() if any(value != values[0] for value in values)]
    return {flag: [settings.get(flag) for settings in flag_settings] for flag in differing_flags}


def _list_flags(settings: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if name in _NOT_SETTINGS:
            continue
        flag = f"{prefix}{name.rstrip('_').replace('_', '-')}"
        if isinstance(value, Mapping):
            yield from _list_flags(value, f"{flag}.")
        else:
            yield _FLAG_NAMES.get(flag, flag), value


def read_log(run: Path) -> list[dict]:
    """Read a run's log without damaged lines; [] if there is none. Raises DataError if it cannot be read."""
    try:
        text = (run / LOG).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError("run-log-not-readable", path=run / LOG, reason=describe_system_error(error)) from None
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and is_number(row.get("step")):
            rows.append(row)
    return rows


def is_step(row: Mapping) -> bool:
    """Whether a row of the log is a training step, not an evaluation."""
    return "loss" in row


def thin_log(rows: Iterable[Mapping], max_rows: int = THINNED_ROWS) -> list[dict]:
    """Reduce the training steps of a log to about `max_rows`, with more at the start; keep all evaluations.

    Each row has the means of consecutive steps or, for `_LAST_VALUE_KEYS`, the values of the last one.

    >>> thin_log([{"step": step, "loss": float(step)} for step in range(1, 101)], 4)
    [{'step': 1, 'loss': 1.0}, {'step': 50, 'loss': 26.0}, {'step': 100, 'loss': 75.5}]
    """
    rows = list(rows)
    steps = [row for row in rows if is_step(row)]
    evaluations = [row for row in rows if not is_step(row)]
    if len(steps) > max_rows:
        # Half of the rows end at steps that are evenly spaced on a logarithmic scale, the other half at evenly spaced
        # steps.
        half = (max_rows + 1) // 2
        ends = np.concatenate([np.geomspace(1, len(steps), half), np.linspace(1, len(steps), max_rows - half + 1)])
        ends = sorted(set(ends.round().astype(int).tolist()))
        steps = [_average_rows(steps[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return sorted([*steps, *map(dict, evaluations)], key=lambda row: row["step"])


def read_sample_predictions(rows: Iterable[Mapping]) -> list[SamplePrediction]:
    """Return the predictions for the sample sentences in a log, in order; invalid entries are skipped.

    >>> row = {"step": 10, "samples": [{"text": "Hot [MASK].", "guesses": [[["tea", 0.5], ["milk", 0.2]]]}]}
    >>> read_sample_predictions([row])
    [SamplePrediction(step=10, text='Hot [MASK].', predictions=((('tea', 0.5), ('milk', 0.2)),))]
    """
    samples = []
    for row in rows:
        for entry in row.get("samples") if isinstance(row.get("samples"), list) else []:
            try:
                predictions = tuple(
                    tuple((str(token), float(probability)) for token, probability in mask) for mask in entry["guesses"]
                )
                samples.append(SamplePrediction(int(row["step"]), str(entry["text"]), predictions))
            except (KeyError, TypeError, ValueError, OverflowError):
                continue
    return samples


def compute_recent_mean(rows: list[dict], name: str, steps: int = RECENT_STEPS) -> float | None:
    """Return the mean of a metric over the last `steps` training steps that have it; None if no step has it.

    >>> compute_recent_mean([{"step": 1, "loss": 9.0}, {"step": 2, "loss": 2.0}, {"step": 3, "loss": 1.0}], "loss", 2)
    1.5
    """
    values = [row[name] for row in rows if is_step(row) and is_number(row.get(name))][-steps:]
    return sum(values) / len(values) if values else None


def compute_tokens_per_second(rows: list[dict]) -> float | None:
    """Return the mean training speed of a run; None if the log does not contain it."""
    points = [
        (row["tokens"], row["seconds"])
        for row in rows
        if is_step(row) and is_number(row.get("tokens")) and is_number(row.get("seconds"))
    ]
    if len(points) < 2 or points[-1][1] <= points[0][1]:
        return None
    return (points[-1][0] - points[0][0]) / (points[-1][1] - points[0][1])


def find_snapshots(run: Path) -> list[Snapshot]:
    """Return the snapshots of a run by step, with its result if none has that step. Raises DataError without any."""
    by_step = {}
    for path in [*(run / SNAPSHOTS).glob("step-*"), run / RESULT]:
        if not (path / "config.json").is_file():
            continue
        record = _read_json(path / RECORD)
        name_match = re.fullmatch(r"step-(\d{1,15})", path.name, re.ASCII)
        step = record["steps"] if is_number(record.get("steps")) else int(name_match[1]) if name_match else None
        if step is not None:
            tokens, metrics = record.get("tokens"), record.get("validation")
            metrics = metrics if isinstance(metrics, dict) else {}
            numbers = {name: value for name, value in metrics.items() if is_number(value)}
            by_step.setdefault(int(step), Snapshot(int(step), int(tokens) if is_number(tokens) else 0, path, numbers))
    if not by_step:
        raise DataError("run-no-snapshots", path=run)
    return [by_step[step] for step in sorted(by_step)]


def find_run_status(run: Path, rows: list[dict], now: float | None = None) -> RunStatus:
    """Determine the status from a log (or what `thin_log` returns), the result, and the time since the log changed.

    A run has diverged if its log says so, if its last loss is not a number, or if it stopped without a result when the
    loss was far above its minimum.
    """
    steps = [row for row in rows if is_step(row)]
    last_step = max((int(row["step"]) for row in rows), default=0)
    try:
        idle_seconds = max(0.0, (time.time() if now is None else now) - (run / LOG).stat().st_mtime)
    except OSError:
        idle_seconds = math.inf
    result_steps = _read_json(run / RESULT / RECORD).get("steps")
    exported_state = read_settings(run).get("exported")  # the state at the time of `bertlab export-run`
    if any(row.get("diverged") for row in rows[-3:]) or (steps and not is_number(steps[-1]["loss"])):
        state = "diverged"
    elif (is_number(result_steps) and result_steps >= last_step) or exported_state == "finished":
        state = "finished"
    elif idle_seconds < STALL_SECONDS and not exported_state:
        state = "running"
    else:
        state = "diverged" if _has_diverged([row["loss"] for row in steps]) else "stopped"
    return RunStatus(state, last_step, idle_seconds)


def is_number(value: object) -> bool:
    """Whether a value is a finite number of a plausible size.

    >>> is_number(3), is_number(0.5), is_number(True), is_number(float("nan")), is_number(10**400)
    (True, True, False, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER


def _has_diverged(losses: list) -> bool:
    values = np.array([loss for loss in losses if is_number(loss)], float)
    if len(values) < 2 * _WINDOW_STEPS:
        return False
    means = np.convolve(values, np.full(_WINDOW_STEPS, 1 / _WINDOW_STEPS), "valid")
    return bool(means[-1] > max(means.min() + _DIVERGED_NATS, means.min() * _DIVERGED_FACTOR))


def _average_rows(rows: list[Mapping]) -> dict:
    last = dict(rows[-1])
    for name in last.keys() - _LAST_VALUE_KEYS:
        values = [row[name] for row in rows if is_number(row.get(name))]
        if values and is_number(last[name]):
            last[name] = round(sum(values) / len(values), 6)
    return last


def _read_json(path: Path) -> dict:
    """Read a JSON object; {} if there is none."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}

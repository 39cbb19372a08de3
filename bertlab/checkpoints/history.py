"""Read a run directory: its settings, its log, its snapshots, and whether it has finished.

`bertlab pretrain` and `bertlab finetune` write run.json (settings), log.jsonl (one row per step, with evaluations
between them), snapshots/step-XXXXXXXX/ (ordinary checkpoints) and checkpoint/ (the result). A run may still be training
while it is read, and may come from anywhere: rows and fields that make no sense are skipped. Nothing is written.
"""

import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertlab.checkpoints.assets import asset_directory
from bertlab.config.errors import DataError
from bertlab.config.files import system_reason
from bertlab.config.renamed_keys import LOG_KEYS, OPTIMIZER_KEYS, RUN_KEYS, SETTING_KEYS, rename_keys

SETTINGS, LOG, SNAPSHOTS, RESULT, RECORD = "run.json", "log.jsonl", "snapshots", "checkpoint", "bertlab.json"
STALL_SECONDS = 300  # a run without a result counts as stopped after so many seconds without a new row
ROWS = 400  # of a thinned log, about
RECENT_STEPS = 100
MAX_NUMBER = 1e15  # a larger number in a log or record is damage
_NOT_AVERAGED = {"step", "tokens", "seconds", "progress", "learning_rate", "step_seconds"}
_NOT_SETTINGS = set(RUN_KEYS.values())  # facts that stand in run.json beside the settings
# A run has diverged when its loss is above its lowest by both of these.
_DIVERGED_NATS, _DIVERGED_FACTOR = 1.0, 1.25
_WINDOW = 20  # steps whose mean loss is compared for that


@dataclass(frozen=True)
class Snapshot:
    """A checkpoint that a run wrote on its way."""

    step: int
    """Training steps before it."""
    tokens: int
    """Training tokens before it."""
    path: Path
    """Its directory."""
    validation: Mapping[str, float] = field(default_factory=dict)
    """Metrics on held-out text by name; {} where none were measured."""


@dataclass(frozen=True)
class RunStatus:
    """Whether a run is still training, and how far it came."""

    state: str
    """"running", "finished", "stopped" or "diverged"."""
    step: int
    """The last step in its log."""
    seconds: float
    """Seconds since its log was last written."""


@dataclass(frozen=True)
class WatchedPrediction:
    """What a model predicted for one of the sentences that are shown again and again during pre-training."""

    step: int
    """Training steps before the prediction."""
    text: str
    """The sentence, with [MASK]."""
    guesses: tuple[tuple[tuple[str, float], ...], ...]
    """For each [MASK] the best tokens with their probabilities."""


def shipped_runs() -> dict[str, Path]:
    """The shipped runs by name; {} where there are none. See `bertlab.checkpoints.assets` for where they are."""
    return find_runs(asset_directory("runs"))


def find_runs(directory: str | Path) -> dict[str, Path]:
    """The runs in a directory by name, or the directory itself if it is a run; {} for one that does not exist."""
    try:
        directory = Path(directory).expanduser()
        if is_run(directory):
            return {directory.resolve().name: directory}
        return {path.name: path for path in sorted(directory.iterdir()) if path.name[:1] != "." and is_run(path)}
    except (OSError, RuntimeError, ValueError):  # too long for a name, the home of an unknown user, a null character
        return {}


def is_run(directory: Path) -> bool:
    """Whether a directory is a run directory: it has a log, or snapshots."""
    return (directory / LOG).is_file() or (directory / SNAPSHOTS).is_dir()


def read_settings(run: Path) -> dict:
    """The content of run.json; {} if it is missing or damaged."""
    settings = rename_keys(_read_json(run / SETTINGS), RUN_KEYS | SETTING_KEYS)
    if isinstance(settings.get("optim"), dict):
        settings["optim"] = rename_keys(settings["optim"], OPTIMIZER_KEYS)
    return settings


def differing_settings(runs: Iterable[Mapping]) -> dict[str, list]:
    """The settings in which runs differ, by the names of their flags, with the value of each run; None where it has
    none. A setting that only some runs have (those of another command) counts if it differs among these.

    Args:
        runs: the settings of each run, see `read_settings`.

    >>> differing_settings([{"seed": 1, "optim": {"lr": 0.1}, "mask": 0.15}, {"seed": 1, "optim": {"lr": 0.2}}])
    {'optim.lr': [0.1, 0.2]}
    """
    flat = [dict(_flags(run)) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    known = {name: [settings[name] for settings in flat if name in settings] for name in names}
    differing = [name for name, values in known.items() if any(value != values[0] for value in values)]
    return {name: [settings.get(name) for settings in flat] for name in differing}


def _flags(settings: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Settings as (flag, value) pairs, nested ones with dots in their names."""
    for name, value in settings.items():
        if name in _NOT_SETTINGS:
            continue
        flag = f"{prefix}{name.rstrip('_').replace('_', '-')}"
        if isinstance(value, Mapping):
            yield from _flags(value, f"{flag}.")
        else:
            yield flag, value


def read_log(run: Path) -> list[dict]:
    """The rows of a run's log. Half-written or damaged lines are skipped.

    Raises:
        DataError: the log exists and cannot be read.
    """
    try:
        text = (run / LOG).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError("run-log-not-readable", path=run / LOG, reason=system_reason(error)) from None
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and is_number(row.get("step")):
            rows.append(rename_keys(row, LOG_KEYS))
    return rows


def is_step(row: Mapping) -> bool:
    """Whether a row of the log is a training step, and not an evaluation."""
    return "loss" in row


def thin_log(rows: Iterable[Mapping], most: int = ROWS) -> list[dict]:
    """About `most` rows of steps, close together early and far apart late, and all rows of evaluations.

    Each row is the mean of the steps it stands for; its step, tokens, seconds and learning rate are those of the last.

    >>> thin_log([{"step": step, "loss": float(step)} for step in range(1, 101)], 4)
    [{'step': 1, 'loss': 1.0}, {'step': 50, 'loss': 26.0}, {'step': 100, 'loss': 75.5}]
    """
    rows = list(rows)
    steps = [row for row in rows if is_step(row)]
    others = [row for row in rows if not is_step(row)]
    if len(steps) > most:
        half = (most + 1) // 2
        places = np.concatenate([np.geomspace(1, len(steps), half), np.linspace(1, len(steps), most - half + 1)])
        ends = sorted(set(places.round().astype(int).tolist()))
        steps = [_mean_row(steps[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return sorted([*steps, *map(dict, others)], key=lambda row: row["step"])


def watched_predictions(rows: Iterable[Mapping]) -> list[WatchedPrediction]:
    """The watched predictions in a log, in its order; entries of another form are skipped.

    >>> row = {"step": 10, "watched": [{"text": "Hot [MASK].", "guesses": [[["tea", 0.5], ["milk", 0.2]]]}]}
    >>> watched_predictions([row])
    [WatchedPrediction(step=10, text='Hot [MASK].', guesses=((('tea', 0.5), ('milk', 0.2)),))]
    """
    found = []
    for row in rows:
        for entry in row.get("watched") if isinstance(row.get("watched"), list) else []:
            try:
                guesses = tuple(tuple((str(token), float(share)) for token, share in mask) for mask in entry["guesses"])
                found.append(WatchedPrediction(int(row["step"]), str(entry["text"]), guesses))
            except (KeyError, TypeError, ValueError, OverflowError):
                continue
    return found


def recent_mean(rows: list[dict], name: str, steps: int = RECENT_STEPS) -> float | None:
    """The mean of a number over the last steps of a log, since a single batch says little; None where there is none.

    >>> recent_mean([{"step": 1, "loss": 9.0}, {"step": 2, "loss": 2.0}, {"step": 3, "loss": 1.0}], "loss", 2)
    1.5
    """
    values = [row[name] for row in rows if is_step(row) and is_number(row.get(name))][-steps:]
    return sum(values) / len(values) if values else None


def tokens_per_second(rows: list[dict]) -> float | None:
    """The training speed over the whole run, in tokens per second; None if the log does not hold it."""
    known = [
        (row["tokens"], row["seconds"])
        for row in rows
        if is_step(row) and is_number(row.get("tokens")) and is_number(row.get("seconds"))
    ]
    if len(known) < 2 or known[-1][1] <= known[0][1]:
        return None
    return (known[-1][0] - known[0][0]) / (known[-1][1] - known[0][1])


def find_snapshots(run: Path) -> list[Snapshot]:
    """The checkpoints of a run by step; its result is the last one if it is later than the others.

    Raises:
        DataError: there are none.
    """
    found = {}
    for path in [*(run / SNAPSHOTS).glob("step-*"), run / RESULT]:
        if not (path / "config.json").is_file():
            continue
        record = _read_json(path / RECORD)
        named = re.fullmatch(r"step-(\d{1,15})", path.name, re.ASCII)
        step = record["steps"] if is_number(record.get("steps")) else int(named[1]) if named else None
        if step is not None:
            tokens = record.get("tokens")
            snapshot = Snapshot(
                int(step), int(tokens) if is_number(tokens) else 0, path, _metrics(record.get("validation"))
            )
            found.setdefault(int(step), snapshot)
    if not found:
        raise DataError("run-no-snapshots", path=run)
    return [found[step] for step in sorted(found)]


def run_status(run: Path, rows: list[dict], now: float | None = None) -> RunStatus:
    """Whether a run is still training, from its log, its result and the time of its last row.

    A run has diverged if its last loss is not a number, or if it stopped with a loss far above its lowest.
    """
    steps = [row for row in rows if is_step(row)]
    last = max((int(row["step"]) for row in rows), default=0)
    try:
        silent = max(0.0, (time.time() if now is None else now) - (run / LOG).stat().st_mtime)
    except OSError:
        silent = math.inf
    result = _read_json(run / RESULT / RECORD).get("steps")
    exported = read_settings(run).get("exported")  # the state that `bertlab export-run` found
    if any(row.get("diverged") for row in rows[-3:]) or (steps and not is_number(steps[-1]["loss"])):
        state = "diverged"
    elif (is_number(result) and result >= last) or exported == "finished":
        state = "finished"
    elif silent < STALL_SECONDS and not exported:
        state = "running"
    else:
        state = "diverged" if _has_risen([row["loss"] for row in steps]) else "stopped"
    return RunStatus(state, last, silent)


def is_number(value: object) -> bool:
    """Whether a value of a log or record is a number that can be drawn.

    >>> is_number(3), is_number(0.5), is_number(True), is_number(float("nan")), is_number(10**400)
    (True, True, False, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER


def _has_risen(losses: list) -> bool:
    values = np.array([loss for loss in losses if is_number(loss)], float)
    if len(values) < 2 * _WINDOW:
        return False
    means = np.convolve(values, np.full(_WINDOW, 1 / _WINDOW), "valid")
    return bool(means[-1] > max(means.min() + _DIVERGED_NATS, means.min() * _DIVERGED_FACTOR))


def _mean_row(rows: list[Mapping]) -> dict:
    last = dict(rows[-1])
    for name in last.keys() - _NOT_AVERAGED:
        values = [row[name] for row in rows if is_number(row.get(name))]
        if values and is_number(last[name]):
            last[name] = round(sum(values) / len(values), 6)
    return last


def _metrics(values: object) -> dict[str, float]:
    return {name: value for name, value in values.items() if is_number(value)} if isinstance(values, dict) else {}


def _read_json(path: Path) -> dict:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}

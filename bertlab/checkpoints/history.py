"""A training run's directory, read: its settings, its log, its snapshots, and how it ended.

A run is run.json (settings), log.jsonl (a row a step; measurements among them), snapshots/step-XXXXXXXX/ (ordinary
checkpoints) and checkpoint/ (the result), as `bertlab pretrain` and `bertlab finetune` leave them. It may be under way
while it is read: a half-written last line is passed over. Knows no model and writes nothing.
"""

import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertlab.config.errors import DataError
from bertlab.config.renamed_keys import LOG_KEYS, OPTIMIZER_KEYS, RUN_KEYS, rename_keys

RUNS = "BERTLAB_RUNS"  # names a directory of runs to take the place of the shipped ones
SETTINGS, LOG, SNAPSHOTS, RESULT, RECORD = "run.json", "log.jsonl", "snapshots", "checkpoint", "bertlab.json"
STALL_SECONDS = 300  # seconds without a row after which a run without a result counts as stopped
ROWS = 400  # of a thinned log, about
RECENT_STEPS = 100  # steps
_STANDS = {
    "step",
    "tokens",
    "seconds",
    "progress",
    "learning_rate",
    "step_seconds",
}  # what a mean over steps would blur
_FOUND = set(RUN_KEYS.values())  # in run.json beside the settings
_NATS, _TIMES = 1.0, 1.25  # how far above its lowest a loss must be, both, to count as diverged
_WINDOW = 20  # steps whose mean loss is compared for that


@dataclass(frozen=True)
class Snapshot:
    """A checkpoint of a run: after how many steps and tokens, and what was measured on held-out text, if anything."""

    step: int
    tokens: int
    path: Path
    validation: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunStatus:
    """How a run stands. state: "running", "finished", "stopped" or "diverged"; step: its last; seconds: since its last
    row was written."""

    state: str
    step: int
    seconds: float


def shipped_runs() -> dict[str, Path]:
    """The shipped runs by name: those in the directory that BERTLAB_RUNS names, else in assets/runs beside the package.
    Empty where there are none."""
    own = Path(__file__).parents[2] / "assets" / "runs"
    return find_runs(Path(os.environ.get(RUNS) or own))


def find_runs(directory: str | Path) -> dict[str, Path]:
    """The runs in a directory by name, or the directory itself if it is one. Empty for one that is not there."""
    try:
        directory = Path(directory).expanduser()
        if is_run(directory):
            return {directory.resolve().name: directory}
        return {path.name: path for path in sorted(directory.iterdir()) if path.name[:1] != "." and is_run(path)}
    except (OSError, RuntimeError, ValueError):  # a name too long to be one, the home of nobody, a null byte
        return {}


def is_run(directory: Path) -> bool:
    """Whether a directory is a run's: it has a log, or snapshots."""
    return (directory / LOG).is_file() or (directory / SNAPSHOTS).is_dir()


def read_settings(run: Path) -> dict:
    """What run.json says; {} if it is missing or damaged."""
    found = rename_keys(_json(run / SETTINGS), RUN_KEYS)
    if isinstance(found.get("optim"), dict):
        found["optim"] = rename_keys(found["optim"], OPTIMIZER_KEYS)
    return found


def differing_settings(runs: Iterable[Mapping]) -> dict[str, list]:
    """The settings in which runs differ, by the names of their flags, with each run's own; None where it has none. What
    only some runs know, as those of another command, counts if these differ.

    Args:
        runs: what run.json says of each, see `settings`.

    >>> differing_settings([{"seed": 1, "optim": {"lr": 0.1}, "mask": 0.15}, {"seed": 1, "optim": {"lr": 0.2}}])
    {'optim.lr': [0.1, 0.2]}
    """
    flat = [dict(_flags(run)) for run in runs]
    names = dict.fromkeys(name for found in flat for name in found)
    known = {name: [found[name] for found in flat if name in found] for name in names}
    apart = [name for name, values in known.items() if any(value != values[0] for value in values)]
    return {name: [found.get(name) for found in flat] for name in apart}


def _flags(found: Mapping, above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in found.items():
        if name in _FOUND:
            continue
        flag = f"{above}{name.rstrip('_').replace('_', '-')}"
        if isinstance(value, Mapping):
            yield from _flags(value, f"{flag}.")
        else:
            yield flag, value


def read_log(run: Path) -> list[dict]:
    """The rows of a run's log; what is no row (a line half written, a line damaged) is passed over.

    Raises:
        DataError: the log is there and cannot be read.
    """
    try:
        text = (run / LOG).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError(f"{run / LOG} cannot be read: {error.strerror}") from None
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and _number(row.get("step")):
            rows.append(rename_keys(row, LOG_KEYS))
    return rows


def is_step(row: Mapping) -> bool:
    """Whether a row of the log is a step's, and not a measurement's."""
    return "loss" in row


def thin_log(rows: Iterable[Mapping], most: int = ROWS) -> list[dict]:
    """About `most` rows of steps at the most, close together early and far apart late, each the mean of those it stands
    for (its step, tokens, seconds and learning rate are the last one's); rows of measurements stay as they are.

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
        steps = [_mean(steps[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return sorted([*steps, *map(dict, others)], key=lambda row: row["step"])


@dataclass(frozen=True)
class WatchedPrediction:
    """What a run said of one of the sentences it is asked again and again: for each [MASK] the best pieces, with their
    probabilities."""

    step: int
    text: str
    guesses: tuple[tuple[tuple[str, float], ...], ...]


def watched_predictions(rows: Iterable[Mapping]) -> list[WatchedPrediction]:
    """The watched predictions in a log, in its order; what is not written as `bertlab pretrain` does is passed over.

    >>> row = {"step": 10, "watched": [{"text": "Hot [MASK].", "guesses": [[["tea", 0.5], ["milk", 0.2]]]}]}
    >>> watched_predictions([row])
    [WatchedPrediction(step=10, text='Hot [MASK].', guesses=((('tea', 0.5), ('milk', 0.2)),))]
    """
    found = []
    for row in rows:
        for entry in row.get("watched") if isinstance(row.get("watched"), list) else []:
            try:
                masks = tuple(tuple((str(piece), float(share)) for piece, share in mask) for mask in entry["guesses"])
                found.append(WatchedPrediction(int(row["step"]), str(entry["text"]), masks))
            except (KeyError, TypeError, ValueError):
                continue
    return found


def recent_mean(rows: list[dict], name: str, steps: int = RECENT_STEPS) -> float | None:
    """The mean of a number over the last steps of a log, as one step's batch says little; None where there is none.

    >>> recent_mean([{"step": 1, "loss": 9.0}, {"step": 2, "loss": 2.0}, {"step": 3, "loss": 1.0}], "loss", 2)
    1.5
    """
    found = [row[name] for row in rows if is_step(row) and _number(row.get(name))][-steps:]
    return sum(found) / len(found) if found else None


def tokens_per_second(rows: list[dict]) -> float | None:
    """Tokens a second of training, over the whole run; None if the log does not say."""
    known = [
        (row["tokens"], row["seconds"])
        for row in rows
        if is_step(row) and _number(row.get("tokens")) and _number(row.get("seconds"))
    ]
    if len(known) < 2 or known[-1][1] <= known[0][1]:
        return None
    return (known[-1][0] - known[0][0]) / (known[-1][1] - known[0][1])


def find_snapshots(run: Path) -> list[Snapshot]:
    """The checkpoints of a run by step, its result last if it is a later one.

    Raises:
        DataError: there are none.
    """
    found = {}
    for path in [*(run / SNAPSHOTS).glob("step-*"), run / RESULT]:
        if (path / "config.json").is_file():
            record = _json(path / RECORD)
            named = re.fullmatch(r"step-(\d{1,15})", path.name)
            step = record["steps"] if _number(record.get("steps")) else int(named[1]) if named else None
            if step is not None:
                tokens, measured = record.get("tokens"), record.get("validation")
                found.setdefault(
                    int(step),
                    Snapshot(
                        int(step), int(tokens) if _number(tokens) else 0, path, _numbers(measured),
                    ),
                )  # fmt: skip
    if not found:
        raise DataError(
            f"{run} has no snapshots: a run keeps them at steps 0, 10, 30, 100 and so on, unless --no-snapshots"
        )
    return [found[step] for step in sorted(found)]


def run_status(run: Path, rows: list[dict], now: float | None = None) -> RunStatus:
    """How a run stands, from its log, its result and the time of its last row.

    A run has diverged if its last loss is no number, or if it stopped with its loss far above the lowest it had.
    """
    steps = [row for row in rows if is_step(row)]
    last = max((int(row["step"]) for row in rows), default=0)
    try:
        silent = max(0.0, (time.time() if now is None else now) - (run / LOG).stat().st_mtime)
    except OSError:
        silent = math.inf
    result = _json(run / RESULT / RECORD).get("steps")
    exported = read_settings(run).get("exported")  # how it stood when it was made small enough to ship
    if any(row.get("diverged") for row in rows[-3:]) or (steps and not _number(steps[-1]["loss"])):
        state = "diverged"
    elif (_number(result) and result >= last) or exported == "finished":
        state = "finished"
    elif silent < STALL_SECONDS and not exported:
        state = "running"
    else:
        state = "diverged" if _risen([row["loss"] for row in steps]) else "stopped"
    return RunStatus(state, last, silent)


def _risen(losses: list) -> bool:
    values = np.array([loss for loss in losses if _number(loss)], float)
    if len(values) < 2 * _WINDOW:
        return False
    means = np.convolve(values, np.full(_WINDOW, 1 / _WINDOW), "valid")
    return bool(means[-1] > max(means.min() + _NATS, means.min() * _TIMES))


def _mean(rows: list[Mapping]) -> dict:
    last = dict(rows[-1])
    for name in last.keys() - _STANDS:
        values = [row[name] for row in rows if _number(row.get(name))]
        if values and _number(last[name]):
            last[name] = round(sum(values) / len(values), 6)
    return last


def _number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(figures) -> dict[str, float]:
    return {name: value for name, value in figures.items() if _number(value)} if isinstance(figures, dict) else {}


def _json(path: Path) -> dict:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}

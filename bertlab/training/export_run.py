"""`bertlab export-run`: copy a run to a small directory for shipping. The pages Training and Time machine show copies.

The copy contains the snapshots, the last of which is the final checkpoint, a thinned log, and the settings.
"""

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.checkpoints import history
from bertlab.checkpoints.files import CARD, CONFIG, RECORD, WEIGHTS
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.files import describe_system_error

# From each snapshot, the files with these names are copied if they exist.
FILE_NAMES = (CONFIG, WEIGHTS, RECORD, CARD, "tokenizer.json", "tokenizer_config.json", "vocab.txt")


@dataclass(frozen=True, kw_only=True)
class ExportRunConfig:
    """Copy a run to a small directory for sharing: its settings, a log of about 400 rows, and its snapshots.

    Examples:
      bertlab export-run runs/mine --out assets/runs/mine
      bertlab export-run runs/mine --out assets/runs/mine --snapshots 8
    """

    source: tyro.conf.Positional[Path]
    """The run directory."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The directory to write; it must not exist yet."""
    rows: int = history.THINNED_ROWS
    """Approximate number of log rows to keep."""
    snapshots: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of snapshots, evenly spaced on a logarithmic scale of steps and including the first and the last.
    Default: all of them."""


def export_run(config: ExportRunConfig) -> Path:
    """Copy a run; the copy has a temporary name until it is complete."""
    if not config.source.is_dir() or not history.is_run(config.source):
        raise DataError("run-directory-invalid", path=config.source)
    if config.out.exists():
        raise BertlabError("export-target-exists", path=config.out)
    if config.rows < 2 or (config.snapshots is not None and config.snapshots < 2):
        raise BertlabError("export-rows-too-few")
    for name in (history.LOG, history.SETTINGS):
        _check_inside(config.source / name, config.source)
    rows = history.read_log(config.source)
    snapshots = _select_snapshots(history.find_snapshots(config.source), config.snapshots)
    settings = _strip_directories(history.read_settings(config.source))
    state_at_export = history.find_run_status(config.source, rows).state
    files = [(snapshot.path / name, snapshot.step) for snapshot in snapshots for name in FILE_NAMES]
    files = [(path, step) for path, step in files if path.is_file()]
    for path, _ in files:
        _check_inside(path, config.source)
    unfinished_copy = config.out.with_name(f".{config.out.name}.unfinished")
    shutil.rmtree(unfinished_copy, ignore_errors=True)
    try:
        for path, step in files:
            target = unfinished_copy / history.SNAPSHOTS / f"step-{step:08d}"
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / path.name)
        log_lines = [f"{json.dumps(row)}\n" for row in history.thin_log(rows, config.rows)]
        (unfinished_copy / history.LOG).write_text("".join(log_lines), encoding="utf-8")
        settings["exported"] = state_at_export
        (unfinished_copy / history.SETTINGS).write_text(json.dumps(settings, indent=2) + "\n")
        unfinished_copy.rename(config.out)
    except OSError as error:
        raise BertlabError("file-not-writable", path=config.out, reason=describe_system_error(error)) from error
    finally:
        shutil.rmtree(unfinished_copy, ignore_errors=True)
    return config.out


def _check_inside(path: Path, run_directory: Path) -> None:
    """Reject a link that leads out of the run directory: a run from somebody else could link to any private file."""
    if not path.resolve().is_relative_to(run_directory.resolve()):
        raise DataError("run-file-outside", path=path, run=run_directory)


def _select_snapshots(snapshots: list[history.Snapshot], limit: int | None) -> list[history.Snapshot]:
    """Select at most `limit` snapshots, evenly by the logarithm of their step."""
    if limit is None or len(snapshots) <= limit:
        return snapshots
    log_steps = [math.log1p(snapshot.step) for snapshot in snapshots]
    first, last = log_steps[0], log_steps[-1]
    even_log_steps = [first + (last - first) * position / (limit - 1) for position in range(limit)]
    nearest_indices = {
        min(range(len(log_steps)), key=lambda index: abs(log_steps[index] - even_log_step))
        for even_log_step in even_log_steps
    }
    return [snapshots[index] for index in sorted(nearest_indices)]


def _strip_directories(value: object):
    """Reduce each path in the settings to its last component.

    >>> _strip_directories({"corpus": "/home/anna/tea", "sources": ["texts/tea.txt"], "steps": 3})
    {'corpus': 'tea', 'sources': ['tea.txt'], 'steps': 3}
    """
    if isinstance(value, dict):
        return {name: _strip_directories(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_strip_directories(item) for item in value]
    return Path(value).name if isinstance(value, str) and "/" in value else value


def run(config: ExportRunConfig) -> None:
    """Write the directory, and print its size, its rows and its snapshots."""
    out = export_run(config)
    files = [path for path in out.rglob("*") if path.is_file()]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    steps = ", ".join(f"{snapshot.step:,}" for snapshot in history.find_snapshots(out))
    print(f"{out}: {megabytes:.1f} MB, {len(history.read_log(out))} rows, snapshots at steps {steps}")

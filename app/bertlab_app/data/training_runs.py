"""Training runs and their snapshots, in caches that all users of the app share."""

from contextlib import suppress
from itertools import islice
from pathlib import Path

import streamlit as st

import bertlab
from bertlab.abilities.timeline import compute as timeline
from bertlab.checkpoints import history
from bertlab.checkpoints.locate import resolve_run
from bertlab.config.errors import BertlabError, DataError
from bertlab.session import Session
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.views import payload
from bertlab_app import access
from bertlab_app.data.sessions import CheckpointKey, find_checkpoint

DIRECTORY = access.RUN_DIRECTORY  # the default directory of runs
EXAMPLE_COMMAND = "bertlab pretrain CORPUS --out runs/mine --preset tiny --minutes 10"  # shown if there are no runs
MAX_OPEN_BYTES = 12_000_000  # a snapshot stays in memory if the file of its weights has at most this many bytes


def find_runs(directory: str = DIRECTORY) -> dict[str, Path]:
    shipped = history.find_shipped_runs()
    runs = history.find_runs(directory) if access.is_allowed(directory) else {}
    # checked again for each run, because a symbolic link may point to another directory
    runs = {name: path for name, path in runs.items() if access.is_allowed(path)}
    return shipped | {name if name not in shipped else str(path): path for name, path in runs.items()}


def find_run(name: str) -> Path:
    try:
        path = find_runs().get(name) or Path(name).expanduser()
        if access.is_allowed(path) and path.is_dir() and history.is_run(path):
            return path
    except (OSError, RuntimeError, ValueError):
        # the path is too long, has a null byte, or begins with "~" and an unknown user
        pass
    raise DataError("run-not-found", path=access.shorten(name))


def select_latest(runs: dict[str, Path], max_runs: int, language: str) -> list[str]:
    """Select the runs whose logs were written last and whose curves can be compared.

    The selected runs are all pre-training runs or all fine-tuning runs, and have vocabularies of the same language.
    """
    newest_first = sorted(runs, key=lambda name: _log_version(runs[name]), reverse=True)
    are_all_shipped = history.find_shipped_runs().keys() >= runs.keys()
    newest_in_language = next(
        (name for name in newest_first if are_all_shipped and _language_or_none(runs[name]) == language), None
    )
    group = _comparison_group(runs[newest_in_language or newest_first[0]]) if newest_first else None
    selected_names = list(islice((name for name in newest_first if _comparison_group(runs[name]) == group), max_runs))
    return [name for name in runs if name in selected_names]


def read_language(run: Path) -> str:
    """Read the language code of a run's vocabulary."""
    return _read_vocabulary_language(_find_first_snapshot(run))


def read_tokenizer(run: Path) -> Tokenizer:
    """Read the tokenizer of a run; raise the same errors as `read_language`."""
    return _read_tokenizer(_find_first_snapshot(run))


def _find_first_snapshot(run: Path) -> CheckpointKey:
    return find_checkpoint(str(history.find_snapshots(run)[0].path))


@st.cache_data(max_entries=256, show_spinner=False)
def _read_vocabulary_language(checkpoint: CheckpointKey) -> str:
    return _read_tokenizer(checkpoint).language


@st.cache_resource(max_entries=4, show_spinner=False)
def _read_tokenizer(checkpoint: CheckpointKey) -> Tokenizer:
    return Tokenizer.load(resolve_run(Path(checkpoint.source)))


def choose_default_run(runs: dict[str, Path], language: str) -> str:
    """Choose the run that a page initially shows: the first shipped run in a language, else the first run."""
    for name in history.find_shipped_runs():
        with suppress(BertlabError):
            if read_language(runs[name]) == language:
                return name
    return next(iter(runs), "")


def read_log(run: Path) -> list[dict]:
    """Read the rows of a run's log; [] if there is none. The result is cached until the file changes."""
    return _read_log(run, _log_version(run))


def read_thinned_log(run: Path) -> list[dict]:
    """Read a run's log, reduced to about 400 steps and all evaluations, which is enough for its curves.

    The result is cached until the file changes.
    """
    return _read_thinned_log(run, _log_version(run))


@st.cache_resource(max_entries=8, show_spinner=False)
def _read_log(run: Path, version: tuple) -> list[dict]:
    return history.read_log(run)


@st.cache_resource(max_entries=16, show_spinner=False)
def _read_thinned_log(run: Path, version: tuple) -> list[dict]:
    return history.thin_log(_read_log(run, version))


def _log_version(run: Path) -> tuple:
    """Return the modification time and the size of a run's log, or () if there is none."""
    try:
        stat = (run / history.LOG).stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size


def _comparison_group(run: Path) -> tuple[bool, str | None]:
    """Return whether a run is a fine-tuning run, and the language of the run."""
    return "task" in history.read_settings(run), _language_or_none(run)


def _language_or_none(run: Path) -> str | None:
    with suppress(BertlabError):
        return read_language(run)
    with suppress(BertlabError):
        return _read_vocabulary_language(find_checkpoint(str(run)))
    return None


def run_snapshot(
    snapshot: history.Snapshot, num_snapshots: int, text: str, pair: str | None
) -> timeline.SnapshotResult:
    """Compute the predictions of one snapshot; cached. The arguments are those of `timeline.timeline`."""
    return _run_snapshot(find_checkpoint(str(snapshot.path)), num_snapshots, text, pair, snapshot)


def pack_timeline(run: Path, first: str, second: str | None, result: timeline.Timeline, options: dict) -> bytes:
    """Pack the predictions of every snapshot for the canvas view of the time machine."""
    checkpoints = tuple(find_checkpoint(str(snapshot.path)) for snapshot in result.snapshots)
    request = {"run": run.name, "text": first} | ({"text_2": second} if second else {})
    packed = _pack_timeline(run, checkpoints, first, second, result)
    return payload.with_options(packed, options | {"subject": request})


@st.cache_data(max_entries=16, show_spinner=False)
def _pack_timeline(
    run: Path, checkpoints: tuple[CheckpointKey, ...], first: str, second: str | None, _timeline: timeline.Timeline
) -> bytes:
    # the curve ends at the last snapshot; otherwise a run in progress would change the view at every step
    rows = [row for row in history.read_log(run) if row["step"] <= _timeline.snapshots[-1].step]
    return payload.timeline_bytes(_timeline, title=run.name, log=history.thin_log(rows))


@st.cache_resource(max_entries=128, show_spinner=False)
def _run_snapshot(
    checkpoint: CheckpointKey, num_snapshots: int, text: str, pair: str | None, _snapshot
) -> timeline.SnapshotResult:
    return timeline.run_open_snapshot(_open_snapshot(checkpoint).loaded, _snapshot, num_snapshots, text, pair)


def _open_snapshot(checkpoint: CheckpointKey) -> Session:
    weights = Path(checkpoint.source) / "model.safetensors"
    is_small = weights.is_file() and weights.stat().st_size <= MAX_OPEN_BYTES
    return _open_cached_snapshot(checkpoint) if is_small else bertlab.load(checkpoint.source)


@st.cache_resource(max_entries=32, show_spinner=False)
def _open_cached_snapshot(checkpoint: CheckpointKey) -> Session:
    return bertlab.load(checkpoint.source)

"""Training runs and their snapshots, cached for everybody who uses this app."""

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import streamlit as st

import bertlab
from bertlab.app import access
from bertlab.app.data.sessions import Checkpoint, checkpoint
from bertlab.checkpoints import history
from bertlab.checkpoints.locate import resolve_run
from bertlab.config.errors import BertlabError, DataError
from bertlab.explore import timeline
from bertlab.explore.session import Session
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.views import payload

DIRECTORY = access.RUNS  # where runs are looked for until another directory is given
EXAMPLE_COMMAND = "bertlab pretrain CORPUS --out runs/mine --preset tiny --minutes 10"  # shown where there is no run
SMALL = 12_000_000  # bytes of a snapshot's weights up to which it stays open


def find(directory: str = DIRECTORY) -> dict[str, Path]:
    """The shipped runs and those of a directory by name. A run named like a shipped one goes by its path.

    A directory that a visitor may not open is treated as one that does not exist.
    """
    shipped = history.shipped_runs()
    found = history.find_runs(directory) if access.is_allowed(directory) else {}
    found = {name: path for name, path in found.items() if access.is_allowed(path)}  # a link may lead elsewhere
    return shipped | {name if name not in shipped else str(path): path for name, path in found.items()}


def open_run(name: str) -> Path:
    """The directory of a run by its name or path.

    Raises:
        DataError: there is none.
    """
    try:
        path = find().get(name) or Path(name).expanduser()
        if access.is_allowed(path) and path.is_dir() and history.is_run(path):
            return path
    except (OSError, RuntimeError, ValueError):  # a name that is too long, an unknown user, a null byte
        pass
    raise DataError("run-not-found", path=access.shorten(name))


def latest(runs: dict[str, Path], count: int, language: str) -> list[str]:
    """The names of the runs whose logs were written last, in the order of `runs`.

    All of them are pre-training runs or all are fine-tuning runs, and all are of one language: the curves of others
    cannot be compared.

    Args:
        count: how many at most.
        language: preferred among the shipped runs; of one's own runs the newest decides.
    """
    newest = sorted(runs, key=lambda name: _stamp(runs[name]), reverse=True)
    shipped = history.shipped_runs().keys() >= runs.keys()
    first = next((name for name in newest if shipped and _language_or_none(runs[name]) == language), None)
    group = _group(runs[first or newest[0]]) if newest else None
    chosen = list(islice((name for name in newest if _group(runs[name]) == group), count))
    return [name for name in runs if name in chosen]


def language_of(run: Path) -> str:
    """The code of the language of a run's vocabulary.

    Raises:
        BertlabError: the run has no snapshots, or they are damaged.
    """
    return _vocabulary_language(checkpoint(str(history.find_snapshots(run)[0].path)))


@st.cache_data(max_entries=256, show_spinner=False)
def _vocabulary_language(chosen: Checkpoint) -> str:
    return Tokenizer.load(resolve_run(Path(chosen.source))).language


def default_run(runs: dict[str, Path], language: str) -> str:
    """The name of the first shipped run in a language, else of the first run; "" where there are none."""
    for name in history.shipped_runs():
        with suppress(BertlabError):
            if language_of(runs[name]) == language:
                return name
    return next(iter(runs), "")


def log(run: Path) -> list[dict]:
    """The rows of a run's log, read again only when it has grown.

    Raises:
        DataError: it is damaged.
    """
    return _log(run, _stamp(run))


def thinned_log(run: Path) -> list[dict]:
    """About 400 rows of a run's log.

    Raises:
        DataError: it is damaged.
    """
    return _thinned_log(run, _stamp(run))


@st.cache_resource(max_entries=8, show_spinner=False)
def _log(run: Path, stamp: tuple) -> list[dict]:
    return history.read_log(run)


@st.cache_resource(max_entries=16, show_spinner=False)
def _thinned_log(run: Path, stamp: tuple) -> list[dict]:
    return history.thin_log(_log(run, stamp))


def _stamp(run: Path) -> tuple:
    try:
        stat = (run / history.LOG).stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size


def _group(run: Path) -> tuple[bool, str | None]:
    """Whether a run is a fine-tuning run, and its language; the losses of two groups cannot be compared."""
    return "task" in history.read_settings(run), _language_or_none(run)


def _language_or_none(run: Path) -> str | None:
    """The language of a run by its snapshots, or by its checkpoint; None where it has neither yet."""
    with suppress(BertlabError):
        return language_of(run)
    with suppress(BertlabError):
        return _vocabulary_language(checkpoint(str(run)))
    return None


# -- snapshots -------------------------------------------------------------------------------------------------


def cached_timeline(
    run: Path, first: str, second: str | None, *, progress: Callable[[int, int], None]
) -> timeline.Timeline:
    """Every snapshot of a run on one input; `explore.timeline.timeline` with cached snapshots.

    Args:
        run: the run directory.
        first: the text.
        second: the second text; None for none.
        progress: called with the number of finished snapshots and the number of all.

    Raises:
        BertlabError: what `explore.timeline` raises.
    """

    def ask(snapshot, count, text, pair):
        return _moment(checkpoint(str(snapshot.path)), count, text, pair, snapshot)

    return timeline.timeline(run, first, second, ask=ask, done=progress)


def timeline_payload(run: Path, first: str, second: str | None, snapshots: timeline.Timeline, options: dict) -> bytes:
    """The payload of the time machine for what `cached_timeline` returned."""
    sources = tuple(checkpoint(str(snapshot.path)) for snapshot in snapshots.snapshots)
    subject = {"run": run.name, "text": first} | ({"text_2": second} if second else {})
    return payload.with_options(_pack(run, sources, first, second, snapshots), options | {"subject": subject})


@st.cache_data(max_entries=16, show_spinner=False)
def _pack(
    run: Path, sources: tuple[Checkpoint, ...], first: str, second: str | None, _timeline: timeline.Timeline
) -> bytes:
    # the curve ends with the last snapshot, so that a run in progress does not change the picture at every step
    rows = [row for row in history.read_log(run) if row["step"] <= _timeline.snapshots[-1].step]
    return payload.timeline_bytes(_timeline, title=run.name, log=history.thin_log(rows))


@st.cache_resource(max_entries=128, show_spinner=False)
def _moment(chosen: Checkpoint, count: int, text: str, pair: str | None, _snapshot_row) -> timeline.Moment:
    return timeline.read_snapshot(_snapshot(chosen), _snapshot_row, count, text, pair)


def _snapshot(chosen: Checkpoint) -> Session:
    """Open a snapshot. Small ones stay open, so that a new text is answered at once."""
    weights = Path(chosen.source) / "model.safetensors"
    small = weights.is_file() and weights.stat().st_size <= SMALL
    return _cached_snapshot(chosen) if small else bertlab.load(chosen.source)


@st.cache_resource(max_entries=32, show_spinner=False)
def _cached_snapshot(chosen: Checkpoint) -> Session:
    return bertlab.load(chosen.source)

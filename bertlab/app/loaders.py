"""Checkpoints and answers, kept for everyone who uses this window. Draws nothing.

A cached model is immutable and serves many threads at once. A cached answer is found again by what was asked: its key
holds strings and numbers only.
"""

import json
import os
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import streamlit as st
import torch

import bertlab
from bertlab.checkpoints import history
from bertlab.checkpoints.checkpoint import read_config
from bertlab.checkpoints.hub import resolve_run
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import TaskSpec
from bertlab.explore import interventions, timeline
from bertlab.explore.compare import compare
from bertlab.explore.facts import AttentionMap, SpanXray
from bertlab.explore.session import Session
from bertlab.training.error_analysis import examine
from bertlab.training.error_analysis.results import Given
from bertlab.views import bertviz_view, html, payload

AUTO = "auto"
MAKE_RUN = "bertlab pretrain CORPUS --out runs/mine --preset tiny --minutes 10"  # what a page without a run says
SHOWN = 10  # answers of a passage
AT_ONCE = 2  # windows of a passage between two steps of a bar: more at once are no faster on one core
SMALL = 12_000_000  # bytes of a snapshot's weights up to which it stays open


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint by its directory or hub id, and the time its files were last changed."""

    source: str
    changed: float


def checkpoint(name: str) -> Checkpoint:
    """The checkpoint of this name: one of the shipped, a directory, or a hub id. Opens nothing."""
    path = Path(os.path.expanduser(bertlab.shipped().get(name, name)))
    files = [
        resolve_run(path) / file for file in ("config.json", "model.safetensors", "pytorch_model.bin", "bertlab.json")
    ]
    return Checkpoint(str(path) if os.path.isdir(path) else name, max(_changed(file) for file in files))


def short_name(chosen: Checkpoint) -> str:
    """What `bertlab.load` opens it by: the name of a shipped one, else its directory or hub id."""
    return next((name for name, path in bertlab.shipped().items() if str(path) == chosen.source), chosen.source)


def fitting(task: str, language: str = "en") -> Checkpoint:
    """The shipped checkpoint that suits a task; for a Korean reader a Korean one, where one is shipped.

    Raises:
        CheckpointError: none is shipped.
    """
    return checkpoint(str(bertlab.default_checkpoint(task, language)))


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except (OSError, ValueError):
        return 0.0


@st.cache_resource(max_entries=4, show_spinner=False)
def session(chosen: Checkpoint) -> Session:
    """Open a checkpoint once for everybody.

    Raises:
        CheckpointError: it is missing, damaged or foreign.
    """
    # Many people share these cores: one forward pass on one core each is what answers them all soonest.
    torch.set_num_threads(1)
    return bertlab.load(chosen.source)


def about(name: str) -> tuple[ModelConfig, dict]:
    """A shipped checkpoint's sizes and its `bertlab.json`, without its weights.

    Raises:
        CheckpointError: it is damaged.
    """
    path = Path(bertlab.shipped()[name])
    try:
        record = json.loads((path / "bertlab.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = {}
    return read_config(path), record


@st.cache_data(max_entries=256, show_spinner=False)
def ask(chosen: Checkpoint, question: str, *values, **options):
    """What `Session.QUESTION(*values, **options)` says, for the small facts; attention has its own.

    Raises:
        BertlabError: what the session raises.
    """
    return getattr(session(chosen), question)(*values, **options)


@st.cache_resource(max_entries=2, show_spinner=False)
def attention_map(chosen: Checkpoint, first: str, second: str) -> AttentionMap:
    """Every head's attention over one input."""
    # up to 150 MB for 512 tokens, so only the latest are kept, and uncopied
    return session(chosen).attention(first, second or None)


@st.cache_resource(max_entries=8, show_spinner=False)
def attention_pack(chosen: Checkpoint, first: str, second: str) -> payload.AttentionPack:
    """Every head's attention over one input, ready to be sent: 40 MB for 512 tokens, for 12 x 12 heads."""
    return payload.AttentionPack(attention_map(chosen, first, second))


def attention(chosen: Checkpoint, first: str, second: str, state: dict, options: dict) -> bytes:
    """What the canvas needs to show `state`: a short input whole, of a long one an overview and the heads in full."""
    return attention_pack(chosen, first, second).bytes(state, options)


def head_effects(chosen: Checkpoint, values: tuple, mask: int, progress: Callable[[float], None] | None = None):
    """The effect of every head (`facts.HeadEffects`), layer by layer; progress: told the share that is found.

    A layer that is found is kept: who is interrupted goes on from there. Raises BertlabError.
    """
    found, layers = _effects(chosen, values, mask), session(chosen).config.num_layers
    missing = [layer for layer in range(layers) if layer not in found]
    if missing:
        for part in session(chosen).head_effects_by_layer(*values, mask=mask, layers=missing):
            found[part.layers[0]] = part
            if progress:
                progress(len(found) / layers)
    return interventions.together([found[layer] for layer in range(layers)])


@st.cache_resource(max_entries=64, show_spinner=False)
def _effects(chosen: Checkpoint, values: tuple, mask: int) -> dict:
    return {}  # layer -> its effects, filled by who asks, as `_examined`


def reading(chosen: Checkpoint, question: str, text: str, progress: Callable) -> SpanXray:
    """What a passage answers, and what stands behind that, for the pages that ask questions: read once for all.

    progress: wraps the parts of a long passage. Raises BertlabError.
    """
    slot = _reading(chosen, question, text)
    if not slot:
        slot.append(session(chosen).xray(question, text, SHOWN, batch_size=AT_ONCE, progress=progress))
    return slot[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _reading(chosen: Checkpoint, question: str, text: str) -> list:
    return []  # filled by who asks, as `_examined`


def pieces(chosen: Checkpoint, text: str) -> int:
    """How many pieces a text has, however long it is."""
    return len(session(chosen).tokenizer.encode_ids([text])[0])


@st.cache_resource(max_entries=4, show_spinner=False)
def comparison(first: Checkpoint, second: Checkpoint, texts: tuple[str, str], others: tuple[str, str] | None):
    """Two checkpoints on one input, or on one input each: an `explore.compare.Comparison`.

    Raises:
        BertlabError: what `compare` raises.
    """
    other, other_pair = others or (None, None)
    return compare(session(first), session(second), texts[0], texts[1] or None, other, other_pair or None)


# -- labelled rows ------------------------------------------------------------------------------------------------


def labelled(name: str, content: bytes | None, spec: TaskSpec, split: str) -> Given:
    """Rows to measure on: of a file or a directory, or what was uploaded under that name. Raises DataError."""
    if content is not None:
        return _labelled(name, content, spec, split, ())
    try:
        path = Path(name).expanduser()
        stamp = tuple(sorted((str(file), _changed(file)) for file in (path.iterdir() if path.is_dir() else [path])))
        return _labelled(str(path), None, spec, split, stamp)
    except (OSError, RuntimeError, ValueError) as error:  # a name too long to be one, the home of nobody, a null byte
        if isinstance(error, BertlabError):
            raise
        shown = " ".join(name.split())[:100]
        raise DataError(f"there is no file {shown}") from None


@st.cache_resource(max_entries=4, show_spinner=False)
def _labelled(name: str, content: bytes | None, spec: TaskSpec, split: str, stamp: tuple) -> Given:
    if content is None:
        return examine.labelled_rows(name, spec, split)
    with laid_down(name, content) as path:
        rows = examine.labelled_rows(path, spec, split)
    told = tuple(line.replace(f"{path.parent}/", "") for line in rows.left_out)
    return replace(rows, name=path.name, left_out=told)


@contextmanager
def laid_down(name: str, content: bytes) -> Iterator[Path]:
    """What was uploaded under this name, as a file for a moment; where it lies says nothing to who sent it, so refusals
    leave that out."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / Path(name).name[-60:]  # elsewhere a name may be longer than here
        path.write_bytes(content)
        try:
            yield path
        except BertlabError as error:
            raise type(error)(str(error).replace(f"{directory}/", "")) from None


def examination(chosen: Checkpoint, asked: tuple, rows: Given, spec: TaskSpec, most: int, progress: Callable):
    """What a checkpoint says of these rows, an `Examination`; the same question is asked once.

    asked: tells these rows from all others, in strings and numbers. Raises BertlabError.
    """
    slot = _examined(chosen, asked, spec, most)
    if not slot:
        slot.append(examine.examine(session(chosen).loaded, rows, spec, most, progress))
    return slot[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _examined(chosen: Checkpoint, asked: tuple, spec: TaskSpec, most: int) -> list:
    return []  # filled by who asks: a cached function cannot draw how far it has come


# -- a run and its snapshots --------------------------------------------------------------------------------------


def runs(directory: str = "runs") -> dict[str, Path]:
    """The runs to choose from by name, the shipped ones first; a directory's that is called as one of them goes by its
    path."""
    shipped = history.shipped_runs()
    found = history.find_runs(directory)
    return shipped | {name if name not in shipped else str(path): path for name, path in found.items()}


def latest(runs: dict[str, Path], most: int) -> list[str]:
    """The names of the runs whose logs were written last, in the order they are given in; all of them pre-trained or
    all fine-tuned, as these have no curve in common."""
    newest = sorted(runs, key=lambda name: _stamp(runs[name]), reverse=True)
    alike = (name for name in newest if _is_tuned(runs[name]) == _is_tuned(runs[newest[0]]))
    chosen = list(islice(alike, most))
    return [name for name in runs if name in chosen]


def _is_tuned(run: Path) -> bool:
    return "task" in history.read_settings(run)


def run(name: str) -> Path:
    """The directory of a run by its name or path. Raises DataError: there is none."""
    try:
        path = runs().get(name) or Path(name).expanduser()
        if path.is_dir() and history.is_run(path):
            return path
    except (OSError, RuntimeError, ValueError):  # a name too long to be one, the home of nobody, a null byte
        pass
    shown = " ".join(name.split())[:100]
    raise DataError(f"there is no run in {shown}: name the directory that bertlab pretrain wrote with --out")


def log(run: Path) -> list[dict]:
    """The rows of a run's log, read again only when it has grown. Raises DataError."""
    return _log(run, _stamp(run))


def thinned(run: Path) -> list[dict]:
    """About 400 rows of a run's log. Raises DataError."""
    return _thinned(run, _stamp(run))


@st.cache_resource(max_entries=8, show_spinner=False)
def _log(run: Path, stamp: tuple) -> list[dict]:
    return history.read_log(run)


@st.cache_resource(max_entries=16, show_spinner=False)
def _thinned(run: Path, stamp: tuple) -> list[dict]:
    return history.thin_log(_log(run, stamp))


def _stamp(run: Path) -> tuple:
    try:
        stat = (run / history.LOG).stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size


def spoken(run: Path) -> str:
    """The language of a run's vocabulary, "en" or "ko".

    Raises:
        BertlabError: it has no snapshots, or they are damaged.
    """
    return _snapshot(checkpoint(str(history.find_snapshots(run)[0].path))).tokenizer.language


def fitting_run(known: dict[str, Path], language: str) -> str:
    """Which of the runs to open on: the first shipped one of a reader's language, or the first of all; "" where there
    are none."""
    for name in history.shipped_runs():
        with suppress(BertlabError):
            if spoken(known[name]) == language:
                return name
    return next(iter(known), "")


def moments(run: Path, first: str, second: str, options: dict, done: Callable[[int, int], None]) -> bytes:
    """Every snapshot of a run over one input, packed for the canvas; done: told how many of how many are ready.

    Raises:
        BertlabError: what `explore.timeline` raises.
    """

    def ask(snapshot, count, text, pair):
        return _moment(checkpoint(str(snapshot.path)), count, text, pair, snapshot)

    seen = timeline.timeline(run, first, second or None, ask=ask, done=done)
    asked = tuple(checkpoint(str(snapshot.path)) for snapshot in seen.snapshots)
    return payload.with_options(_packed_moments(run, asked, first, second, seen), options)


@st.cache_data(max_entries=16, show_spinner=False)
def _packed_moments(run: Path, asked: tuple[Checkpoint, ...], first: str, second: str, _seen) -> bytes:
    # the curve ends with the last snapshot, so a run under way does not change the picture at every step
    rows = [row for row in history.read_log(run) if row["step"] <= _seen.snapshots[-1].step]
    return payload.timeline_bytes(_seen, title=run.name, log=history.thin_log(rows))


@st.cache_resource(max_entries=128, show_spinner=False)
def _moment(chosen: Checkpoint, count: int, text: str, pair: str | None, _snapshot_row) -> timeline.Moment:
    return timeline.look(_snapshot(chosen), _snapshot_row, count, text, pair)


def _snapshot(chosen: Checkpoint) -> Session:
    """A snapshot opened: small ones stay open, so that a new text is answered at once."""
    weights = Path(chosen.source) / "model.safetensors"
    small = weights.is_file() and weights.stat().st_size <= SMALL
    return _kept_snapshot(chosen) if small else bertlab.load(chosen.source)


@st.cache_resource(max_entries=32, show_spinner=False)
def _kept_snapshot(chosen: Checkpoint) -> Session:
    return bertlab.load(chosen.source)


# -- one head, and other hosts ------------------------------------------------------------------------------------


def neuron(chosen: Checkpoint, first: str, second: str, layer: int, head: int, options: dict) -> bytes:
    """One head opened up, packed for the canvas. Layer and head count from zero."""
    fact = session(chosen).neuron(first, second or None, layer=layer, head=head)
    return payload.neuron_bytes(fact, options=options)


@st.cache_data(max_entries=8, show_spinner=False)
def bertviz(chosen: Checkpoint, first: str, second: str, layer: int) -> str:
    """bertviz's page for one input."""
    return bertviz_view.head_view_html(attention_map(chosen, first, second), layer=layer)


def attention_page(chosen: Checkpoint, first: str, second: str, options: dict) -> str:
    """The attention view as one offline HTML file, named by the checkpoint and the text."""
    title = _title(chosen, first, second)
    return html.attention_html(attention_map(chosen, first, second), title=title, options=options)


def neuron_page(chosen: Checkpoint, first: str, second: str, layer: int, head: int, options: dict) -> str:
    """The view inside one head as one offline HTML file, named likewise."""
    fact = session(chosen).neuron(first, second or None, layer=layer, head=head)
    return html.neuron_html(fact, title=_title(chosen, first, second), options=options)


def _title(chosen: Checkpoint, first: str, second: str) -> str:
    name = os.path.basename(session(chosen).name)
    title = textwrap.shorten(" · ".join(part for part in (name, first, second) if part), 160, placeholder=" …")
    # a lone surrogate cannot be written as UTF-8
    return title.encode("utf-8", "replace").decode()

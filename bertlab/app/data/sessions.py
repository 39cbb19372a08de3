"""Checkpoints and the answers of their models, cached for everybody who uses this app.

A cached model is immutable and serves many threads at once. The key of a cached answer holds only strings and numbers.
"""

import json
import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import torch

import bertlab
from bertlab.app import access
from bertlab.checkpoints.files import read_config
from bertlab.checkpoints.locate import resolve_run
from bertlab.config.config import ModelConfig
from bertlab.config.languages import DEFAULT
from bertlab.explore import interventions
from bertlab.explore.compare import Comparison, compare
from bertlab.explore.facts import AttentionMap, HeadEffects, SpanXray
from bertlab.explore.session import Session
from bertlab.views import bertviz_view, html, payload

AUTO = "auto"  # the choice "whichever checkpoint suits the page"
ANSWERS = 10  # answers of a passage
WINDOWS_PER_BATCH = 2  # windows of a passage between two steps of a progress bar; more are no faster on one core


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's identity, which caches use as a key."""

    source: str
    """Its directory or hub id."""
    changed: float
    """When its files were last changed, in seconds since 1970."""


def checkpoint(name: str) -> Checkpoint:
    """The checkpoint of a name, without opening it.

    Args:
        name: of a shipped checkpoint, a directory, or a hub id.

    Raises:
        CheckpointError: a visitor may not open it.
    """
    access.check_checkpoint(name)
    path = Path(os.path.expanduser(bertlab.shipped().get(name, name)))
    files = [
        resolve_run(path) / file for file in ("config.json", "model.safetensors", "pytorch_model.bin", "bertlab.json")
    ]
    return Checkpoint(str(path) if os.path.isdir(path) else name, max(modified(file) for file in files))


def short_name(checkpoint: Checkpoint) -> str:
    """What `bertlab.load` opens it by: the name of a shipped checkpoint, else its directory or hub id."""
    return next((name for name, path in bertlab.shipped().items() if str(path) == checkpoint.source), checkpoint.source)


def fitting(prediction: str, language: str = DEFAULT) -> Checkpoint:
    """The shipped checkpoint that suits a prediction, in a language if one is shipped for it.

    Raises:
        CheckpointError: none suits.
    """
    return checkpoint(str(bertlab.default_checkpoint(prediction, language)))


def modified(file: Path) -> float:
    """When a file was last changed, in seconds since 1970; 0 where it cannot be read."""
    try:
        return file.stat().st_mtime
    except (OSError, ValueError):
        return 0.0


@st.cache_resource(max_entries=4, show_spinner=False)
def session(checkpoint: Checkpoint) -> Session:
    """Open a checkpoint once for everybody.

    Raises:
        CheckpointError: it is missing, damaged, or of another architecture.
    """
    # Many people share these cores: with one core per forward pass, all of them together wait least.
    torch.set_num_threads(1)
    return bertlab.load(checkpoint.source)


def about(name: str) -> tuple[ModelConfig, dict]:
    """A shipped checkpoint's configuration and its `bertlab.json`, without its weights.

    Raises:
        CheckpointError: it is damaged.
    """
    path = Path(bertlab.shipped()[name])
    try:
        record = json.loads((path / "bertlab.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = {}
    return read_config(path), record


def _record_subject(checkpoint: Checkpoint, *texts: str | None, other: Checkpoint | None = None) -> None:
    """Remember what the figures that follow are computed from."""
    st.session_state["figures.subject"] = subject_columns(checkpoint, *texts, other=other)


def subject_columns(checkpoint: Checkpoint, *texts: str | None, other: Checkpoint | None = None) -> dict[str, str]:
    names = {"checkpoint": short_name(checkpoint)}
    if other is not None and other != checkpoint:
        names["second_checkpoint"] = short_name(other)
    return names | {f"text_{number}" if number > 1 else "text": text for number, text in enumerate(texts, 1) if text}


def subject() -> dict[str, str]:
    """The checkpoint and the texts of the latest query of this run of the page, for the files that figures are saved
    as; empty before the first.
    """
    return st.session_state.get("figures.subject", {})


def ask(checkpoint: Checkpoint, method: str, *values, progress: Callable | None = None, **options):
    """Return `Session.METHOD(*values, **options)`, cached. Pages with Python code use `calls.session_call`.

    Args:
        checkpoint: the checkpoint to open.
        method: the name of the method.
        values: its positional arguments.
        progress: reports the progress of `xray` and `head_effects`; other methods ignore it.
        options: its keyword arguments.

    Raises:
        BertlabError: what the session raises.
    """
    texts = values[1:] if method in ("intervene", "head_effects") else values  # these take the task type first
    _record_subject(checkpoint, *(text for text in texts[:2] if isinstance(text, str)))
    if method == "attention":
        return attention_map(checkpoint, *values, **options)
    if method == "neuron":  # up to several MB, and computed in milliseconds
        return session(checkpoint).neuron(*values, **options)
    if method == "xray":
        return reading(checkpoint, *values, progress=progress, **options)
    if method == "head_effects":
        return head_effects(checkpoint, values, progress=progress, **options)
    return _ask(checkpoint, method, *values, **options)


@st.cache_data(max_entries=256, show_spinner=False)
def _ask(checkpoint: Checkpoint, method: str, *values, **options):
    return getattr(session(checkpoint), method)(*values, **options)


# -- attention -------------------------------------------------------------------------------------------------


@st.cache_resource(max_entries=2, show_spinner=False)
def attention_map(checkpoint: Checkpoint, first: str, second: str | None = None) -> AttentionMap:
    """Attention of every head over one input."""
    # Up to 150 MB for 512 tokens, so only the latest two are cached, without a copy.
    return session(checkpoint).attention(first, second or None)


@st.cache_resource(max_entries=8, show_spinner=False)
def attention_pack(
    checkpoint: Checkpoint, first: str, second: str | None, _attention: AttentionMap
) -> payload.AttentionPack:
    """Attention of every head over one input, packed: 40 MB for 512 tokens and 12 x 12 heads."""
    return payload.AttentionPack(_attention)


@st.cache_data(max_entries=8, show_spinner=False)
def bertviz(checkpoint: Checkpoint, first: str, second: str | None, layer: int) -> str:
    """The HTML page of bertviz for one input."""
    return bertviz_view.head_view_html(attention_map(checkpoint, first, second), layer=layer)


def attention_page(checkpoint: Checkpoint, first: str, second: str | None, options: dict) -> str:
    """The attention view as one offline HTML file; its title names the checkpoint and the texts."""
    title = _title(checkpoint, first, second)
    return html.attention_html(attention_map(checkpoint, first, second), title=title, options=options)


def neuron_page(checkpoint: Checkpoint, first: str, second: str | None, layer: int, head: int, options: dict) -> str:
    """The view inside one head as one offline HTML file; its title names the checkpoint and the texts."""
    neuron_map = session(checkpoint).neuron(first, second, layer=layer, head=head)
    return html.neuron_html(neuron_map, title=_title(checkpoint, first, second), options=options)


def _title(checkpoint: Checkpoint, first: str, second: str | None) -> str:
    name = os.path.basename(session(checkpoint).name)
    title = textwrap.shorten(" · ".join(part for part in (name, first, second) if part), 160, placeholder=" …")
    # a lone surrogate cannot be written as UTF-8
    return title.encode("utf-8", "replace").decode()


# -- long computations -----------------------------------------------------------------------------------------


def head_effects(
    checkpoint: Checkpoint, values: tuple, mask: int = 0, progress: Callable[[float], None] | None = None
) -> HeadEffects:
    """The effect of every head on one prediction, computed layer by layer.

    A finished layer is cached, so that an interrupted computation continues where it stopped.

    Args:
        values: the first arguments of `Session.head_effects`.
        mask: which [MASK] of the text, from zero.
        progress: is called with the finished share.

    Raises:
        BertlabError: what the session raises.
    """
    _record_subject(checkpoint, *values[1:])
    by_layer, layers = _effects_by_layer(checkpoint, values, mask), session(checkpoint).config.num_layers
    missing = [layer for layer in range(layers) if layer not in by_layer]
    if missing:
        for part in session(checkpoint).head_effects_by_layer(*values, mask=mask, layers=missing):
            by_layer[part.layers[0]] = part
            if progress:
                progress(len(by_layer) / layers)
    return interventions.join_effects([by_layer[layer] for layer in range(layers)])


@st.cache_resource(max_entries=64, show_spinner=False)
def _effects_by_layer(checkpoint: Checkpoint, values: tuple, mask: int) -> dict:
    return {}  # filled by `head_effects`: a cached function cannot report progress


def reading(
    checkpoint: Checkpoint, question: str, text: str, progress: Callable | None = None, n_best: int = ANSWERS
) -> SpanXray:
    """The answers of a passage, their scores and their windows, for the two pages that show answers.

    Args:
        checkpoint: a checkpoint with the output layer for spans.
        question: the question.
        text: the passage.
        progress: wraps the parts of a long passage.
        n_best: the number of answers at most.

    Raises:
        BertlabError: what the session raises.
    """
    _record_subject(checkpoint, question, text)
    slot = _reading(checkpoint, question, text, n_best)
    if not slot:
        options = {"batch_size": WINDOWS_PER_BATCH, "progress": progress or iter}
        slot.append(session(checkpoint).xray(question, text, n_best, **options))
    return slot[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _reading(checkpoint: Checkpoint, question: str, text: str, n_best: int) -> list:
    return []  # filled by `reading`: a cached function cannot report progress


def count_tokens(checkpoint: Checkpoint, text: str) -> int:
    """The number of tokens of a text of any length."""
    return len(session(checkpoint).tokenizer.encode_ids([text])[0])


def comparison(
    first: Checkpoint,
    second: Checkpoint,
    text: str,
    pair: str | None = None,
    other: str | None = None,
    other_pair: str | None = None,
) -> Comparison:
    """Compare two checkpoints on one input, or on one input each; the arguments of `explore.compare.compare`.

    Raises:
        BertlabError: what `compare` raises.
    """
    _record_subject(first, text, pair, *(() if other is None else (other, other_pair)), other=second)
    return _comparison(first, second, text, pair, other, other_pair)


@st.cache_resource(max_entries=4, show_spinner=False)
def _comparison(first: Checkpoint, second: Checkpoint, *texts: str | None) -> Comparison:
    return compare(session(first), session(second), *texts)

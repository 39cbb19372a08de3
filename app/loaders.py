"""Checkpoints and answers, kept for everyone who uses this window. Draws nothing.

A cached model is immutable and serves many threads at once. A cached answer is found again by what was asked: its key
holds strings and numbers only.
"""

import json
import os
import textwrap
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import torch

import bertlab
from bertlab.explore.facts import AttentionMap
from bertlab.explore.session import Session
from bertlab.spec.config import ModelConfig
from bertlab.views import bertviz_view, html, payload
from bertlab.weights.checkpoint import read_config

AUTO = "auto"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint by its directory or hub id, and the time its files were last changed."""

    source: str
    changed: float


def checkpoint(name: str) -> Checkpoint:
    """The checkpoint of this name: one of the shipped, a directory, or a hub id. Opens nothing."""
    path = Path(os.path.expanduser(bertlab.shipped().get(name, name)))
    files = [path / file for file in ("config.json", "model.safetensors", "pytorch_model.bin", "bertlab.json")]
    return Checkpoint(str(path) if os.path.isdir(path) else name, max(_changed(file) for file in files))


def short_name(chosen: Checkpoint) -> str:
    """What `bertlab.load` opens it by: the name of a shipped one, else its directory or hub id."""
    return next((name for name, path in bertlab.shipped().items() if str(path) == chosen.source), chosen.source)


def fitting(task: str) -> Checkpoint:
    """The shipped checkpoint that suits a task.

    Raises:
        CheckpointError: none is shipped.
    """
    return checkpoint(str(bertlab.default_checkpoint(task)))


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


def attention(chosen: Checkpoint, first: str, second: str, layer: int, options: dict) -> bytes:
    """Every head's attention over one input, packed for the canvas. Of a long input, `layer` in full."""
    found = ask(chosen, "encode", first, second or None)
    config = session(chosen).config
    if config.num_layers * config.num_heads * len(found) ** 2 <= payload.WHOLE:
        layer = 0
    return payload.with_options(_packed(chosen, first, second, layer), options)


@st.cache_data(max_entries=24, show_spinner=False)
def _packed(chosen: Checkpoint, first: str, second: str, layer: int) -> bytes:
    return payload.attention_bytes(attention_map(chosen, first, second), layer=layer)


def pieces(chosen: Checkpoint, text: str) -> int:
    """How many pieces a text has, however long it is."""
    return len(session(chosen).tokenizer.encode_ids([text])[0])


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
    name = os.path.basename(session(chosen).name)
    title = textwrap.shorten(" · ".join(part for part in (name, first, second) if part), 160, placeholder=" …")
    # a lone surrogate cannot be written as UTF-8
    title = title.encode("utf-8", "replace").decode()
    return html.attention_html(attention_map(chosen, first, second), title=title, options=options)

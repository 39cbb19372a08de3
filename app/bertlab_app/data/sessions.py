"""The checkpoints of the app, which all users share, and a description of the latest request to one of them.

A cached model is immutable, so many threads can use it at once.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import torch

import bertlab
from bertlab.checkpoints.files import read_config
from bertlab.checkpoints.locate import find_shipped_checkpoints, resolve_run
from bertlab.config.config import ModelConfig
from bertlab.config.languages import DEFAULT
from bertlab.session import Session
from bertlab.tasks.registry import default_checkpoint
from bertlab_app import access

AUTO = "auto"  # the menu option that lets the app pick the checkpoint that suits the page


@dataclass(frozen=True)
class CheckpointKey:
    """The identity of a checkpoint, used as a cache key."""

    source: str  # its directory or hub id
    modified_at: float  # when its files were last changed, in seconds since 1970; 0 for a hub id


def find_checkpoint(name: str) -> CheckpointKey:
    """Find a checkpoint without opening it."""
    access.check_checkpoint(name)
    return _make_key(name, Path(os.path.expanduser(find_shipped_checkpoints().get(name, name))))


def _make_key(name: str, path: Path) -> CheckpointKey:
    files = [
        resolve_run(path) / file for file in ("config.json", "model.safetensors", "pytorch_model.bin", "bertlab.json")
    ]
    return CheckpointKey(
        str(path) if os.path.isdir(path) else name, max(read_modification_time(file) for file in files)
    )


def loadable_name(checkpoint: CheckpointKey) -> str:
    """Return what `bertlab.load` accepts for a checkpoint: the name of a shipped one, a directory, or a hub id."""
    return next(
        (name for name, path in find_shipped_checkpoints().items() if str(path) == checkpoint.source), checkpoint.source
    )


def select_checkpoint(command: str, language: str = DEFAULT) -> CheckpointKey:
    path = default_checkpoint(command, language)
    return _make_key(str(path), path)


def read_modification_time(file: Path) -> float:
    """Read when a file was last changed, in seconds since 1970. Return 0 if the file cannot be accessed."""
    try:
        return file.stat().st_mtime
    except (OSError, ValueError):
        return 0.0


# Eight entries are enough for the checkpoints that the pages open in one language, so that a visit to all pages opens
# each checkpoint once.
@st.cache_resource(max_entries=8, show_spinner=False)
def open_session(checkpoint: CheckpointKey) -> Session:
    # All users share the cores. With one core per forward pass, the sum of the users' waiting times is shortest.
    torch.set_num_threads(1)
    return bertlab.load(checkpoint.source)


def read_description(name: str) -> tuple[ModelConfig, dict]:
    """Read the configuration and the `bertlab.json` of a shipped checkpoint, but not its weights."""
    path = Path(find_shipped_checkpoints()[name])
    try:
        record = json.loads((path / "bertlab.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = {}
    return read_config(path), record


def count_tokens(checkpoint: CheckpointKey, text: str) -> int:
    """Count the tokens of a text of any length, without special tokens."""
    return len(open_session(checkpoint).tokenizer.encode_ids([text])[0])


def record_request(checkpoint: CheckpointKey, *texts: str | None, other: CheckpointKey | None = None) -> None:
    st.session_state["figures.request"] = describe_request(checkpoint, *texts, other=other)


def describe_request(
    checkpoint: CheckpointKey, *texts: str | None, other: CheckpointKey | None = None
) -> dict[str, str]:
    names = {"checkpoint": loadable_name(checkpoint)}
    if other is not None and other != checkpoint:
        names["second_checkpoint"] = loadable_name(other)
    return names | {f"text_{number}" if number > 1 else "text": text for number, text in enumerate(texts, 1) if text}

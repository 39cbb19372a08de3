"""Read and write the state file of a run: tensors and a few JSON values in one safetensors file.

Writing replaces the file atomically: if the process or the machine fails while writing, the previous state remains.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from bertlab.checkpoints.directory import flush
from bertlab.config.errors import CheckpointError, first_line

METADATA_KEY = "trainer"  # the key of the JSON values in the metadata of the state file


def write_state(path: Path, tensors: dict[str, torch.Tensor], values: Mapping) -> None:
    """Write tensors and JSON values to a temporary file, then rename it: on failure the previous state remains."""
    temporary_path = path.with_suffix(".building")
    try:
        save_file(tensors, temporary_path, metadata={METADATA_KEY: json.dumps(values)})
        # Without this flush, the file may be empty after a power failure.
        flush(temporary_path)
        os.replace(temporary_path, path)
        with suppress(OSError):  # some operating systems cannot flush a directory
            flush(path.parent)
    except (OSError, SafetensorError) as error:
        with suppress(OSError):
            temporary_path.unlink()
        raise CheckpointError("run-state-not-written", path=path, reason=first_line(error)) from error


def read_state(path: Path) -> tuple[dict[str, torch.Tensor], dict]:
    """Read the tensors and values that `write_state` wrote; raise CheckpointError if the file is damaged."""
    values = read_values(path)
    return load_file(path), values


def read_values(path: Path) -> dict:
    """Read the values that `write_state` wrote, without the tensors."""
    try:
        with safe_open(path, framework="pt") as file:
            values = json.loads((file.metadata() or {})[METADATA_KEY])
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise CheckpointError("run-state-damaged", path=path, reason=first_line(error)) from error
    if not isinstance(values, dict):
        raise CheckpointError("run-state-damaged", path=path, reason=f"{METADATA_KEY} is not an object")
    return values

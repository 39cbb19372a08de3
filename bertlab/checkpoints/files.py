"""The files of a checkpoint directory: read, and checked before anything is built from them.

A checkpoint may come from anywhere. Weights are read without running code, and everything that would fail later
(NaN, tensors larger than their file) is refused here with the name of the file or tensor.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError, first_line
from bertlab.config.files import read_json_object

if TYPE_CHECKING:  # commands that only need a configuration or a tokenizer do not wait for torch
    import torch

CONFIG, RECORD, CARD = "config.json", "bertlab.json", "README.md"
WEIGHTS, INDEX, OLD_WEIGHTS = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"

MAX_LAYERS = 1000  # more than any published encoder; building modules for a forged number would take minutes


def read_config(directory: Path) -> ModelConfig:
    """The model configuration of the checkpoint in a directory; its weights are not needed.

    Raises:
        CheckpointError: `config.json` is missing or damaged, or does not describe a BERT.
    """
    path = directory / CONFIG
    if not path.is_file():
        raise CheckpointError("checkpoint-no-config", path=directory)
    fields = read_json_object(path)
    architectures = fields.get("architectures") or []
    if not isinstance(architectures, list) or not all(isinstance(name, str) for name in architectures):
        raise CheckpointError("config-architectures-invalid", path=path)
    try:
        config = ModelConfig.from_hf(fields)
    except TypeError as error:
        raise CheckpointError("config-not-a-bert", path=path, reason=first_line(error)) from None
    for name, value in vars(config).items():
        if not _is_valid(name, value):
            # An integer of a million digits would neither be shown nor, in Python, be converted to text.
            shown = "10^19" if isinstance(value, int) and abs(value) >= 10**19 else repr(value)
            raise CheckpointError("config-value-invalid", path=path, name=name, value=shown)
    return config


def read_record(directory: Path) -> dict:
    """What `bertlab.json` says of how the checkpoint was made; {} without that file.

    Raises:
        CheckpointError: the file is damaged.
    """
    path = directory / RECORD
    return read_json_object(path) if path.exists() else {}


def read_weights(directory: Path) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint by name, from whichever file of weights it has.

    Raises:
        CheckpointError: there is none; it is damaged; or a tensor holds NaN or infinity.
    """
    tensors = _read_tensors(directory)
    for name, tensor in tensors.items():
        if not is_finite(tensor):
            raise CheckpointError("weights-not-finite", path=directory, tensor=name)
    return tensors


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds neither NaN nor infinity.

    >>> import torch
    >>> is_finite(torch.tensor([1.0, 2.0])), is_finite(torch.tensor([1.0, float("nan")]))
    (True, False)
    """
    import torch

    if not tensor.is_floating_point():
        return True
    wide = tensor.float() if tensor.itemsize < 2 else tensor  # torch has no sums in eight bits
    # One sum is several times faster than a comparison per element; only a sum that overflows needs the comparisons.
    return bool(wide.sum(dtype=torch.float32).isfinite()) or bool(wide.isfinite().all())


def _is_valid(name: str, value: object) -> bool:
    """Whether a field of a configuration has a value that a model can be built with, by the type of its default."""
    default = getattr(ModelConfig, name)
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, int) and name != "pad_token_id":
        return type(value) is int and 0 < value < (MAX_LAYERS + 1 if name == "num_layers" else 10**8)
    if isinstance(default, float):
        return type(value) in (int, float) and 0 <= value <= 1
    return True


def _read_tensors(directory: Path) -> dict[str, torch.Tensor]:
    if (directory / WEIGHTS).is_file():
        return _read_safetensors(directory / WEIGHTS)
    if (directory / INDEX).is_file():
        shards = read_json_object(directory / INDEX).get("weight_map")
        if not isinstance(shards, dict) or not all(isinstance(shard, str) for shard in shards.values()):
            raise CheckpointError("weights-index-invalid", path=directory / INDEX)
        tensors = {}
        # Only the last part of a name counts, so that an index cannot name a file outside the directory.
        for shard in sorted({Path(shard).name for shard in shards.values()}):
            tensors |= _read_safetensors(directory / shard)
        return tensors
    if (directory / OLD_WEIGHTS).is_file():
        return _read_old_weights(directory / OLD_WEIGHTS)
    raise CheckpointError("checkpoint-no-weights", path=directory)


def _read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load as load_bytes
    from safetensors.torch import load_file

    try:
        # safetensors opens only files whose name is valid UTF-8
        return load_file(path) if _is_utf8(path) else load_bytes(path.read_bytes())
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        raise CheckpointError("weights-damaged", path=path, reason=first_line(error)) from None


def _is_utf8(path: Path) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in str(path))


def _read_old_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a `pytorch_model.bin`, which is a pickle, by the loader that builds tensors and nothing else."""
    import torch

    damages = (RuntimeError, EOFError, OSError, ValueError, TypeError, LookupError, AttributeError, zipfile.BadZipFile)
    try:
        if _is_compressed(path):
            raise CheckpointError("weights-compressed", path=path)
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        # torch's own message explains how to switch its protection off
        raise CheckpointError("weights-more-than-tensors", path=path) from None
    except CheckpointError:
        raise
    except damages as error:
        raise CheckpointError("weights-damaged", path=path, reason=first_line(error)) from None
    if not isinstance(tensors, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in tensors.items()
    ):
        raise CheckpointError("weights-no-table", path=path)
    for name, tensor in tensors.items():
        if not _is_stored(tensor):
            raise CheckpointError("weights-tensor-not-stored", path=path, tensor=name)
    return dict(tensors)


def _is_compressed(path: Path) -> bool:
    """Whether a zip archive has compressed entries: `torch.save` writes none, and they may unpack to any size."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist())


def _is_stored(tensor: torch.Tensor) -> bool:
    """Whether the file holds every element of a tensor: not one of the meta device, and no small one stretched."""
    import torch

    if tensor.is_meta or tensor.layout != torch.strided or tensor.is_quantized:
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()

"""The weights of a checkpoint directory, read and checked before anything is built from them.

A checkpoint may come from anywhere: weights are read without running code, and tensors that hold NaN or are larger
than their file are refused with their name.
"""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_bytes
from safetensors.torch import load_file

from bertlab.checkpoints.files import INDEX, OLD_WEIGHTS, WEIGHTS
from bertlab.config.errors import CheckpointError, first_line
from bertlab.config.files import read_json_object


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
    """Whether a tensor holds neither NaN nor infinity, nor float64 values that would be infinite in float32.

    >>> is_finite(torch.tensor([1.0, 2.0])), is_finite(torch.tensor([1.0, float("nan")]))
    (True, False)
    """
    if not tensor.is_floating_point():
        return True
    # torch has no sums in eight bits, and models compute in float32 at most
    wide = tensor if tensor.itemsize in (2, 4) else tensor.float()
    # One sum is several times faster than a comparison per element; only a sum that overflows needs the comparisons.
    return bool(wide.sum(dtype=torch.float32).isfinite()) or bool(wide.isfinite().all())


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
    try:
        # safetensors opens only files whose name is valid UTF-8
        return load_file(path) if _is_utf8(path) else load_bytes(path.read_bytes())
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        raise CheckpointError("weights-damaged", path=path, reason=first_line(error)) from None


def _is_utf8(path: Path) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in str(path))


def _read_old_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a `pytorch_model.bin`, which is a pickle, by the loader that builds tensors and nothing else."""
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
    if tensor.is_meta or tensor.layout != torch.strided or tensor.is_quantized:
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()

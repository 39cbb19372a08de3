"""Read and check the weights of a checkpoint directory, which may come from an untrusted source.

No code is run, and a tensor that contains NaN or infinity, or has more elements than its file contains, raises an
error.
"""

import pickle
import warnings
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
    """Return the tensors by name, from safetensors files or `pytorch_model.bin`. Raises CheckpointError."""
    tensors = _read_tensors(directory)
    for name, tensor in tensors.items():
        if not is_finite(tensor):
            raise CheckpointError("weights-not-finite", path=directory, tensor=name)
    return tensors


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether all values are finite, also in float32.

    >>> is_finite(torch.tensor([1.0, 2.0])), is_finite(torch.tensor([1.0, float("nan")]))
    (True, False)
    """
    if not tensor.is_floating_point():
        return True
    if tensor.itemsize == 1:
        # There are at most 256 different values. To find them is ten times as fast as to convert all elements.
        counts = torch.bincount(tensor.view(torch.uint8).flatten(), minlength=256)
        tensor = counts.nonzero().to(torch.uint8).view(tensor.dtype)
    # torch cannot sum eight-bit tensors. Float64 values are converted to float32, in which they must be finite too.
    wide = tensor if tensor.itemsize in (2, 4) else tensor.float()
    # One sum is several times as fast as a check of every element. The check is needed only if the sum is not finite.
    return bool(wide.sum(dtype=torch.float32).isfinite()) or bool(wide.isfinite().all())


def _read_tensors(directory: Path) -> dict[str, torch.Tensor]:
    if (directory / WEIGHTS).is_file():
        return _read_safetensors(directory / WEIGHTS)
    if (directory / INDEX).is_file():
        file_names = read_json_object(directory / INDEX).get("weight_map")  # name of a tensor -> name of its file
        if not isinstance(file_names, dict) or not all(isinstance(name, str) for name in file_names.values()):
            raise CheckpointError("weights-index-invalid", path=directory / INDEX)
        tensors = {}
        # Directories in these names are ignored, so that an index cannot refer to a file outside the directory.
        for file_name in sorted({Path(name).name for name in file_names.values()}):
            tensors |= _read_safetensors(directory / file_name)
        return tensors
    if (directory / OLD_WEIGHTS).is_file():
        return _read_old_weights(directory / OLD_WEIGHTS)
    raise CheckpointError("checkpoint-no-weights", path=directory)


def _read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        # safetensors opens only paths in UTF-8; Python represents other bytes of a path by surrogates.
        is_utf8 = not any("\ud800" <= character <= "\udfff" for character in str(path))
        return load_file(path) if is_utf8 else load_bytes(path.read_bytes())
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        raise CheckpointError("weights-damaged", path=path, reason=first_line(error)) from None


def _read_old_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read a pickle without running the code that it may contain."""
    damage = (RuntimeError, EOFError, OSError, ValueError, TypeError, LookupError, AttributeError, zipfile.BadZipFile)
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:  # `torch.save` compresses no entry; a compressed one may be huge
                if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                    raise CheckpointError("weights-compressed", path=path)
        with warnings.catch_warnings():  # torch warns, for example, that quantised tensors are deprecated
            warnings.simplefilter("ignore")
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        # The message of torch is not shown, because it explains how to disable this protection.
        raise CheckpointError("weights-more-than-tensors", path=path) from None
    except CheckpointError:
        raise
    except damage as error:
        raise CheckpointError("weights-damaged", path=path, reason=first_line(error)) from None
    if isinstance(tensors, Mapping) and any(_is_quantised(*item) for item in tensors.items()):
        raise CheckpointError("weights-quantised", path=path)
    if not isinstance(tensors, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in tensors.items()
    ):
        raise CheckpointError("weights-no-table", path=path)
    for name, tensor in tensors.items():
        is_dense = not tensor.is_meta and tensor.layout == torch.strided
        # An expanded tensor has more elements than the file stores.
        if not is_dense or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise CheckpointError("weights-tensor-not-stored", path=path, tensor=name)
    return dict(tensors)


def _is_quantised(name: object, value: object) -> bool:
    """Whether an entry of a state dict is from a module that `torch.ao.quantization` has quantised."""
    return "_packed_params" in str(name) or (isinstance(value, torch.Tensor) and value.is_quantized)

"""Quantise a model to eight bits, and pack it into one block of bytes that a program without PyTorch can read.

A matrix is stored as integers from -127 to 127 (codes) and one float32 scale per row; weight = code * scale. Vectors
stay float32. `views/static/live/weights.js` reads the block. Shape legend: O rows, I columns.
"""

import copy
from collections.abc import Callable, Iterable

import numpy as np
import torch

from bertlab.nn.bert import Bert

MAX_CODE = 127  # -128 is not used, so that the codes are symmetric about 0


def quantise_rows(weight_OI: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Quantise a matrix -> codes_OI (int8) and scale_O (float32), 0 for a row of zeros.

    >>> codes_OI, scale_O = quantise_rows(torch.tensor([[1.0, -0.5], [0.0, 0.0]]))
    >>> codes_OI.tolist()
    [[127, -64], [0, 0]]
    >>> [f"{value:.3f}" for value in (codes_OI * scale_O[:, None])[0]]
    ['1.000', '-0.504']
    """
    weight_OI = weight_OI.detach().float().cpu().numpy()
    scale_O = (np.abs(weight_OI).max(axis=1) / MAX_CODE).astype(np.float32)
    divisor_O = np.where(scale_O == 0, 1, scale_O)
    codes_OI = np.rint(weight_OI / divisor_O[:, None]).clip(-MAX_CODE, MAX_CODE).astype(np.int8)
    return codes_OI, scale_O


def round_weights(model: Bert) -> Bert:
    """Return a copy of a model whose matrices have been quantised and converted back."""
    rounded = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in rounded.parameters():
            if parameter.ndim == 2:
                codes_OI, scale_O = quantise_rows(parameter)
                parameter.copy_(torch.from_numpy(codes_OI * scale_O[:, None]))
    return rounded


def pack_tensors(
    model: Bert, progress: Callable[[Iterable], Iterable] = iter, num_positions: int | None = None
) -> tuple[dict[str, dict], bytes]:
    """Quantise all weights of a model, with the first `num_positions` positions -> table, block of bytes.

    The table maps each tensor to its `shape`; to `values`, the offset in bytes of its float32 values (the scales of a
    matrix, or a vector); and for a matrix to `codes`, that of its int8 codes. Float32 values come first, and are
    aligned.
    """
    state = model.state_dict()
    table: dict[str, dict] = {}
    values, codes = [], []  # each item: (entry of a tensor in the table, bytes of the tensor)
    for name, tensor in progress(list(state.items())):
        if name == "embeddings.position.weight":
            tensor = tensor[:num_positions]
        entry: dict = {"shape": list(tensor.shape)}
        if tensor.ndim == 2:
            codes_OI, scale_O = quantise_rows(tensor)
            codes.append((entry, codes_OI.tobytes()))
            values.append((entry, scale_O.astype("<f4").tobytes()))
        else:
            values.append((entry, tensor.detach().float().cpu().numpy().astype("<f4").tobytes()))
        table[name] = entry
    offset, parts = 0, []
    for key, items in (("values", values), ("codes", codes)):
        for entry, data in items:
            entry[key] = offset
            offset += len(data)
            parts.append(data)
    return table, b"".join(parts)

"""Where a run computes, and how that is told in a card. Knows no model."""

import contextlib
import ctypes
import importlib.util
import os
import platform
import shutil
import statistics
import sysconfig
import time
from pathlib import Path

import torch

from bertlab.config.errors import BertlabError


def resolve_device(name: str) -> torch.device:
    """`auto` is the first CUDA device, else the processor; each process that `torchrun` started has a GPU of its own.

    Raises:
        BertlabError: no such device, or none at hand.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BertlabError(f"there is no device {name!r}; use cpu or cuda") from error
    if device.type not in ("cpu", "cuda"):
        raise BertlabError(f"bertlab does not run on {name!r}; use cpu or cuda")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BertlabError("no CUDA device is at hand; use --device cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BertlabError(f"there is no {name}: {torch.cuda.device_count()} GPUs are here, counted from 0")
    if device.type == "cuda" and device.index is None and (own := int(os.environ.get("LOCAL_RANK", 0))):
        if own >= torch.cuda.device_count():
            raise BertlabError(f"process {own} has no GPU of its own: {torch.cuda.device_count()} are here")
        return torch.device("cuda", own)
    return device


def describe_hardware(device: torch.device) -> str:
    """What a run was made on, for its card."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} thread(s) of a {platform.machine()} processor"


def can_compile(device: torch.device) -> bool:
    """Whether kernels can be made for it: a GPU that Triton knows, with Triton, a C compiler and Python's headers at
    hand. On a processor that gains nothing."""
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (7, 0):
        return False
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    headers = Path(sysconfig.get_path("include"), "Python.h").is_file()
    return bool(compiler and headers and importlib.util.find_spec("triton"))


def release_memory() -> None:
    """Return to the system what was freed, where the C library keeps it (glibc): batches of ever other lengths leave
    holes, and fine-tuning on SQuAD held 8 GB after 2,000 steps."""
    with contextlib.suppress(AttributeError, TypeError, OSError):  # another C library has no such function
        ctypes.CDLL(None).malloc_trim(0)


CLEARLY = 1.2  # bfloat16 also loses digits, so it must win by this much
TURNS = 9


def is_bfloat16_faster(device: torch.device) -> bool:
    """Whether this machine multiplies matrices clearly faster in bfloat16 than in float32.

    On a processor it is measured, in about 0.1 s: instructions for it may be there and still be slower (Intel's AVX-512
    without AMX: 0.6 times float32), or twice as fast (AMD's Zen 5). Neighbouring turns are compared, and their median
    taken, since a shared machine's speed drifts. A GPU is asked whether it has it in hardware.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    wide = torch.ones(512, 512)
    narrow = wide.bfloat16()
    ratios = [_seconds(wide) / _seconds(narrow) for _ in range(TURNS + 1)]
    return statistics.median(ratios[1:]) > CLEARLY  # the first turn also sets up


def _seconds(square: torch.Tensor) -> float:
    began = time.perf_counter()
    square @ square
    return time.perf_counter() - began

"""The device that a run computes on: its choice, its description, its precision and its memory."""

import ctypes
import importlib.util
import os
import platform
import re
import shutil
import statistics
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from bertlab.config.errors import BertlabError

# bfloat16 also loses digits, so it must be faster by this factor.
REQUIRED_SPEEDUP = 1.2
ROUNDS = 9
# How torch reports that memory is short, where it has no type of its own for that.
OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|ALLOC_FAILED", re.IGNORECASE)


def resolve_device(name: str) -> torch.device:
    """The device of this process. `auto` is the first CUDA device, else the CPU.

    Each process that `torchrun` started gets a GPU of its own.

    Raises:
        BertlabError: there is no such device, or it is not available.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BertlabError("device-unknown", name=name) from error
    if device.type not in ("cpu", "cuda"):
        raise BertlabError("device-not-supported", name=name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BertlabError("cuda-not-available")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BertlabError("cuda-device-not-found", name=name, count=torch.cuda.device_count())
    if device.type == "cuda" and device.index is None and (local_rank := int(os.environ.get("LOCAL_RANK", 0))):
        if local_rank >= torch.cuda.device_count():
            raise BertlabError("cuda-device-missing", rank=local_rank, count=torch.cuda.device_count())
        return torch.device("cuda", local_rank)
    return device


def describe_hardware(device: torch.device) -> str:
    """The name of a GPU, or the threads and type of the CPU, for a model card."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} thread(s) of a {platform.machine()} processor"


def can_compile(device: torch.device) -> bool:
    """Whether torch.compile works and gains something on a device.

    It needs a GPU that Triton supports, Triton itself, a C compiler and Python's headers. On a CPU it gains nothing.
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (7, 0):
        return False
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    headers = Path(sysconfig.get_path("include"), "Python.h").is_file()
    return bool(compiler and headers and importlib.util.find_spec("triton"))


def release_memory() -> None:
    """Return freed memory to the system, where the C library (glibc) keeps it.

    Batches of varying lengths fragment the heap: fine-tuning on SQuAD held 8 GB after 2,000 steps.
    """
    with suppress(AttributeError, TypeError, OSError):  # another C library has no such function
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def readable_out_of_memory() -> Iterator[None]:
    """Turn an allocation that fails into one line that says which flags need less memory.

    Raises:
        BertlabError: memory is short, on the CPU or on the GPU.
    """
    try:
        yield
    except MemoryError:
        raise BertlabError("training-out-of-memory") from None
    except RuntimeError as error:  # torch.OutOfMemoryError on a GPU, no narrower type on a CPU
        if isinstance(error, torch.OutOfMemoryError) or OUT_OF_MEMORY.search(str(error)):
            raise BertlabError("training-out-of-memory") from None
        raise


def is_bfloat16_faster(device: torch.device) -> bool:
    """Whether this machine multiplies matrices clearly faster in bfloat16 than in float32.

    On a CPU it is measured, in about 0.1 s: a CPU may have instructions for bfloat16 and still be slower with them (0.6
    times float32 with Intel's AVX-512 but no AMX) or twice as fast (AMD's Zen 5). Rounds in float32 and bfloat16
    alternate and the median of their ratios counts, since the speed of a shared machine drifts.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    wide = torch.ones(512, 512)
    narrow = wide.bfloat16()
    ratios = [_matmul_seconds(wide) / _matmul_seconds(narrow) for _ in range(ROUNDS + 1)]
    return statistics.median(ratios[1:]) > REQUIRED_SPEEDUP  # the first round also initialises the libraries


def _matmul_seconds(square: torch.Tensor) -> float:
    began = time.perf_counter()
    square @ square
    return time.perf_counter() - began

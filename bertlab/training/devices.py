"""Choose and describe the device of a run, find out whether it is faster in bfloat16, and handle its memory."""

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

# bfloat16 is less precise than float32, so it is used only if it is faster by this factor.
REQUIRED_SPEEDUP = 1.2
ROUNDS = 9  # how many times the speed of bfloat16 is compared with that of float32
# Matches the message of a RuntimeError that torch raises because memory is insufficient.
OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|ALLOC_FAILED", re.IGNORECASE)


def resolve_device(name: str) -> torch.device:
    """Find the device of this process; "auto" is "cuda" if a GPU is available, otherwise "cpu".

    With `torchrun`, "cuda" is a different GPU in each process.
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
    """Describe a device for a model card: the name of a GPU, or the number of threads and the type of a CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} thread(s) of a {platform.machine()} processor"


def can_compile(device: torch.device) -> bool:
    """Whether torch.compile works on a device and makes training faster.

    It needs a GPU that Triton supports, Triton, a C compiler and Python's headers. On a CPU training gets no faster.
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (7, 0):
        return False
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    headers = Path(sysconfig.get_path("include"), "Python.h").is_file()
    return bool(compiler and headers and importlib.util.find_spec("triton"))


def release_memory() -> None:
    """Return freed memory to the system, which the C library (glibc) does not do by itself.

    Batches of varying lengths fragment the heap: without this, fine-tuning on SQuAD used 8 GB after 2,000 steps.
    """
    with suppress(AttributeError, TypeError, OSError):  # C libraries other than glibc lack this function
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def explain_out_of_memory() -> Iterator[None]:
    """Replace the error of a failed allocation with one that names the flags which save memory."""
    try:
        yield
    except MemoryError:
        raise BertlabError("training-out-of-memory") from None
    except RuntimeError as error:  # on a GPU torch.OutOfMemoryError; on a CPU, torch has no narrower type
        if isinstance(error, torch.OutOfMemoryError) or OUT_OF_MEMORY.search(str(error)):
            raise BertlabError("training-out-of-memory") from None
        raise


def is_bfloat16_faster(device: torch.device) -> bool:
    """Whether this machine multiplies matrices clearly faster in bfloat16 than in float32.

    On a CPU the speed is measured, which takes about 0.1 s: Intel's AVX-512 without AMX has 0.6 times the speed of
    float32, AMD's Zen 5 twice. The types alternate, and the median of the ratios counts, because the speed drifts.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    float32 = torch.ones(512, 512)
    bfloat16 = float32.bfloat16()
    ratios = [_measure_matmul_seconds(float32) / _measure_matmul_seconds(bfloat16) for _ in range(ROUNDS + 1)]
    return statistics.median(ratios[1:]) > REQUIRED_SPEEDUP  # the first round also initialises the libraries


def _measure_matmul_seconds(square_matrix: torch.Tensor) -> float:
    start_time = time.perf_counter()
    square_matrix @ square_matrix
    return time.perf_counter() - start_time

"""Several processes that train one model, as `torchrun` starts them. Alone, everything here does nothing.

DistributedDataParallel averages gradients (`training/gradient.py`). This module has the rest: rank, sums over all
processes, and one clear line when another process is gone. Knows no model and no data.
"""

import os
import random
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module

import torch
import torch.distributed as dist

from bertlab.config.errors import BertlabError

# rank 0 measures and saves while the others wait for it, on a slow disk for minutes
PATIENCE = timedelta(minutes=30)
KEPT = "what was saved last is kept, and the same command goes on from there"
GONE = f"another process of this run ended or cannot be reached, so this one stops too: {KEPT}"
# how gloo and nccl say it
GONE_SIGNS = re.compile(r"gloo|nccl|connection (closed|reset|refused)|peer|timed? ?out|TCPStore", re.IGNORECASE)
TOLD = f"told to stop, as torchrun does when another process of the run has ended: {KEPT}"


def join(device: torch.device) -> None:
    """Meet the other processes that `torchrun` started: gloo between processors, nccl between GPUs.

    Raises:
        BertlabError: they do not come.
    """
    if not _spawned() or os.environ["WORLD_SIZE"] == "1" or _met():
        return
    if device.type == "cuda":
        torch.cuda.set_device(device.index or 0)
    if is_main_process() and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _told_to_stop)
    with readable_peer_failures():
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    # DistributedDataParallel does so when it is made, which takes seconds: not on the run's clock
    import_module("torch._dynamo")


def leave() -> None:
    """Wait until every process is done, then part."""
    if _met():
        with readable_peer_failures():
            dist.barrier()
        dist.destroy_process_group()


def rank() -> int:
    """Which process this is, from 0."""
    return dist.get_rank() if _met() else 0


def world_size() -> int:
    """How many there are."""
    return dist.get_world_size() if _met() else 1


def cores_per_process() -> int:
    """Processor cores for each process of this run on this machine."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, here // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def is_main_process() -> bool:
    """Whether this process is the one that writes and prints."""
    return not _spawned() or os.environ["RANK"] == "0"


def data_shard() -> tuple[int, int]:
    """This process's rows of a global batch are rows[rank::count]."""
    return rank(), world_size()


def all_reduce_sum(tensor: torch.Tensor) -> torch.Tensor:
    """The sum of a tensor over all processes."""
    if world_size() > 1:
        with readable_peer_failures():
            dist.all_reduce(tensor)
    return tensor


def broadcast(*numbers: float) -> tuple[float, ...]:
    """The first process's numbers."""
    if world_size() == 1:
        return numbers
    tensor = torch.tensor(numbers, dtype=torch.float64)
    with readable_peer_failures():
        dist.broadcast(tensor, 0)
    return tuple(tensor.tolist())


def all_equal(number: float) -> bool:
    """Whether all processes have the same number, to six digits."""
    if world_size() == 1:
        return True
    ends = torch.tensor([number, -number], dtype=torch.float64)
    with readable_peer_failures():
        dist.all_reduce(ends, dist.ReduceOp.MAX)
    return float(ends.sum()) <= 1e-6 * float(ends.abs().max())


def seed_by_rank(step: int) -> None:
    """Dropout of its own from this step on for every process but the first, whose stream stays as it is."""
    if rank():
        torch.manual_seed(random.Random(f"{torch.initial_seed()} {rank()} {step}").getrandbits(62))


def _spawned() -> bool:
    return dist.is_available() and dist.is_torchelastic_launched()


def _met() -> bool:
    return dist.is_available() and dist.is_initialized()


def _told_to_stop(_signal, _frame):
    raise BertlabError(TOLD)


@contextmanager
def readable_peer_failures() -> Iterator[None]:
    """Round a block in which processes talk to each other: one line where another one is gone."""
    try:
        yield
    except RuntimeError as error:  # torch has no narrower kind for gloo's
        if world_size() > 1 and GONE_SIGNS.search(str(error)):
            raise BertlabError(GONE) from error
        raise

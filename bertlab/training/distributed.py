"""Training one model in several processes that `torchrun` started: rank, all-reduce, broadcast, readable peer failures.

DistributedDataParallel averages the gradients (`training/gradient.py`); this module has everything else. In a single
process every function is a no-op.
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

# The main process evaluates and saves while the others wait for it, which takes minutes on a slow disk.
TIMEOUT = timedelta(minutes=30)
# How gloo and NCCL report that a peer has ended.
PEER_LOST = re.compile(r"gloo|nccl|connection (closed|reset|refused)|peer|timed? ?out|TCPStore", re.IGNORECASE)


def join(device: torch.device) -> None:
    """Join the process group of this run: gloo between CPUs, NCCL between GPUs.

    Raises:
        BertlabError: the other processes do not join.
    """
    if not _is_launched() or os.environ["WORLD_SIZE"] == "1" or _is_joined():
        return
    if device.type == "cuda":
        torch.cuda.set_device(device.index or 0)
    if is_main_process() and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _raise_stopped)
    with readable_peer_failures():
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
    # DistributedDataParallel imports this when it is built, which takes seconds: do it before the run's clock starts.
    import_module("torch._dynamo")


def leave() -> None:
    """Wait until every process is done, then leave the process group."""
    if _is_joined():
        with readable_peer_failures():
            dist.barrier()
        dist.destroy_process_group()


def rank() -> int:
    """The number of this process, from 0."""
    return dist.get_rank() if _is_joined() else 0


def world_size() -> int:
    """The number of processes."""
    return dist.get_world_size() if _is_joined() else 1


def cores_per_process() -> int:
    """CPU cores for each process of this run on this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def is_main_process() -> bool:
    """Whether this process has rank 0, the one that writes and prints. True before the process group is joined, too."""
    return not _is_launched() or os.environ["RANK"] == "0"


def data_shard() -> tuple[int, int]:
    """(rank, world size): this process trains on rows[rank::world_size] of each global batch."""
    return rank(), world_size()


def all_reduce_sum(tensor: torch.Tensor) -> torch.Tensor:
    """The sum of a tensor over all processes, in place."""
    if world_size() > 1:
        with readable_peer_failures():
            dist.all_reduce(tensor)
    return tensor


def broadcast(*numbers: float) -> tuple[float, ...]:
    """The numbers of the main process, in every process."""
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
    extremes = torch.tensor([number, -number], dtype=torch.float64)
    with readable_peer_failures():
        dist.all_reduce(extremes, dist.ReduceOp.MAX)
    return float(extremes.sum()) <= 1e-6 * float(extremes.abs().max())


def seed_by_rank(step: int) -> None:
    """Give every process but the main one its own random stream for dropout, from this step on.

    The main process keeps its stream, so that a run on one process is reproduced.
    """
    if rank():
        torch.manual_seed(random.Random(f"{torch.initial_seed()} {rank()} {step}").getrandbits(62))


@contextmanager
def readable_peer_failures() -> Iterator[None]:
    """Turn the failure of a collective operation whose peer has ended into one readable line."""
    try:
        yield
    except RuntimeError as error:  # torch has no narrower type for gloo's errors
        if world_size() > 1 and PEER_LOST.search(str(error)):
            raise BertlabError("run-peer-lost") from error
        raise


def _is_launched() -> bool:
    return dist.is_available() and dist.is_torchelastic_launched()


def _is_joined() -> bool:
    return dist.is_available() and dist.is_initialized()


def _raise_stopped(_signal, _frame):
    raise BertlabError("run-stopped-by-torchrun")

"""Train one model in several processes of `torchrun`: rank, all-reduce, broadcast, readable errors for lost processes.

In a run with a single process, the functions do not communicate.
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
from bertlab.config.processor import count_cores

# A process waits for another one at most this long. While the main process evaluates and saves, the others wait for it;
# on a slow disk this takes minutes.
TIMEOUT = timedelta(minutes=30)
# Matches the messages of gloo and NCCL about another process that has ended.
PROCESS_LOST = re.compile(r"gloo|nccl|connection (closed|reset|refused)|peer|timed? ?out|TCPStore", re.IGNORECASE)


def join_process_group(device: torch.device) -> None:
    """Join the process group of this run: gloo between CPUs, NCCL between GPUs."""
    if not _is_launched() or os.environ["WORLD_SIZE"] == "1" or _is_joined():
        return
    if device.type == "cuda":
        torch.cuda.set_device(device.index or 0)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _raise_stopped if is_main_process() else _exit)
    with explain_lost_process():
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
    # DistributedDataParallel imports this module when it is built. The import takes seconds, so it is done here, before
    # the run's clock starts.
    import_module("torch._dynamo")


def leave_process_group() -> None:
    """Wait until every process has finished, then leave the process group."""
    if _is_joined():
        with explain_lost_process():
            dist.barrier()
        dist.destroy_process_group()


def rank() -> int:
    """Return the index of this process among all processes of the run, from 0."""
    return dist.get_rank() if _is_joined() else 0


def world_size() -> int:
    """Return the number of processes of the run."""
    return dist.get_world_size() if _is_joined() else 1


def cores_per_process() -> int:
    """Return how many CPU cores of this machine each process of the run can use."""
    return max(1, count_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def is_main_process() -> bool:
    """Whether this process has rank 0, and therefore writes and prints; known before the process joins its group."""
    return not _is_launched() or os.environ["RANK"] == "0"


def data_shard() -> tuple[int, int]:
    """Return (rank, world size); this process trains on rows[rank::world_size] of each global batch."""
    return rank(), world_size()


def all_reduce_sum(tensor: torch.Tensor) -> torch.Tensor:
    """Sum a tensor over all processes, in place."""
    if world_size() > 1:
        with explain_lost_process():
            dist.all_reduce(tensor)
    return tensor


def broadcast(*numbers: float) -> tuple[float, ...]:
    """Return, in every process, the numbers that the main process passed to this function."""
    if world_size() == 1:
        return numbers
    tensor = torch.tensor(numbers, dtype=torch.float64)
    with explain_lost_process():
        dist.broadcast(tensor, 0)
    return tuple(tensor.tolist())


def all_equal(number: float) -> bool:
    """Whether all processes passed the same number to this function, to about six significant digits."""
    if world_size() == 1:
        return True
    extremes = torch.tensor([number, -number], dtype=torch.float64)
    with explain_lost_process():
        dist.all_reduce(extremes, dist.ReduceOp.MAX)
    return float(extremes.sum()) <= 1e-6 * float(extremes.abs().max())


def seed_by_rank(step: int) -> None:
    """Give every process except the main one its own random stream for dropout, from step `step` on."""
    if rank():
        torch.manual_seed(random.Random(f"{torch.initial_seed()} {rank()} {step}").getrandbits(62))


@contextmanager
def explain_lost_process() -> Iterator[None]:
    """Replace the error of a collective operation with one readable line if another process has ended."""
    try:
        yield
    except RuntimeError as error:  # torch has no narrower type for gloo's errors
        if world_size() > 1 and PROCESS_LOST.search(str(error)):
            raise BertlabError("run-peer-lost") from error
        raise


def _is_launched() -> bool:
    return dist.is_available() and dist.is_torchelastic_launched()


def _is_joined() -> bool:
    return dist.is_available() and dist.is_initialized()


def _raise_stopped(_signal, _frame):
    """Handle SIGTERM in the main process."""
    raise BertlabError("run-stopped-by-torchrun")


def _exit(signum, _frame):
    """Handle SIGTERM in the other processes: exit silently, because the main process reports the reason."""
    raise SystemExit(128 + signum)

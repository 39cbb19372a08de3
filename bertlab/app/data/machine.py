"""The speed of this machine, and measured training steps. Only one measurement of training steps runs at a time."""

import threading
import time
from dataclasses import dataclass

import streamlit as st
import torch

from bertlab.bench.cost import Comparison, compare_step, read_available_memory
from bertlab.bench.flops import measure_peak_flops
from bertlab.config.errors import BertlabError
from bertlab.explore.cost.workload import Workload
from bertlab.training.devices import describe_hardware, resolve_device

MEASURED_STEPS = 3
_MEASURING = threading.Lock()


@dataclass(frozen=True)
class Machine:
    """The machine that runs the app."""

    name: str
    """Its GPU, or its processor and threads."""
    device: str
    """cpu or gpu."""
    peak_flops: float
    """The measured FLOP per second of a large matrix product."""
    memory_bytes: float
    """The memory that was free when the peak was measured."""


@st.cache_data(show_spinner=False)
def measure_peak(precision: str) -> Machine:
    """Measure the peak of this machine once, in less than two seconds of work.

    Args:
        precision: float32 or bfloat16.
    """
    device = resolve_device("auto")
    # with one thread, its own CPU time leaves out the work of other visitors and programs
    on_one_thread = device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.thread_time if on_one_thread else time.perf_counter
    peak = measure_peak_flops(device, getattr(torch, precision), 3, clock)
    return Machine(describe_hardware(device), find_device(), peak, read_available_memory(device))


def find_device() -> str:
    """Return where this machine trains: gpu or cpu."""
    return "gpu" if resolve_device("auto").type == "cuda" else "cpu"


def measure_step(workload: Workload, share: float) -> Comparison:
    """Run some training steps in another process, and compare them with the estimate.

    Args:
        workload: the model and its batches.
        share: the share of the peak that the estimate of the time assumes.

    Raises:
        BertlabError: another measurement is running, the steps do not fit into the memory, or they failed.
    """
    if not _MEASURING.acquire(blocking=False):
        raise BertlabError("cost-measurement-running")
    try:
        return compare_step(workload, steps=MEASURED_STEPS, threads=torch.get_num_threads(), share=share)
    finally:
        _MEASURING.release()

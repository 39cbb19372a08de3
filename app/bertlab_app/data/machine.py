"""Measure the peak FLOP/s of this machine, and the time and memory of training steps.

Only one measurement of training steps runs at a time.
"""

import threading
import time
from dataclasses import dataclass

import streamlit as st
import torch

from bertlab.abilities.cost.measure import Comparison, compare_step, read_available_memory
from bertlab.abilities.cost.measure_flops import measure_peak_flops
from bertlab.abilities.cost.workload import Workload
from bertlab.config.errors import BertlabError
from bertlab.training.devices import describe_hardware, resolve_device

NUM_MEASURED_STEPS = 3  # how many training steps one measurement runs
# The number of rows and columns of the matrices that are multiplied to measure the peak FLOP/s of a single thread. This
# size is large enough for the peak; the default size, which suits many threads, would take eight times as long.
ONE_THREAD_MATRIX_SIZE = 1024
_MEASUREMENT_LOCK = threading.Lock()


@dataclass(frozen=True)
class Machine:
    """The machine that runs the app."""

    name: str  # its GPU, or its processor and threads
    device: str  # the device on which it trains models: "cpu" or "gpu"
    peak_flops: float  # its peak FLOP/s, measured with a large matrix product
    memory_bytes: float  # the memory that was available when the peak was measured, in bytes


@st.cache_data(show_spinner=False)
def measure_peak(precision: str) -> Machine:
    """Measure the peak FLOP/s of this machine, and return it with the machine's name, device and memory.

    This takes less than two seconds. The result is cached.
    """
    device = resolve_device("auto")
    # A single thread is measured by its CPU time, which, unlike wall time, excludes other visitors and programs.
    on_one_thread = device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.thread_time if on_one_thread else time.perf_counter
    matrix_size = ONE_THREAD_MATRIX_SIZE if on_one_thread else None
    peak_flops = measure_peak_flops(device, getattr(torch, precision), 3, clock, matrix_size)
    return Machine(describe_hardware(device), find_device(), peak_flops, read_available_memory(device))


def find_device() -> str:
    """Return the device on which this machine trains models: "gpu" or "cpu"."""
    return "gpu" if resolve_device("auto").type == "cuda" else "cpu"


def measure_step(workload: Workload, share: float) -> Comparison:
    """Run some training steps in another process, and compare their time and memory with the estimates."""
    if not _MEASUREMENT_LOCK.acquire(blocking=False):
        raise BertlabError("cost-measurement-running")
    try:
        return compare_step(workload, steps=NUM_MEASURED_STEPS, threads=torch.get_num_threads(), share=share)
    finally:
        _MEASUREMENT_LOCK.release()

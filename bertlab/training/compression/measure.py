"""Measure a checkpoint before and after compression: size, latency, throughput and the metric of a task."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from bertlab.tasks.inference import compute_head_output
from bertlab.text.batch import collate


@dataclass(frozen=True)
class Measurements:
    """The measurements of one checkpoint."""

    megabytes: float
    """The size in 10^6 bytes: before compression, four bytes for each parameter; after it, the size of the file."""
    parameters: int  # the number of weights that are not zero; for an ONNX file, their number in the exported model
    latency_ms: float  # the median time that one text takes, in milliseconds
    texts_per_second: float  # the throughput of batches: the median over the repetitions
    metrics: dict  # the metrics of the task on the validation rows


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch compute with one thread within a `with` block."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@torch.inference_mode()
def measure_speed(
    models: Sequence[torch.nn.Module],
    head: str,
    inputs: Sequence,
    pad_id: int,
    *,
    num_texts: int = 100,
    batch_size: int = 32,
    num_batches: int = 5,
    progress: Callable = iter,
) -> list[tuple[float, float]]:
    """Measure models that take turns at each batch -> median latency in ms and texts per second of each.

    `num_texts` inputs, evenly chosen, are measured one at a time, and `num_batches` batches. The models alternate,
    because the speed of a shared machine drifts.
    """

    def choose(count: int, offset: int = 0) -> list:
        """Choose inputs that are evenly spaced, beginning with the one at index `offset`."""
        return [inputs[(offset + index * max(1, len(inputs) // count)) % len(inputs)] for index in range(count)]

    singles = [collate([each], pad_id) for each in choose(num_texts)]
    batches = [collate(choose(batch_size, offset), pad_id) for offset in range(num_batches)]
    for model in models:  # the first call allocates memory and is not measured
        for batch in (singles[0], batches[0]):
            compute_head_output(model, head, batch)
    # For each model, the times of the single texts (kind 0) and of the batches (kind 1).
    seconds: list[list[list[float]]] = [[[], []] for _ in models]
    for kind, batch in progress([*((0, batch) for batch in singles), *((1, batch) for batch in batches)]):
        for model, times in zip(models, seconds, strict=True):
            start = time.perf_counter()
            compute_head_output(model, head, batch)
            times[kind].append(time.perf_counter() - start)
    return [
        (1000 * statistics.median(text_times), batch_size / statistics.median(batch_times))
        for text_times, batch_times in seconds
    ]


def count_weights(model: torch.nn.Module) -> int:
    """Count the nonzero weights of a model."""
    return sum(int(parameter.count_nonzero()) for parameter in model.parameters())

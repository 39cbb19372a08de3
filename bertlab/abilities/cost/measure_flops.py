"""Count floating-point operations (FLOP), and measure the peak FLOP per second of this machine in a matrix product."""

import statistics
import time
from collections.abc import Callable

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

_ATEN = torch.ops.aten

# The next three functions compute the FLOP of an operator from the shapes of its arguments.


def _attention_flop(query_shape, key_shape, value_shape, *_, **__) -> int:
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def _attention_backward_flop(grad_shape, query_shape, key_shape, value_shape, *_, **__) -> int:
    return sdpa_backward_flop_count(grad_shape, query_shape, key_shape, value_shape)


def _fused_linear_flop(input_shape, weight_shape, *_, out_shape=None, **__) -> int:
    rows = 1
    for size in input_shape[:-1]:
        rows *= size
    return 2 * rows * weight_shape[0] * weight_shape[1]


# This dictionary maps an operator to the function that computes its FLOP. torch's counter has formulas for fused
# attention on GPUs, but not on CPUs, and none for the fused linear layer of `nn.fast.linear`.
_CPU_OPERATORS = {
    torch.ops.mkldnn._linear_pointwise: _fused_linear_flop,
    _ATEN._scaled_dot_product_flash_attention_for_cpu: _attention_flop,
    _ATEN._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward_flop,
}


def count_flop(computation: Callable[[], object]) -> int:
    """Count the floating-point operations of all matrix products in a computation. A multiply-add counts as two.

    >>> count_flop(lambda: torch.ones(2, 3) @ torch.ones(3, 4))
    48
    """
    with FlopCounterMode(display=False, custom_mapping=_CPU_OPERATORS) as counter:
        computation()
    return counter.get_total_flops()


def measure_peak_flops(
    device: torch.device,
    dtype: torch.dtype,
    repetitions: int = 9,
    clock: Callable[[], float] = time.perf_counter,
    size: int | None = None,
) -> float:
    """Return the median FLOP per second of a large square matrix product, an upper bound for training on this device.

    Args:
        device: where to compute.
        dtype: the number format.
        repetitions: the number of timed products. One more, which is not timed, comes first.
        clock: returns the time in seconds.
        size: each matrix has this many rows and columns. Default: 8192 on a GPU, 2048 on a CPU.
    """
    size = size or (8192 if device.type == "cuda" else 2048)
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    flop_per_second = []
    for _ in range(repetitions + 1):
        start = clock()
        left @ right
        if device.type == "cuda":
            torch.cuda.synchronize()
        flop_per_second.append(2 * size**3 / (clock() - start))
    return statistics.median(flop_per_second[1:])  # the first value is left out, because it includes start-up costs

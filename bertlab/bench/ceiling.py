"""Count the floating-point operations of a computation, and measure the machine's peak rate for matrix products."""

import statistics
import time
from collections.abc import Callable

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

_ATEN = torch.ops.aten


def _fused(query_shape, key_shape, value_shape, *_, **__) -> int:
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def _fused_backward(grad_shape, query_shape, key_shape, value_shape, *_, **__) -> int:
    return sdpa_backward_flop_count(grad_shape, query_shape, key_shape, value_shape)


# torch's counter knows the operators of GPUs, but not fused attention on a processor
_CPU_OPERATORS = {
    _ATEN._scaled_dot_product_flash_attention_for_cpu: _fused,
    _ATEN._scaled_dot_product_flash_attention_for_cpu_backward: _fused_backward,
}


def count_operations(work: Callable[[], object]) -> int:
    """Count the floating-point operations of all matrix products, forward and backward. A multiply-add counts as two.

    >>> count_operations(lambda: torch.ones(2, 3) @ torch.ones(3, 4))
    48
    """
    with FlopCounterMode(display=False, custom_mapping=_CPU_OPERATORS) as counter:
        work()
    return counter.get_total_flops()


def peak_rate(device: torch.device, dtype: torch.dtype, rounds: int = 9) -> float:
    """Measure the operations per second of one large square matrix product, which no training here can exceed."""
    size = 8192 if device.type == "cuda" else 2048
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    rates = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        left @ right
        if device.type == "cuda":
            torch.cuda.synchronize()
        rates.append(2 * size**3 / (time.perf_counter() - start))
    return statistics.median(rates[1:])

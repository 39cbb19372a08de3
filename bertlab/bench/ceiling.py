"""How much arithmetic something does, and how much the machine could do in that time. Knows no model."""

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


# the counter knows what GPUs do, not a processor's fused attention
_PROCESSOR = {
    _ATEN._scaled_dot_product_flash_attention_for_cpu: _fused,
    _ATEN._scaled_dot_product_flash_attention_for_cpu_backward: _fused_backward,
}


def arithmetic(work: Callable[[], object]) -> int:
    """Floating-point operations of all matrix products in it, forwards and backwards; a multiplication and its
    addition are two.

    >>> arithmetic(lambda: torch.ones(2, 3) @ torch.ones(3, 4))
    48
    """
    with FlopCounterMode(display=False, custom_mapping=_PROCESSOR) as counter:
        work()
    return counter.get_total_flops()


def product_rate(device: torch.device, dtype: torch.dtype, rounds: int = 9) -> float:
    """Floating-point operations a second of one large square matrix product: the ceiling of any training here."""
    size = 8192 if device.type == "cuda" else 2048
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    rates = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        left @ right
        if device.type == "cuda":
            torch.cuda.synchronize()
        rates.append(2 * size**3 / (time.perf_counter() - began))
    return statistics.median(rates[1:])

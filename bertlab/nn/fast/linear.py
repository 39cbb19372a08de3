"""Linear layers whose bias goes along in the product: a processor's bfloat16.

`torch` there copies the bias to every row first and has the product add to it, which costs up to a quarter of a product
(BENCHMARKS.md, "The bias goes along"). Knows no layers.

Shape legend: X rows, any leading shape; I what goes in, O what comes out.
"""

import torch
import torch.nn.functional as F
from torch import nn


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs_XI, weight_OI, bias_O):
        ctx.save_for_backward(inputs_XI, weight_OI)
        return product(inputs_XI, weight_OI, bias_O)

    @staticmethod
    def backward(ctx, grad_XO):
        inputs_XI, weight_OI = ctx.saved_tensors
        grad_XO = grad_XO.contiguous()
        rows_XO, rows_XI = grad_XO.flatten(0, -2), inputs_XI.flatten(0, -2)
        to_inputs = grad_XO @ weight_OI if ctx.needs_input_grad[0] else None
        to_weight = rows_XO.t() @ rows_XI if ctx.needs_input_grad[1] else None
        return to_inputs, to_weight, rows_XO.sum(0) if ctx.needs_input_grad[2] else None


class Linear(nn.Linear):
    """`nn.Linear`, the fastest way."""

    def forward(self, inputs_XI: torch.Tensor) -> torch.Tensor:
        return linear(inputs_XI, self.weight, self.bias)


def linear(inputs_XI: torch.Tensor, weight_OI: torch.Tensor, bias_O: torch.Tensor) -> torch.Tensor:
    """`F.linear`, the fastest way -> [X, O]."""
    if bias_goes_along(inputs_XI):
        return _Linear.apply(inputs_XI, weight_OI, bias_O)
    return F.linear(inputs_XI, weight_OI, bias_O)


def product(inputs_XI: torch.Tensor, weight_OI: torch.Tensor, bias_O: torch.Tensor) -> torch.Tensor:
    """`linear` without a gradient: the operator that `torch.compile` takes for it -> [X, O]."""
    if bias_goes_along(inputs_XI):
        return torch.ops.mkldnn._linear_pointwise(inputs_XI, weight_OI, bias_O, "none", [], None)
    return F.linear(inputs_XI, weight_OI, bias_O)


def bias_goes_along(like: torch.Tensor) -> bool:
    """Whether tensors like this are multiplied by an operator that takes the bias along.

    >>> bias_goes_along(torch.empty(1))
    False
    """
    if like.device.type != "cpu" or like.dtype != torch.bfloat16 or torch.compiler.is_compiling():
        return False
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()

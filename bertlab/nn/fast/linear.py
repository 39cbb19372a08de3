"""Linear layers whose bias is added inside the matrix product, for bfloat16 on CPU.

`F.linear` copies the bias to every row of the output there, and then adds the product. Shape legend: X rows (any
leading shape), I inputs, O outputs.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Linear(nn.Linear):
    """An `nn.Linear` that adds the bias inside the matrix product if `supports_fused_bias`."""

    @classmethod
    def from_linear(cls, layer: nn.Linear) -> "Linear":
        """Make a `Linear` that shares the parameters of an `nn.Linear`."""
        new_layer = cls(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        new_layer.weight, new_layer.bias = layer.weight, layer.bias
        return new_layer

    def forward(self, inputs_XI: torch.Tensor) -> torch.Tensor:
        if self.bias is not None and supports_fused_bias(inputs_XI):
            return _FusedLinear.apply(inputs_XI, self.weight, self.bias)
        return F.linear(inputs_XI, self.weight, self.bias)


class _FusedLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs_XI, weight_OI, bias_O):
        ctx.save_for_backward(inputs_XI, weight_OI)
        return multiply_with_bias(inputs_XI, weight_OI, bias_O)

    @staticmethod
    def backward(ctx, grad_XO):
        inputs_XI, weight_OI = ctx.saved_tensors
        grad_XO = grad_XO.contiguous()
        rows_XO, rows_XI = grad_XO.flatten(0, -2), inputs_XI.flatten(0, -2)
        grad_inputs_XI = grad_XO @ weight_OI if ctx.needs_input_grad[0] else None
        grad_weight_OI = rows_XO.t() @ rows_XI if ctx.needs_input_grad[1] else None
        return grad_inputs_XI, grad_weight_OI, rows_XO.sum(0) if ctx.needs_input_grad[2] else None


def multiply_with_bias(inputs_XI: torch.Tensor, weight_OI: torch.Tensor, bias_O: torch.Tensor) -> torch.Tensor:
    """Compute `F.linear` with the fused operator that `torch.compile` uses, which has no gradient."""
    return torch.ops.mkldnn._linear_pointwise(inputs_XI, weight_OI, bias_O, "none", [], None)


def supports_fused_bias(like: torch.Tensor) -> bool:
    """Whether `multiply_with_bias` supports tensors like this one: bfloat16, on a CPU with instructions for it."""
    if like.device.type != "cpu" or like.dtype != torch.bfloat16 or torch.compiler.is_compiling():
        return False
    return supports_bfloat16()


def supports_bfloat16() -> bool:
    """Whether the processor has instructions for bfloat16."""
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()

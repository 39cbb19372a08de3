"""Cross-entropy over a vocabulary without keeping its logits: decoder, softmax and both gradients in one go.

On a processor the float32 softmax of [P, V] and its backward pass cost as much as a whole layer, mostly in touching
fresh memory; here one buffer in the model's own type is turned into the gradient in place, a few rows at a time.
Knows nothing of what the rows are.

Shape legend: P rows, H hidden, V vocabulary.
"""

import torch
import torch.nn.functional as F

from bertlab.nn.linear import product
from bertlab.text.masking import IGNORED

SMALLEST = torch.finfo(torch.float32).tiny


def _sizes(device: torch.device) -> tuple[int, int]:
    """Rows at once, and what the vocabulary is made a multiple of: a processor works best on what its caches hold, a
    GPU on much at once and on round numbers."""
    return (64, 1) if device.type == "cpu" else (4096, 64)


class _DecodedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden_PH, weight_VH, bias_V, labels_P):
        (at_once, multiple), V = _sizes(hidden_PH.device), len(weight_VH)
        if more := -V % multiple:
            weight_VH, bias_V = F.pad(weight_VH, (0, 0, 0, more)), F.pad(bias_V, (0, more), value=float("-inf"))
        buffer_PV = product(hidden_PH, weight_VH, bias_V)
        used_P = labels_P != IGNORED
        count = used_P.sum().clamp(min=1)
        loss = torch.zeros((), dtype=torch.float32, device=hidden_PH.device)
        hits = torch.zeros((), dtype=torch.int64, device=hidden_PH.device)
        for first in range(0, len(labels_P), at_once):
            rows = slice(first, first + at_once)
            used, label = used_P[rows], labels_P[rows].clamp(min=0)[:, None]
            logits = buffer_PV[rows]
            place = logits if logits.dtype == torch.float32 else None
            probs = torch.softmax(logits, -1, dtype=torch.float32, out=place)
            at_label = probs.gather(1, label)
            hits += ((at_label >= probs.amax(-1, keepdim=True))[:, 0] & used).sum()
            loss -= (at_label[:, 0].clamp(min=SMALLEST).log() * used).sum()
            probs.scatter_add_(1, label, -torch.ones_like(at_label)).mul_(used[:, None] / count)
            if place is None:
                logits.copy_(probs)
        ctx.save_for_backward(buffer_PV @ weight_VH, (buffer_PV.t() @ hidden_PH)[:V], buffer_PV.sum(0)[:V])
        ctx.mark_non_differentiable(hits)
        return loss / count, hits

    @staticmethod
    def backward(ctx, grad_loss, _grad_hits):
        grad_PH, grad_VH, grad_V = ctx.saved_tensors
        if grad_loss.device.type == "cpu" and grad_loss == 1:  # as mostly; a GPU would be waited for
            return grad_PH, grad_VH, grad_V, None
        scale = grad_loss.to(grad_PH.dtype)
        return grad_PH * scale, grad_VH * scale, grad_V * scale, None


def decoded_cross_entropy(
    hidden_PH: torch.Tensor, weight_VH: torch.Tensor, bias_V: torch.Tensor, labels_P: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean cross-entropy of softmax(hidden weight^T + bias) against labels, and for how many no other is likelier.

    Rows labelled IGNORED do not count. A label's chance is taken to be 1e-38 at least, so that a row costs at most 87.
    Gradients are made on the way forward, so it is for training.
    """
    return _DecodedCrossEntropy.apply(hidden_PH, weight_VH, bias_V, labels_P)

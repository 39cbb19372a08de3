"""Cross-entropy over a vocabulary without keeping its logits: decoder, softmax and both gradients in one go.

On a processor the float32 softmax of [P, V] and its backward pass cost as much as a whole layer, mostly in touching
fresh memory; here one buffer in the model's own type is turned into the gradient in place, a few rows at a time.
Knows nothing of what the rows are.

Shape legend: P rows, H hidden, V vocabulary.
"""

import torch
import torch.nn.functional as F

from bertlab.nn.fast.linear import product

IGNORED = -100  # the label of a position without a target, as in `torch.nn.functional.cross_entropy`
SMALLEST = torch.finfo(torch.float32).tiny


def _sizes(device: torch.device) -> tuple[int, int]:
    """Rows at once, and what the vocabulary is made a multiple of: a processor works best on what its caches hold, a
    GPU on much at once and on round numbers."""
    return (64, 1) if device.type == "cpu" else (4096, 64)


class _DecodedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden_PH, weight_VH, bias_V, labels_P, taught_PV, share, learns):
        (at_once, multiple), V = _sizes(hidden_PH.device), len(weight_VH)
        if more := -V % multiple:
            weight_VH, bias_V = F.pad(weight_VH, (0, 0, 0, more)), F.pad(bias_V, (0, more), value=float("-inf"))
            taught_PV = None if taught_PV is None else F.pad(taught_PV, (0, more), value=float("-inf"))
        buffer_PV = product(hidden_PH, weight_VH, bias_V)
        used_P = labels_P != IGNORED
        count = used_P.sum().clamp(min=1)
        own, theirs = torch.zeros(2, dtype=torch.float32, device=hidden_PH.device)
        hits = torch.zeros((), dtype=torch.int64, device=hidden_PH.device)
        for first in range(0, len(labels_P), at_once):
            rows = slice(first, first + at_once)
            used, label = used_P[rows], labels_P[rows].clamp(min=0)[:, None]
            logits = buffer_PV[rows]
            place = logits if logits.dtype == torch.float32 else None
            probs = torch.softmax(logits, -1, dtype=torch.float32, out=place)
            at_label = probs.gather(1, label)
            hits += ((at_label >= probs.amax(-1, keepdim=True))[:, 0] & used).sum()
            own -= (at_label[:, 0].clamp(min=SMALLEST).log() * used).sum()
            if taught_PV is not None:
                taught = torch.softmax(taught_PV[rows], -1, dtype=torch.float32)
                theirs -= ((taught * probs.clamp(min=SMALLEST).log()).sum(-1) * used).sum()
                probs.sub_(taught, alpha=share)
            if not learns:
                continue
            probs.scatter_add_(1, label, torch.full_like(at_label, share - 1)).mul_(used[:, None] / count)
            if place is None:
                logits.copy_(probs)
        if learns:
            ctx.save_for_backward(buffer_PV @ weight_VH, (buffer_PV.t() @ hidden_PH)[:V], buffer_PV.sum(0)[:V])
        loss, own = ((1 - share) * own + share * theirs) / count, own / count
        ctx.mark_non_differentiable(own, hits)
        return loss, own, hits

    @staticmethod
    def backward(ctx, grad_loss, *_):
        grad_PH, grad_VH, grad_V = ctx.saved_tensors
        if grad_loss.device.type == "cpu" and grad_loss == 1:  # as mostly; a GPU would be waited for
            return grad_PH, grad_VH, grad_V, *[None] * 4
        scale = grad_loss.to(grad_PH.dtype)
        return grad_PH * scale, grad_VH * scale, grad_V * scale, *[None] * 4


def decoded_cross_entropy(
    hidden_PH: torch.Tensor,
    weight_VH: torch.Tensor,
    bias_V: torch.Tensor,
    labels_P: torch.Tensor,
    taught_PV: torch.Tensor | None = None,
    share: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean cross-entropy of softmax(hidden weight^T + bias), to be minimised; the part of it against labels alone; and
    for how many rows no other is likelier than their label.

    Rows labelled IGNORED do not count. A label's chance is taken to be 1e-38 at least, so that a row costs at most 87.
    Gradients are made on the way forward, unless none are asked for (`torch.no_grad`).

    Args:
        taught_PV: logits of a teacher; what is minimised has `share` of its weight against their softmax (Hinton et al.
            2015, at temperature 1).
    """
    if taught_PV is None:
        share = 0.0
    return _DecodedCrossEntropy.apply(hidden_PH, weight_VH, bias_V, labels_P, taught_PV, share, torch.is_grad_enabled())

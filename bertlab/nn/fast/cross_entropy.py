"""Cross-entropy of the MLM decoder; its forward pass computes logits, softmax and gradients, and keeps no logits.

On CPU, a float32 softmax of [P, V] and its backward pass take as long as a whole layer, mostly to write to new memory.
Here the logits become their gradient in place. Shape legend: P tokens to predict, H hidden, V vocabulary.
"""

import torch
import torch.nn.functional as F

IGNORE_INDEX = -100  # the label of a row without a target, as in `torch.nn.functional.cross_entropy`
# About 1e-38. A smaller probability is replaced by this one before its logarithm is computed.
MIN_PROBABILITY = torch.finfo(torch.float32).tiny


def _get_chunk_sizes(device: torch.device) -> tuple[int, int]:
    """Return how many rows are computed together, and the multiple to which the vocabulary is padded.

    Rows should fit into a CPU's caches; a GPU is fastest with many rows and multiples of 64.
    """
    return (64, 1) if device.type == "cpu" else (4096, 64)


class _DecodedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden_PH, weight_VH, bias_V, labels_P, teacher_PV, teacher_share, needs_grad):
        (chunk, multiple), V = _get_chunk_sizes(hidden_PH.device), len(weight_VH)
        if padding := -V % multiple:
            weight_VH, bias_V = F.pad(weight_VH, (0, 0, 0, padding)), F.pad(bias_V, (0, padding), value=float("-inf"))
            teacher_PV = None if teacher_PV is None else F.pad(teacher_PV, (0, padding), value=float("-inf"))
        buffer_PV = F.linear(hidden_PH, weight_VH, bias_V)
        has_label_P = labels_P != IGNORE_INDEX
        count = has_label_P.sum().clamp(min=1)
        label_loss, teacher_loss = torch.zeros(2, dtype=torch.float32, device=hidden_PH.device)
        num_correct = torch.zeros((), dtype=torch.int64, device=hidden_PH.device)
        for first in range(0, len(labels_P), chunk):
            rows = slice(first, first + chunk)
            has_label, label = has_label_P[rows], labels_P[rows].clamp(min=0)[:, None]
            logits = buffer_PV[rows]
            out = logits if logits.dtype == torch.float32 else None
            probs = torch.softmax(logits, -1, dtype=torch.float32, out=out)
            label_prob = probs.gather(1, label)
            num_correct += ((label_prob >= probs.amax(-1, keepdim=True))[:, 0] & has_label).sum()
            label_loss -= (label_prob[:, 0].clamp(min=MIN_PROBABILITY).log() * has_label).sum()
            if teacher_PV is not None:
                teacher = torch.softmax(teacher_PV[rows], -1, dtype=torch.float32)
                teacher_loss -= ((teacher * probs.clamp(min=MIN_PROBABILITY).log()).sum(-1) * has_label).sum()
                probs.sub_(teacher, alpha=teacher_share)
            if not needs_grad:
                continue
            # The gradient of the logits is (probs - share * teacher - (1 - share) * one-hot(label)) / count.
            probs.scatter_add_(1, label, torch.full_like(label_prob, teacher_share - 1))
            probs.mul_(has_label[:, None] / count)
            if out is None:
                logits.copy_(probs)
        if needs_grad:
            ctx.save_for_backward(buffer_PV @ weight_VH, (buffer_PV.t() @ hidden_PH)[:V], buffer_PV.sum(0)[:V])
        loss = ((1 - teacher_share) * label_loss + teacher_share * teacher_loss) / count
        label_loss = label_loss / count
        ctx.mark_non_differentiable(label_loss, num_correct)
        return loss, label_loss, num_correct

    @staticmethod
    def backward(ctx, grad_loss, *_):
        grad_PH, grad_VH, grad_V = ctx.saved_tensors
        # This shortcut is for CPU only, because a comparison would make the CPU wait for a GPU.
        if grad_loss.device.type == "cpu" and grad_loss == 1:
            return grad_PH, grad_VH, grad_V, *[None] * 4
        scale = grad_loss.to(grad_PH.dtype)
        return grad_PH * scale, grad_VH * scale, grad_V * scale, *[None] * 4


def decoded_cross_entropy(
    hidden_PH: torch.Tensor,
    weight_VH: torch.Tensor,
    bias_V: torch.Tensor,
    labels_P: torch.Tensor,
    teacher_PV: torch.Tensor | None = None,
    teacher_share: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute the mean cross-entropy of softmax(hidden weight^T + bias) over the rows that have a label.

    Gradients are computed in the forward pass. The probability of a label is clamped to at least 1e-38, so that a row
    adds at most 87 nats to the sum.

    Args:
        labels_P: the target of each row; rows with `IGNORE_INDEX` do not count.
        teacher_PV: logits of a teacher, or None.
        teacher_share: share in the loss of the cross-entropy against the teacher's softmax (Hinton et al. 2015, at
            temperature 1); the labels have the share 1 - teacher_share.

    Returns:
        The loss to minimise; the cross-entropy against the labels, without gradient; and the number of rows in which no
        token is more probable than the label.
    """
    if teacher_PV is None:
        teacher_share = 0.0
    return _DecodedCrossEntropy.apply(
        hidden_PH, weight_VH, bias_V, labels_P, teacher_PV, teacher_share, torch.is_grad_enabled()
    )

"""The optimiser Muon (Jordan 2024), implemented so that all matrices of the same size are updated together.

`torch.optim.Muon` updates one matrix after the other, and always in bfloat16, which is slower on many CPUs.
Source: https://kellerjordan.github.io/posts/muon/

Shape legend: N matrices, A their shorter side, B their longer side.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import torch

ITERATIONS = 5  # number of Newton-Schulz iterations
# An iteration maps each singular value s to a s + b s^3 + c s^5; these are (a, b, c).
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalize(matrices_NAB: torch.Tensor) -> torch.Tensor:
    """Bring the singular values of matrices with A <= B near 1 (at most 1.2) by five Newton-Schulz iterations.

    Those that were less than a hundredth of the largest one may stay far below 1.
    """
    a, b, c = COEFFICIENTS
    x_NAB = matrices_NAB / torch.linalg.matrix_norm(matrices_NAB, keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram_NAA = x_NAB @ x_NAB.mT
        polynomial_NAA = torch.baddbmm(gram_NAA, gram_NAA, gram_NAA, beta=b, alpha=c)
        x_NAB = torch.baddbmm(x_NAB, polynomial_NAA, x_NAB, beta=a)
    return x_NAB


class Muon(torch.optim.Optimizer):
    """Updates every matrix by the orthogonalised momentum of its gradients.

    The updates are scaled to the usual size of Adam's updates, so that the same learning rate suits both.

    Args:
        dtype: the type of the arithmetic; matrices and momentum keep their own types.
        momentum: the decay rate of the moving average of the gradients.
        parts: parameter -> the number of matrices that are stacked in it; 1 for a parameter that is not listed.

    Source: Liu et al. 2025, arXiv 2502.16982, section 2.2.
    """

    def __init__(
        self,
        matrices: Iterable[torch.nn.Parameter],
        *,
        weight_decay: float,
        dtype: torch.dtype,
        momentum: float = 0.95,
        parts: Mapping[torch.nn.Parameter, int] | None = None,
    ):
        super().__init__(matrices, {"lr": 1e-3, "weight_decay": weight_decay, "momentum": momentum})
        self.dtype, self.parts = dtype, dict(parts or {})

    @torch.no_grad()
    def step(self) -> None:
        """Update the matrices that have a gradient."""
        for group in self.param_groups:
            triples_by_size = defaultdict(list)
            for p in group["params"]:
                if p.grad is None:
                    continue
                buffer = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                part_count = self.parts.get(p, 1)
                chunks = (p.data.chunk(part_count), p.grad.chunk(part_count), buffer.chunk(part_count))
                for matrix, gradient, momentum in zip(*chunks, strict=True):
                    triples_by_size[tuple(sorted(matrix.shape))].append((matrix, gradient, momentum))
            # The factor 0.2 sqrt(longer side) makes the root mean square of an update 0.2 lr, as is usual with Adam.
            for (_, longer_side), triples in triples_by_size.items():
                self._update(triples, 0.2 * longer_side**0.5 * group["lr"], **group)

    def _update(
        self, triples: list[tuple], step_size: float, *, lr: float, weight_decay: float, momentum: float, **_
    ) -> None:
        """Update matrices of one size; `triples` contains (matrix, gradient, momentum) of each."""
        matrices, gradients, buffers = (list(tensors) for tensors in zip(*triples, strict=True))
        torch._foreach_lerp_(buffers, gradients, 1 - momentum)
        nesterov = torch._foreach_lerp(gradients, buffers, momentum)
        # `orthogonalize` requires matrices with at least as many columns as rows, so the others are transposed.
        directions_NAB = torch.stack([d if _is_wide(d) else d.mT for d in nesterov]).to(self.dtype)
        updates = orthogonalize(directions_NAB)
        updates = [u if _is_wide(m) else u.mT for m, u in zip(matrices, updates, strict=True)]
        torch._foreach_mul_(matrices, 1 - lr * weight_decay)
        torch._foreach_add_(matrices, [u.to(m.dtype) for m, u in zip(matrices, updates, strict=True)], alpha=-step_size)


def _is_wide(matrix: torch.Tensor) -> bool:
    return matrix.shape[0] <= matrix.shape[1]

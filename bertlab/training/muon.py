"""Muon (Jordan 2024), all matrices of a size at once and in the type that the machine multiplies fastest.

`torch.optim.Muon` takes one matrix after the other, on a GPU two dozen kernels each, and always in bfloat16, which is
the slower type on many a processor. Knows no model.

Shape legend: N matrices, A their shorter side, B their longer.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch

TURNS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonal(matrices_NAB: torch.Tensor) -> torch.Tensor:
    """Each matrix with its singular values brought near 1, to 1.2 at most, by five turns of Newton and Schulz's
    iteration -> [N, A, B]. Those a hundred times smaller than the largest stay below 1."""
    a, b, c = COEFFICIENTS
    found_NAB = matrices_NAB / torch.linalg.matrix_norm(matrices_NAB, keepdim=True).clamp(min=1e-7)
    for _ in range(TURNS):
        gram_NAA = found_NAB @ found_NAB.mT
        change_NAA = torch.baddbmm(gram_NAA, gram_NAA, gram_NAA, beta=b, alpha=c)
        found_NAB = torch.baddbmm(found_NAB, change_NAA, found_NAB, beta=a)
    return found_NAB


class Muon(torch.optim.Optimizer):
    """Moves every matrix by the orthogonal part of its momentum, as far as Adam usually would, so that one rate suits
    both (Liu et al. 2025, arXiv 2502.16982, section 2.2).

    Args:
        dtype: of the arithmetic; matrices and momentum keep their own.
    """

    def __init__(
        self, matrices: Iterable[torch.nn.Parameter], *, weight_decay: float, dtype: torch.dtype, momentum: float = 0.95
    ):
        super().__init__(matrices, {"lr": 1e-3, "weight_decay": weight_decay, "momentum": momentum})
        self.dtype = dtype

    @torch.no_grad()
    def step(self) -> None:
        """One update of the matrices that have a gradient."""
        for group in self.param_groups:
            sizes = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    sizes[tuple(sorted(p.shape))].append(p)
            for (_, longer), same in sizes.items():
                self._move(same, 0.2 * longer**0.5 * group["lr"], **group)

    def _move(self, same: list, far: float, *, lr: float, weight_decay: float, momentum: float, **_) -> None:
        for p in same:
            if "momentum_buffer" not in self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        gradients, buffers = [p.grad for p in same], [self.state[p]["momentum_buffer"] for p in same]
        torch._foreach_lerp_(buffers, gradients, 1 - momentum)
        wanted = torch._foreach_lerp(gradients, buffers, momentum)  # Nesterov's look ahead
        lying_NAB = torch.stack([w if _lies(w) else w.mT for w in wanted]).to(self.dtype)
        found = [f if _lies(p) else f.mT for p, f in zip(same, orthogonal(lying_NAB), strict=True)]
        torch._foreach_mul_(same, 1 - lr * weight_decay)
        torch._foreach_add_(same, [f.to(p.dtype) for p, f in zip(same, found, strict=True)], alpha=-far)


def _lies(matrix: torch.Tensor) -> bool:
    return matrix.shape[0] <= matrix.shape[1]

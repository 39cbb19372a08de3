"""Attention rollout: the product of the attention matrices of a layer and of all layers before it.

Source: Abnar and Zuidema 2020, arXiv 2005.00928.

Shape legend: T tokens, L layers, N heads.
"""

from dataclasses import dataclass

import numpy as np

from bertlab.abilities.results import AttentionMap, TokenRow


@dataclass(frozen=True)
class Rollout:
    """The attention rollout of one input."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    shares_LTT: np.ndarray
    """[l, i, j]: the share of input token j in the state of position i after layer l; rows sum to 1."""

    def find_largest_source(self, position: int) -> int:
        """Find the input token with the largest share in a position's last state, except the token at the position."""
        shares_T = self.shares_LTT[-1, position].copy()
        shares_T[position] = -1
        return int(shares_T.argmax())


def compute_rollout(attention: AttentionMap) -> Rollout:
    """Multiply the attention matrices of all layers.

    The matrix of a layer is the mean over its heads, averaged with the identity matrix, which stands for the residual
    connection. The value vectors are not taken into account.

    Source: Abnar and Zuidema 2020, section 3.
    """
    shares_TT = np.eye(len(attention.tokens), dtype=np.float32)
    layers = []
    for probs_NTT in attention.probs_LNTT:
        mixed_TT = (probs_NTT.mean(0) + np.eye(len(shares_TT), dtype=np.float32)) / 2
        shares_TT = mixed_TT @ shares_TT
        layers.append(shares_TT)
    return Rollout(attention.tokens, np.stack(layers))

"""Sentence pooling: one vector for a text from the hidden states of its tokens.

Shape legend: B batch, T tokens, H hidden, P size of the vector (H times the number of pooling modes).
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F


def _sum_tokens(hidden_BTH: torch.Tensor, mask_BT1: torch.Tensor) -> torch.Tensor:
    return hidden_BTH.masked_fill(~mask_BT1, 0.0).sum(1)


# Pooling mode, named as in `sentence-transformers` -> a function from hidden states and mask to one vector per text.
POOLING_MODES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mean": lambda hidden_BTH, mask_BT1: _sum_tokens(hidden_BTH, mask_BT1) / mask_BT1.sum(1).clamp(min=1),
    "cls": lambda hidden_BTH, mask_BT1: hidden_BTH[:, 0],
    "max": lambda hidden_BTH, mask_BT1: hidden_BTH.masked_fill(~mask_BT1, -torch.inf).amax(1),
    "mean_sqrt_len_tokens": lambda hidden_BTH, mask_BT1: (
        _sum_tokens(hidden_BTH, mask_BT1) / mask_BT1.sum(1).clamp(min=1).sqrt()
    ),
}


def pool_sentences(hidden_BTH: torch.Tensor, mask_BT: torch.Tensor, modes: Sequence[str] = ("mean",)) -> torch.Tensor:
    """Compute a vector with a norm of 1 for each text -> float32 [B, P]; the results of several modes are concatenated.

    Source: Reimers and Gurevych 2019 (arXiv 1908.10084), section 3.
    """
    hidden_BTH, mask_BT1 = hidden_BTH.float(), mask_BT[..., None]
    pooled_BP = torch.cat([POOLING_MODES[mode](hidden_BTH, mask_BT1) for mode in modes], dim=-1)
    return F.normalize(pooled_BP, dim=-1)

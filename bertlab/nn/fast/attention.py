"""softmax(query key^T / sqrt(D) + mask) value by the fastest kernel for a device and a precision.

Shape legend: B batch, T tokens, X tokens of all rows, H hidden, N heads, D head size (H = N * D).
"""

import torch
import torch.nn.functional as F

from bertlab.nn.fast.dropout import dropout


def attention(
    query_BNTD: torch.Tensor,
    key_BNTD: torch.Tensor,
    value_BNTD: torch.Tensor,
    mask: torch.Tensor | None,
    dropout_share: float = 0.0,
) -> torch.Tensor:
    """The outputs of the heads -> [B, N, T, D].

    By the fused kernel, except in two cases on CPU: in bfloat16 its backward pass is slow, and with dropout it does not
    exist.

    Args:
        mask: see `bert.additive_mask`.
    """
    unfused = query_BNTD.device.type == "cpu" and (query_BNTD.dtype == torch.bfloat16 or dropout_share > 0)
    if not unfused:
        return F.scaled_dot_product_attention(query_BNTD, key_BNTD, value_BNTD, attn_mask=mask, dropout_p=dropout_share)
    scores_BNTT = (query_BNTD * query_BNTD.shape[-1] ** -0.5) @ key_BNTD.transpose(-1, -2)
    if mask is not None:
        scores_BNTT = scores_BNTT + mask
    return dropout(torch.softmax(scores_BNTT, dim=-1), dropout_share) @ value_BNTD


def padded_attention(
    qkv_BTH: torch.Tensor, num_heads: int, mask: torch.Tensor | None, dropout_share: float
) -> torch.Tensor:
    """`attention` from queries, keys and values side by side, [B, T, 3H] -> [B, T, H]."""
    qkv_3BNTD = qkv_BTH.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    return attention(*qkv_3BNTD.unbind(0), mask, dropout_share).transpose(1, 2).flatten(2)


def supports_varlen(like: torch.Tensor, head_size: int) -> bool:
    """Whether `varlen_attention` supports tensors like this: on a GPU, in half precision, for heads up to 256.

    >>> supports_varlen(torch.empty(1), 64)
    False
    """
    if like.device.type != "cuda" or like.dtype not in (torch.float16, torch.bfloat16):
        return False
    if head_size % 8 or head_size > 256:
        return False
    built = torch.backends.cuda.is_flash_attention_available()
    return built and torch.cuda.get_device_capability(like.device) >= (8, 0)


def varlen_attention(
    query_XND: torch.Tensor,
    key_XND: torch.Tensor,
    value_XND: torch.Tensor,
    offset_B1: torch.Tensor,
    longest: int,
    causal: bool,
    dropout_share: float = 0.0,
) -> torch.Tensor:
    """`attention` within each row, where rows follow each other without padding -> [X, N, D].

    FlashAttention (Dao 2023). This is the operator below PyTorch's nested tensors, which take milliseconds of CPU time
    per layer, and below its `varlen_attn`, which has no dropout.

    Args:
        offset_B1: int32, where each row begins, and where the last one ends.
        longest: the length of the longest row.
    """
    return torch.ops.aten._flash_attention_forward(
        query_XND, key_XND, value_XND, offset_B1, offset_B1, longest, longest, dropout_share, causal, False
    )[0]

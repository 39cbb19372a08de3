"""softmax(query key^T / sqrt(D) + mask) value, with the fastest kernel for a device and a precision.

Shape legend: B batch, T tokens, X tokens of all rows, H hidden, N heads, D head size (H = N * D), C the queries, keys
and values of all heads side by side (C = 3 * H).
"""

import torch
import torch.nn.functional as F

from bertlab.nn.fast.dropout import dropout


def attention(
    query_BNTD: torch.Tensor,
    key_BNTD: torch.Tensor,
    value_BNTD: torch.Tensor,
    mask: torch.Tensor | None,
    dropout_rate: float = 0.0,
) -> torch.Tensor:
    """Compute the outputs of the heads -> [B, N, T, D].

    Not with PyTorch's fused kernel on CPU in bfloat16, where its backward pass is slow, nor with dropout, which it
    lacks there.
    """
    use_unfused = query_BNTD.device.type == "cpu" and (query_BNTD.dtype == torch.bfloat16 or dropout_rate > 0)
    if not use_unfused:
        return F.scaled_dot_product_attention(query_BNTD, key_BNTD, value_BNTD, attn_mask=mask, dropout_p=dropout_rate)
    scores_BNTT = (query_BNTD * query_BNTD.shape[-1] ** -0.5) @ key_BNTD.transpose(-1, -2)
    if mask is not None:
        scores_BNTT = scores_BNTT + mask
    return dropout(torch.softmax(scores_BNTT, dim=-1), dropout_rate) @ value_BNTD


def padded_attention(
    qkv_BTC: torch.Tensor, num_heads: int, mask: torch.Tensor | None, dropout_rate: float
) -> torch.Tensor:
    """Compute `attention` from queries, keys and values side by side, [B, T, C] -> [B, T, H]."""
    query_BNTD, key_BNTD, value_BNTD = qkv_BTC.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
    return attention(query_BNTD, key_BNTD, value_BNTD, mask, dropout_rate).transpose(1, 2).flatten(2)


def supports_varlen(like: torch.Tensor, head_size: int) -> bool:
    """Whether there is a GPU (NVIDIA A100 or newer), half precision and a head size for `varlen_attention`."""
    if like.device.type != "cuda" or like.dtype not in (torch.float16, torch.bfloat16):
        return False
    if head_size % 8 or head_size > 256:
        return False
    is_available = torch.backends.cuda.is_flash_attention_available()
    return is_available and torch.cuda.get_device_capability(like.device) >= (8, 0)


def varlen_attention(
    query_XND: torch.Tensor,
    key_XND: torch.Tensor,
    value_XND: torch.Tensor,
    row_offsets: torch.Tensor,
    max_length: int,
    causal: bool,
    dropout_rate: float = 0.0,
) -> torch.Tensor:
    """Compute `attention` within each row, for rows that follow each other without padding -> [X, N, D].

    This is FlashAttention (Dao 2023), called directly: PyTorch's nested tensors take milliseconds of CPU time per
    layer, and its `varlen_attn` has no dropout. `row_offsets`, int32 [B + 1], has the index of each row's first token,
    then the number of tokens.
    """
    return torch.ops.aten._flash_attention_forward(
        query_XND, key_XND, value_XND, row_offsets, row_offsets, max_length, max_length, dropout_rate, causal, False
    )[0]

"""BERT in plain PyTorch: token ids in, hidden states out (Devlin et al. 2019, arXiv 1810.04805, section 3).

Read the classes from top to bottom, as the data flows: embeddings, L layers of self-attention and feed-forward, pooler.
A `Trace` records intermediate tensors and `Interventions` change them. The output layers are in `nn/heads.py`;
`nn/fast` computes the same in less time.

Shape legend: B batch, T tokens, H hidden, N heads, D head size (H = N * D), L layers, R selected positions, X any
leading shape, C the queries, keys and values of all heads side by side (C = 3 * H).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ACTIVATIONS, ModelConfig
from bertlab.config.errors import TextError
from bertlab.nn.embedding_table import make_embedding
from bertlab.nn.heads import TaskHeads
from bertlab.nn.interventions import NO_INTERVENTIONS, Interventions
from bertlab.nn.trace import NO_TRACE, Trace


class BertInput(Protocol):
    """The input of BERT: a batch of token sequences."""

    input_ids_BT: torch.Tensor  # int64
    token_type_ids_BT: torch.Tensor  # 0 for tokens of sentence A, 1 for those of sentence B
    attention_mask_BT: torch.Tensor | None  # True for tokens, False for padding; None if there is no padding
    lengths: list[int]  # number of tokens in each row; used only if there is a mask


class Embeddings(nn.Module):
    """Sum of token, position and token type embeddings, normalised (Devlin et al. 2019, section 3, figure 2)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.token = make_embedding(config.vocab_size, config.hidden_size)
        self.position = make_embedding(config.max_positions, config.hidden_size)
        self.token_type = make_embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.first_position = config.first_position

    def forward(
        self, input_ids_BT: torch.Tensor, token_type_ids_BT: torch.Tensor, trace: Trace = NO_TRACE
    ) -> torch.Tensor:
        """Embed token ids -> hidden_BTH. Raises TextError if there are more tokens than positions."""
        first, T = self.first_position, input_ids_BT.shape[1]
        if (limit := self.position.num_embeddings - first) < T:
            raise TextError("text-too-long", tokens=T, limit=limit)
        token_BTH = self.token(input_ids_BT)
        position_TH = self.position.weight[first : first + T]
        token_type_BTH = self.token_type(token_type_ids_BT)
        hidden_BTH = self.norm(token_BTH + token_type_BTH + position_TH)
        trace.record("embeddings", token_BTH, position_TH.expand_as(token_BTH), token_type_BTH, hidden_BTH)
        return hidden_BTH


class SelfAttention(nn.Module):
    """Multi-head self-attention (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.num_heads = config.num_heads
        self.dropout = nn.Dropout(config.attention_dropout)
        # One matrix [3H, H] with the weights of query, key and value, in this order; checkpoints store three matrices.
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        layer: int = 0,
        trace: Trace = NO_TRACE,
        interventions: Interventions = NO_INTERVENTIONS,
    ) -> torch.Tensor:
        """Compute softmax(query key^T / sqrt(D) + mask) value, then the output projection -> [B, T, H]."""
        query_BNTD, key_BNTD, value_BNTD = self.split_heads(self.qkv(hidden_BTH))
        scores_BNTT = (query_BNTD * query_BNTD.shape[-1] ** -0.5) @ key_BNTD.transpose(-1, -2)
        probs_BNTT = torch.softmax(scores_BNTT if mask is None else scores_BNTT + mask, dim=-1)
        probs_BNTT = interventions.replace_attention_rows(layer, probs_BNTT)
        heads_BNTD = interventions.scale_heads(layer, self.dropout(probs_BNTT) @ value_BNTD)
        if trace.is_recording("scores"):
            trace.record("scores", scores_BNTT if mask is None else scores_BNTT.masked_fill(mask < 0, float("-inf")))
        kinds = ("query", "key", "value", "probs", "head_outputs")
        for kind, tensor in zip(kinds, (query_BNTD, key_BNTD, value_BNTD, probs_BNTT, heads_BNTD), strict=True):
            trace.record(kind, tensor)
        return self.out(heads_BNTD.transpose(1, 2).flatten(2))

    def split_heads(self, qkv_BTC: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Split the projections of all heads, [B, T, C], into query, key and value, each [B, N, T, D]."""
        qkv_BT3ND = qkv_BTC.unflatten(-1, (3, self.num_heads, -1))
        return qkv_BT3ND.permute(2, 0, 3, 1, 4).unbind(0)


class FeedForward(nn.Module):
    """Linear, GELU, linear, [X, H] -> [X, H] (Vaswani et al. 2017, section 3.3; Hendrycks and Gimpel 2016)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.gelu_approximation = ACTIVATIONS[config.activation]

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(hidden_XH), approximate=self.gelu_approximation))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward; dropout, residual sum and LayerNorm follow each of the two."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        layer: int = 0,
        trace: Trace = NO_TRACE,
        interventions: Interventions = NO_INTERVENTIONS,
    ) -> torch.Tensor:
        """Compute the output, [B, T, H]; the arguments are those of `SelfAttention`."""
        attended_BTH = self.attention(hidden_BTH, mask, layer=layer, trace=trace, interventions=interventions)
        return self.complete_layer(hidden_BTH, attended_BTH)

    def complete_layer(self, hidden_XH: torch.Tensor, attended_XH: torch.Tensor) -> torch.Tensor:
        """Compute the layer's output, [X, H], from the layer's input and the output of its attention."""
        hidden_XH = self.attention_norm(hidden_XH + self.dropout(attended_XH))
        return self.feed_forward_norm(hidden_XH + self.dropout(self.feed_forward(hidden_XH)))


class Encoder(nn.Module):
    """A stack of L layers."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_layers))

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        trace: Trace = NO_TRACE,
        interventions: Interventions = NO_INTERVENTIONS,
    ) -> torch.Tensor:
        """Run the embeddings, [B, T, H], through all layers -> the last layer's output, [B, T, H]."""
        hidden_BTH = interventions.patch(0, hidden_BTH)
        trace.record("hidden", hidden_BTH)
        for layer, encoder_layer in enumerate(self.layers):
            hidden_BTH = encoder_layer(hidden_BTH, mask, layer=layer, trace=trace, interventions=interventions)
            hidden_BTH = interventions.patch(layer + 1, hidden_BTH)
            trace.record("hidden", hidden_BTH)
        return hidden_BTH


class Pooler(nn.Module):
    """tanh(W h + b) of each row's first hidden state, [B, T, H] -> [B, H] (`BertModel` in google-research/bert)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.dense(hidden_BTH[:, 0]))


@dataclass(frozen=True)
class BertOutput:
    hidden_BTH: torch.Tensor  # the last layer's output; undefined at padding positions
    pooler: nn.Module | None  # None if the model has none
    pooled_position_B: torch.Tensor | int = 0  # the position in each row that the pooler reads

    @cached_property
    def pooled_BH(self) -> torch.Tensor:
        row_B = torch.arange(len(self.hidden_BTH), device=self.hidden_BTH.device)
        return self.pooler(self.hidden_BTH[row_B, self.pooled_position_B, None])


class Bert(TaskHeads):
    """BERT with random weights and the output layers named in `heads`, which are keys of `nn.heads.HEADS`."""

    pooler: nn.Module

    def __init__(self, config: ModelConfig, heads: Iterable[str] = ()):
        super().__init__()
        self.config = config
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.build_encoder()
        self.build_heads(heads)
        self.apply(self.initialise_weights)

    def build_encoder(self) -> None:
        """Create the embeddings, the layers and the pooler; `nn/variants` has those of other families."""
        self.embeddings, self.encoder = Embeddings(self.config), Encoder(self.config)
        self.pooler = Pooler(self.config)

    def forward(
        self, batch: BertInput, *, trace: Trace | None = None, interventions: Interventions | None = None
    ) -> BertOutput:
        """Encode a batch. Raises TextError (more tokens than positions) and InterventionError."""
        trace, interventions = trace or NO_TRACE, interventions or NO_INTERVENTIONS
        num_rows, num_tokens = batch.input_ids_BT.shape
        interventions.check(self.config, num_tokens, num_rows)
        hidden_BTH = self.dropout(self.embeddings(batch.input_ids_BT, batch.token_type_ids_BT, trace))
        mask = self.make_mask(batch, hidden_BTH)
        hidden_BTH = self.encoder(hidden_BTH, mask, trace=trace, interventions=interventions)
        return BertOutput(hidden_BTH, self.pooler, self.find_pooled_positions(batch))

    def make_mask(self, batch: BertInput, hidden_BTH: torch.Tensor) -> torch.Tensor | None:
        return make_additive_mask(batch.attention_mask_BT, hidden_BTH, causal=self.config.left_to_right)

    def encode_positions(self, batch: BertInput, positions_R: torch.Tensor) -> torch.Tensor:
        """Compute the last layer's output at `positions_R`, indices of the flattened B * T -> hidden_RH."""
        return self(batch).hidden_BTH.flatten(0, 1).index_select(0, positions_R)

    def pool(self, batch: BertInput) -> torch.Tensor:
        """Compute the pooler's output for each row of a batch -> [B, H]."""
        B, T = batch.input_ids_BT.shape
        row_start_B = torch.arange(B, device=batch.input_ids_BT.device) * T
        return self.pooler(self.encode_positions(batch, row_start_B + self.find_pooled_positions(batch))[:, None])

    def find_pooled_positions(self, batch: BertInput) -> torch.Tensor | int:
        """Find the position that the pooler reads: 0, where [CLS] is; with causal attention, each row's last token."""
        if not self.config.left_to_right:
            return 0
        if batch.attention_mask_BT is None:
            return batch.input_ids_BT.shape[1] - 1
        return (batch.attention_mask_BT.sum(1) - 1).clamp(min=0)

    def initialise_weights(self, module: nn.Module) -> None:
        """Draw weights from a truncated normal, set biases to zero (`create_initializer` in google-research/bert)."""
        if isinstance(module, nn.Linear | nn.Embedding):
            std = self.config.initializer_range
            nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def make_additive_mask(
    attention_mask_BT: torch.Tensor | None, hidden_BTH: torch.Tensor, *, causal: bool = False
) -> torch.Tensor | None:
    """Make a mask to add to attention scores: 0 where a query may attend to a key, elsewhere the lowest finite number.

    Args:
        attention_mask_BT: True for tokens, False for padding; None if there is no padding.
        causal: whether a token attends only to itself and to earlier tokens (the paper's table 5, section 5.1).

    >>> make_additive_mask(torch.tensor([[True, False]]), torch.zeros(1, 2, 4, dtype=torch.float16))
    tensor([[[[    -0., -65504.]]]], dtype=torch.float16)
    """
    mask, lowest = None, torch.finfo(hidden_BTH.dtype).min  # with -inf, a row that is only padding would become NaN
    if attention_mask_BT is not None:
        mask = ((~attention_mask_BT.bool()).to(hidden_BTH.dtype) * lowest)[:, None, None, :]
    if causal:
        T = hidden_BTH.shape[1]
        later_11TT = torch.full((T, T), lowest, dtype=hidden_BTH.dtype, device=hidden_BTH.device).triu(1)[None, None]
        mask = later_11TT if mask is None else torch.minimum(mask, later_11TT)  # their sum could be -inf
    return mask

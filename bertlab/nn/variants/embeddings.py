"""Embedding layers of other model families.

Shape legend: B batch, T tokens, H hidden, E width of the token embeddings.
"""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.config.errors import TextError
from bertlab.nn.embedding_table import make_embedding
from bertlab.nn.trace import NO_TRACE, Trace


class SumEmbeddings(nn.Module):
    """BERT's embeddings with another width (Lan et al. 2019, arXiv 1909.11942, section 3.1) or number of token types.

    There may be one token type, which all tokens have, or none. The trace records four tensors, as in
    `bert.Embeddings`.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        E, H = config.embedding_width, config.hidden_size
        self.token = make_embedding(config.vocab_size, E)
        self.position = make_embedding(config.max_positions, E)
        self.token_type = make_embedding(config.type_vocab_size, E) if config.type_vocab_size else None
        self.norm = nn.LayerNorm(E, config.layer_norm_eps)
        self.projection = nn.Linear(E, H) if E != H or config.family.always_projects else None
        self.first_position = config.first_position

    def forward(
        self, input_ids_BT: torch.Tensor, token_type_ids_BT: torch.Tensor, trace: Trace = NO_TRACE
    ) -> torch.Tensor:
        """Embed token ids -> hidden_BTH. Raises TextError if there are more tokens than positions."""
        first_row, T = self.first_position, input_ids_BT.shape[1]
        if (limit := self.position.num_embeddings - first_row) < T:
            raise TextError("text-too-long", tokens=T, limit=limit)
        token_BTE = self.embed_tokens(input_ids_BT)
        position_TE = self.position.weight[first_row : first_row + T]
        if self.token_type is None:
            token_type_BTE = torch.zeros_like(token_BTE)
        else:  # with a single token type, all tokens have type 0
            token_type_BTE = self.token_type(token_type_ids_BT.clamp(max=self.token_type.num_embeddings - 1))
        normalised_BTE = self.norm(token_BTE + token_type_BTE + position_TE)
        trace.record("embeddings", token_BTE, position_TE.expand_as(token_BTE), token_type_BTE, normalised_BTE)
        return self.project(normalised_BTE)

    def embed_tokens(self, input_ids_BT: torch.Tensor) -> torch.Tensor:
        return self.token(input_ids_BT)

    def project(self, normalised_BTE: torch.Tensor) -> torch.Tensor:
        return normalised_BTE if self.projection is None else self.projection(normalised_BTE)


class TokenEmbeddings(nn.Module):
    """Normalised token embeddings, for models with rotary positions (Warner et al. 2024, arXiv 2412.13663)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.token = make_embedding(config.vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps, bias=config.family.has_biases)
        self.max_tokens = config.max_tokens

    def forward(
        self, input_ids_BT: torch.Tensor, token_type_ids_BT: torch.Tensor, trace: Trace = NO_TRACE
    ) -> torch.Tensor:
        """Embed token ids -> hidden_BTH; token types are ignored. Raises TextError."""
        if (T := input_ids_BT.shape[1]) > self.max_tokens:
            raise TextError("text-too-long", tokens=T, limit=self.max_tokens)
        token_BTH = self.token(input_ids_BT)
        hidden_BTH = self.norm(token_BTH)
        # The zeros stand for the position and token type embeddings, which this model family does not have.
        trace.record("embeddings", token_BTH, *[torch.zeros_like(token_BTH)] * 2, hidden_BTH)
        return hidden_BTH


class ScaleShift(nn.Module):
    """`hidden * weight + bias`, which MobileBERT has instead of LayerNorm (Sun et al. 2020, arXiv 2004.02984,
    section 3.4)."""

    def __init__(self, size: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden * self.weight + self.bias


class TrigramEmbeddings(SumEmbeddings):
    """Position and token type embeddings, plus a projection of the embeddings of the next, current and previous token.

    Source: Sun et al. 2020 (arXiv 2004.02984), section 3.3.
    """

    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        E, H = config.embedding_width, config.hidden_size
        self.token = make_embedding(config.vocab_size, E)
        self.position = make_embedding(config.max_positions, H)
        self.token_type = make_embedding(config.type_vocab_size, H)
        self.norm = ScaleShift(H)
        self.projection = nn.Linear(3 * E, H)
        self.first_position = config.first_position

    def embed_tokens(self, input_ids_BT: torch.Tensor) -> torch.Tensor:
        token_BTE = self.token(input_ids_BT)
        next_BTE, previous_BTE = F.pad(token_BTE[:, 1:], (0, 0, 0, 1)), F.pad(token_BTE[:, :-1], (0, 0, 1, 0))
        return self.projection(torch.cat([next_BTE, token_BTE, previous_BTE], dim=-1))

    def project(self, normalised_BTH: torch.Tensor) -> torch.Tensor:
        return normalised_BTH

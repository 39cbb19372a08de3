"""Embeddings of the families: factorised, and without token types.

Shape legend: B batch, T tokens, H hidden, E width of the token embeddings.
"""

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.config.errors import TextError
from bertlab.nn.bert import make_embedding
from bertlab.nn.trace import NO_TRACE, Trace


class SumEmbeddings(nn.Module):
    """BERT's embeddings, with two changes that a configuration can make.

    The token embeddings are factorised if they are narrower than the hidden states: a projection follows the LayerNorm
    (Lan et al. 2019, arXiv 1909.11942, section 3.1). There may be one token type, which all tokens have, or none.
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
        """Embed token ids -> hidden_BTH.

        Raises:
            TextError: there are more tokens than positions.
        """
        first, T = self.first_position, input_ids_BT.shape[1]
        if (limit := self.position.num_embeddings - first) < T:
            raise TextError("text-too-long", tokens=T, limit=limit)
        token_BTE = self.token(input_ids_BT)
        position_TE = self.position.weight[first : first + T]
        if self.token_type is None:
            token_type_BTE = torch.zeros_like(token_BTE)
        else:  # with a single token type, both texts of a pair have it
            token_type_BTE = self.token_type(token_type_ids_BT.clamp(max=self.token_type.num_embeddings - 1))
        sum_BTE = self.norm(token_BTE + token_type_BTE + position_TE)
        for tensor_BTE in (token_BTE, position_TE.expand_as(token_BTE), token_type_BTE, sum_BTE):
            trace.record("embeddings", tensor_BTE)
        return sum_BTE if self.projection is None else self.projection(sum_BTE)

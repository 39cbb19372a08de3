"""Token + position + token type, normalised: what the first block reads (Devlin et al. 2019, section 3, figure 2).

Knows ids, not words.

Shape legend: B batch, T tokens, H hidden.
"""

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.config.errors import TextError
from bertlab.nn.fast.dropout import Dropout
from bertlab.nn.trace import Trace


class Embeddings(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_positions, config.hidden_size)
        self.token_type = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout)

    def forward(
        self, input_ids_BT: torch.Tensor, token_type_ids_BT: torch.Tensor, trace: Trace | None = None
    ) -> torch.Tensor:
        """Ids int64 [B, T] -> hidden_BTH. Raises TextError for more tokens than there are positions."""
        T = input_ids_BT.shape[1]
        if self.position.num_embeddings < T:
            raise TextError(f"{T} tokens are too many: this model has {self.position.num_embeddings} positions")
        token_BTH = self.token(input_ids_BT)
        position_TH = self.position.weight[:T]
        token_type_BTH = self.token_type(token_type_ids_BT)
        hidden_BTH = self.norm(token_BTH + token_type_BTH + position_TH)
        if trace is not None:
            for tensor_BTH in (token_BTH, position_TH.expand_as(token_BTH), token_type_BTH, hidden_BTH):
                trace.record("embeddings", tensor_BTH)
        return self.dropout(hidden_BTH)

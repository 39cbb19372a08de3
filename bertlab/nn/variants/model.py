"""`FamilyBert`: a `Bert` that builds each part as the configuration of its family says.

Shape legend: B batch, T tokens, H hidden.
"""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert, Embeddings, Encoder, EncoderLayer, Pooler
from bertlab.nn.variants.embeddings import SumEmbeddings

# Names of `Family.pooler_activation`.
POOLER_ACTIVATIONS = {"tanh": torch.tanh, "relu": F.relu, "gelu": F.gelu}


class SharedEncoder(Encoder):
    """Layers of which consecutive ones are the same module (Lan et al. 2019, arXiv 1909.11942, section 3.1)."""

    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        groups = [EncoderLayer(config) for _ in range(config.num_layer_groups)]
        self.layers = nn.ModuleList(groups[config.weight_layer(layer)] for layer in range(config.num_layers))


class FamilyPooler(Pooler):
    """A pooler with the activation of its family."""

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.activation = POOLER_ACTIVATIONS[config.family.pooler_activation]

    def forward(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return self.activation(self.dense(hidden_BTH[:, 0]))


def _make_sum_embeddings(config: ModelConfig) -> nn.Module:
    is_bert = config.is_like_bert and config.type_vocab_size > 1
    return Embeddings(config) if is_bert else SumEmbeddings(config)


EMBEDDINGS = {"sum": _make_sum_embeddings}
"""Kind of embeddings -> a function that makes them for a configuration."""

ENCODERS = {"post-norm": lambda config: SharedEncoder(config) if config.num_layer_groups else Encoder(config)}
"""Kind of layers -> a function that makes the encoder for a configuration."""


class FamilyBert(Bert):
    """A `Bert` with the parts of its family; for the family BERT, these are the parts of `nn/bert.py`."""

    def build_encoder(self) -> None:
        family = self.config.family
        self.embeddings = EMBEDDINGS[family.embeddings](self.config)
        self.encoder = ENCODERS[family.layers](self.config)
        self.pooler = self.make_pooler()

    def make_pooler(self) -> Pooler:
        """Make a pooler with weights that are not yet initialised."""
        return Pooler(self.config) if self.config.family.pooler_activation == "tanh" else FamilyPooler(self.config)

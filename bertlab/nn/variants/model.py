"""`FamilyBert`: a `Bert` that builds the embeddings, layers and pooler of its model family (BERT, ALBERT, ...).

Shape legend: B batch, T tokens, H hidden, L layers; X any leading shape.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.activation import make_activation
from bertlab.nn.bert import Bert, BertInput, BertOutput, Embeddings, Encoder, EncoderLayer, Pooler
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace
from bertlab.nn.variants.bottleneck import BottleneckEncoder
from bertlab.nn.variants.embeddings import SumEmbeddings, TokenEmbeddings, TrigramEmbeddings
from bertlab.nn.variants.layer_masks import LayerMaskEncoder
from bertlab.nn.variants.pre_norm import PreNormEncoder
from bertlab.nn.variants.pruned import remove_pruned_heads
from bertlab.nn.variants.sparse import BlockEncoder, GlobalMask, WindowEncoder, find_global_tokens

# Value of `Family.pooler_activation` -> function.
POOLER_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "tanh": torch.tanh,
    "relu": F.relu,
    "gelu": F.gelu,
}


class SharedEncoder(Encoder):
    """A stack of layers in which consecutive layers share weights (Lan et al. 2019, arXiv 1909.11942, section 3.1)."""

    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        groups = [EncoderLayer(config) for _ in range(config.num_layer_groups)]
        self.layers = nn.ModuleList(groups[config.find_weight_layer(layer)] for layer in range(config.num_layers))


class FamilyPooler(Pooler):
    """A pooler with the activation of its family and, if the family has one, a LayerNorm; [B, T, H] -> [B, H]."""

    def __init__(self, config: ModelConfig):
        nn.Module.__init__(self)
        family = config.family
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=family.has_biases)
        self.activation = POOLER_ACTIVATIONS[family.pooler_activation]
        norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps, bias=family.has_biases)
        self.norm = norm if family.pooler_has_norm else nn.Identity()

    def forward(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return self.norm(self.activation(self.dense(hidden_BTH[:, 0])))


class FirstTokenPooler(nn.Module):
    """A pooler without a linear layer: the hidden state of the first token, [B, T, H] -> [B, H]."""

    def forward(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return hidden_BTH[:, 0]


@dataclass(frozen=True)
class MeanOutput(BertOutput):
    attention_mask_BT: torch.Tensor | None = None

    @cached_property
    def pooled_BH(self) -> torch.Tensor:
        return self.pooler(average_tokens(self.hidden_BTH, self.attention_mask_BT))


def average_tokens(hidden_BTH: torch.Tensor, attention_mask_BT: torch.Tensor | None = None) -> torch.Tensor:
    """Compute the mean of the hidden states of all tokens -> [B, 1, H]."""
    if attention_mask_BT is None:
        return hidden_BTH.mean(1, keepdim=True)
    mask_BT1 = attention_mask_BT[..., None].bool()
    return hidden_BTH.masked_fill(~mask_BT1, 0.0).sum(1, keepdim=True) / mask_BT1.sum(1, keepdim=True).clamp(min=1)


def _make_sum_embeddings(config: ModelConfig) -> nn.Module:
    is_bert = config.is_like_bert and config.type_vocab_size > 1
    return Embeddings(config) if is_bert else SumEmbeddings(config)


EMBEDDINGS = {"sum": _make_sum_embeddings, "token": TokenEmbeddings, "trigram": TrigramEmbeddings}

ENCODERS = {
    "post-norm": lambda config: SharedEncoder(config) if config.num_layer_groups else Encoder(config),
    "pre-norm": PreNormEncoder,
    "bottleneck": BottleneckEncoder,
    "window": WindowEncoder,
    "block": BlockEncoder,
}


def has_fast_layers(encoder: Encoder) -> bool:
    """Whether `nn.fast` can compute the layers; if not, the encoder's method `run_from` does."""
    return not isinstance(encoder, LayerMaskEncoder)


class FamilyBert(Bert):
    """A `Bert` with the embeddings, layers and pooler of its family; for the family BERT, those of `nn/bert.py`."""

    def build_encoder(self) -> None:
        family = self.config.family
        self.embeddings = EMBEDDINGS[family.embeddings](self.config)
        self.encoder = ENCODERS[family.layers](self.config)
        remove_pruned_heads(self.encoder.layers, self.config)
        self.pooler = self.make_pooler()

    def make_pooler(self) -> nn.Module:
        """Make the pooler; the caller initialises its weights."""
        if not self.config.has_pooler_layer:
            return FirstTokenPooler()
        family = self.config.family
        activation_varies = any(names.pooler_uses_feed_forward_activation for names in family.heads.values())
        is_bert_pooler = family.pooler_activation == "tanh" and not activation_varies
        return Pooler(self.config) if is_bert_pooler else FamilyPooler(self.config)

    def build_heads(self, names: Iterable[str]) -> None:
        super().build_heads(names)
        self._choose_pooler_activation()

    def add_heads(self, names: Iterable[str]) -> None:
        super().add_heads(names)
        self._choose_pooler_activation()

    def _choose_pooler_activation(self) -> None:
        """Some output layers require that the pooler has the activation of the feed-forward layers."""
        family_heads = self.config.family.heads
        own_heads = [family_heads[name] for name in self.head_names if name in family_heads]
        if any(names.pooler_uses_feed_forward_activation for names in own_heads):
            self.pooler.activation = make_activation(self.config.activation)

    def forward(
        self, batch: BertInput, *, trace: Trace | None = None, interventions: Interventions | None = None
    ) -> BertOutput:
        output = super().forward(batch, trace=trace, interventions=interventions)
        if self.config.pooling == "mean":
            return MeanOutput(output.hidden_BTH, self.pooler, attention_mask_BT=batch.attention_mask_BT)
        return output

    def make_mask(self, batch: BertInput, hidden_BTH: torch.Tensor) -> torch.Tensor | GlobalMask | None:
        mask = super().make_mask(batch, hidden_BTH)
        if not isinstance(self.encoder, WindowEncoder):
            return mask
        separator_id = self.config.sparse.separator_id
        return GlobalMask(mask, find_global_tokens(batch.input_ids_BT, separator_id, self.head_names))

    def pool(self, batch: BertInput) -> torch.Tensor:
        return self(batch).pooled_BH if self.config.pooling == "mean" else super().pool(batch)

    def normalise_layers(self, hidden_LXH: torch.Tensor) -> torch.Tensor:
        """Apply the final LayerNorm, which only a `PreNormEncoder` has, to the hidden states of all layers.

        The last layer's output, as the encoder returns it, is already normalised.
        """
        if not isinstance(self.encoder, PreNormEncoder):
            return hidden_LXH
        return torch.cat([self.encoder.norm(hidden_LXH[:-1]), hidden_LXH[-1:]])

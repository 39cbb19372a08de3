"""The configuration of a model, and its conversion from and to the fields of a Hugging Face `config.json`.

This module uses neither tensors nor files.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bertlab.config import family_rows  # noqa: F401  (it registers the families)
from bertlab.config.errors import CheckpointError
from bertlab.config.families import BERT, FAMILIES, OTHER_FAMILIES, Family
from bertlab.config.rotary import RotaryAttention, make_rotary_fields, read_rotary
from bertlab.config.sparse import SparseAttention, read_sparse

# Field of `ModelConfig` -> field of a Hugging Face BertConfig; `Family.hf_fields` has the names in other families.
HF_FIELDS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_positions": "max_position_embeddings",
    "type_vocab_size": "type_vocab_size",
    "activation": "hidden_act",
    "layer_norm_eps": "layer_norm_eps",
    "initializer_range": "initializer_range",
    "hidden_dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "pad_token_id": "pad_token_id",
    "left_to_right": "is_decoder",
}
# Fields that `from_hf` requires, because they have no sensible default.
REQUIRED_FIELDS = ("vocab_size", "hidden_size", "num_layers", "num_heads", "intermediate_size")

# Name in config.json -> `approximate` argument of torch's GELU: the exact form with erf, or the tanh approximation of
# google-research/bert.
ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}


@dataclass(frozen=True)
class ModelConfig:
    """The configuration of a model (Devlin et al. 2019, section 3 and appendix A.2).

    The defaults are those of BERT-base (uncased).

    >>> ModelConfig(hidden_size=256, num_layers=4, num_heads=4, intermediate_size=1024).head_size
    64
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_layers: int = 12
    num_heads: int = 12  # attention heads per layer; must divide the hidden size
    intermediate_size: int = 3072  # width of the feed-forward layers
    max_positions: int = BERT.max_positions
    """Rows of the position embeddings; `max_tokens` is the maximum number of tokens in an input."""
    type_vocab_size: int = BERT.type_vocab_size
    """Number of token type embeddings; 2 to distinguish sentence A from sentence B."""
    activation: str = BERT.activation  # activation of the feed-forward layers, a key of `ACTIVATIONS`
    layer_norm_eps: float = BERT.layer_norm_eps
    initializer_range: float = 0.02  # standard deviation of randomly initialised weights
    hidden_dropout: float = 0.1
    """Dropout rate of the embeddings and of the two outputs (attention and feed-forward) of every layer."""
    attention_dropout: float = 0.1  # dropout rate of the attention probabilities
    pad_token_id: int = BERT.pad_token_id
    left_to_right: bool = False
    """Whether attention is causal: a token attends only to itself and earlier tokens (the paper's section 5.1)."""
    labels: tuple[str, ...] = ()  # the labels of a classification or tagging layer, in the order of its outputs
    pruned_heads: tuple[tuple[int, int], ...] = ()  # (layer, head) pairs of pruned heads, which have no weights
    embedding_size: int | None = None
    """Width of the token embeddings, which are projected to the hidden size; None if they have the hidden size."""
    num_layer_groups: int | None = None
    """Number of groups of consecutive layers that share their weights (ALBERT); None if no weights are shared."""
    bottleneck_size: int | None = None
    """Width of attention and feed-forward layers in MobileBERT; None if it is the hidden size."""
    num_feed_forwards: int = 1  # number of feed-forward networks in a layer
    has_pooler_layer: bool = True
    """Whether the pooler has a linear layer and an activation; without them, the pooler returns what it reads."""
    pooling: str = "cls"
    """What the pooler reads: "cls", the hidden state of the first token, or "mean", the mean over all tokens."""
    rotary: RotaryAttention | None = None
    """The settings of rotary positions and local attention (ModernBERT); None for BERT's position embeddings."""
    sparse: SparseAttention | None = None
    """The settings of sparse attention (Longformer, BigBird); None if tokens attend to all tokens."""
    model_type: str = BERT.model_type  # the model family (BERT, RoBERTa, ALBERT, ...), a key of `families.FAMILIES`

    def __post_init__(self):
        width = self.bottleneck_size or self.hidden_size
        if self.num_heads < 1 or width % self.num_heads:
            raise CheckpointError("heads-do-not-divide", hidden=width, heads=self.num_heads)
        if self.pooling not in ("cls", "mean"):
            expected = '"cls" or "mean"'
            raise CheckpointError(
                "config-field-unsupported", name="classifier_pooling", value=str(self.pooling)[:40], expected=expected
            )
        if self.activation not in {*ACTIVATIONS, *self.family.extra_activations}:
            raise CheckpointError("activation-unknown", activation=self.activation, activations=list(ACTIVATIONS))

    @property
    def family(self) -> Family:
        return FAMILIES[self.model_type]

    @property
    def head_size(self) -> int:
        return (self.bottleneck_size or self.hidden_size) // self.num_heads

    @property
    def embedding_width(self) -> int:
        """`embedding_size` or, if it is None, the hidden size."""
        return self.embedding_size or self.hidden_size

    @property
    def first_position(self) -> int:
        """The row of the position embeddings that the first token uses."""
        return self.pad_token_id + 1 if self.family.positions_after_padding else self.family.first_position

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens in an input."""
        return self.max_positions - self.first_position

    @property
    def can_read_pairs(self) -> bool:
        """Whether an input can consist of two texts."""
        return self.type_vocab_size > 1 or not self.family.pairs_need_token_types

    @property
    def is_like_bert(self) -> bool:
        """Whether embeddings, layers and output layers are those of BERT, except for the number of token types."""
        names = ("embeddings", "layers", "pooler_activation")
        has_same_parts = all(getattr(self.family, name) == getattr(BERT, name) for name in names)
        has_full_embeddings, shares_layers = self.embedding_size is None, self.num_layer_groups is not None
        return has_same_parts and has_full_embeddings and not shares_layers and self.type_vocab_size > 0

    def find_weight_layer(self, layer: int) -> int:
        """Return the index under which a checkpoint stores the weights of a layer; it may be shared by several layers.

        Source: `AlbertTransformer` in `transformers`.

        >>> ModelConfig(num_layers=4, num_layer_groups=2).find_weight_layer(3)
        1
        """
        return layer * self.num_layer_groups // self.num_layers if self.num_layer_groups else layer

    @property
    def hf_fields(self) -> dict[str, str]:
        """Field of this class -> field of the family's `config.json`."""
        return select_hf_fields(self.family)

    def replace(self, **changes) -> "ModelConfig":
        return replace(self, **changes)

    def to_hf(self) -> dict:
        """Return the fields of `config.json`, under the names of `transformers.BertConfig` or of the family's class.

        `pruned_heads` is included only if heads are pruned, in the format that `transformers` reads before version 5.

        >>> ModelConfig(pruned_heads=((0, 3), (2, 1), (2, 11))).to_hf()["pruned_heads"]
        {'0': [3], '2': [1, 11]}
        """
        fields = {hf: getattr(self, name) for name, hf in self.hf_fields.items()} | dict(self.family.fixed_fields)
        if self.rotary:
            fields |= make_rotary_fields(self.rotary, self.num_layers)
        if self.sparse:
            fields |= self.sparse.to_hf()
        if self.labels:
            fields["id2label"] = dict(enumerate(self.labels))
            fields["label2id"] = {label: index for index, label in enumerate(self.labels)}
        for layer, head in sorted(self.pruned_heads):
            fields.setdefault("pruned_heads", {}).setdefault(str(layer), []).append(head)
        return fields

    @classmethod
    def from_hf(cls, fields: Mapping) -> "ModelConfig":
        """Read the `config.json` of a checkpoint of any family in `families.FAMILIES`."""
        model_type = fields.get("model_type", BERT.model_type)
        family = FAMILIES.get(model_type) if isinstance(model_type, str) else None
        if family is None:
            if error_id := OTHER_FAMILIES.get(str(model_type)):
                raise CheckpointError(error_id, type=str(model_type))
            raise CheckpointError("model-type-unknown", type=str(model_type), types=list(FAMILIES))
        if quantisation := fields.get("quantization_config"):
            method = quantisation.get("quant_method") if isinstance(quantisation, dict) else None
            raise CheckpointError("config-quantised", method=str(method or "?")[:40])
        position = fields.get("position_embedding_type", family.position_embeddings)
        if family.position_embeddings and position != family.position_embeddings:
            raise CheckpointError(
                "position-embeddings-unknown", type=str(position), expected=family.position_embeddings
            )
        for name, value in family.fixed_fields.items():
            if fields.get(name, value) != value:
                found_value = json.dumps(fields[name])[:40]
                raise CheckpointError(
                    "config-field-unsupported", name=name, value=found_value, expected=json.dumps(value)
                )
        hf_fields = select_hf_fields(family)
        missing_fields = [hf_fields[name] for name in REQUIRED_FIELDS if not _is_integer(fields.get(hf_fields[name]))]
        if missing_fields:
            raise CheckpointError("config-sizes-missing", fields=missing_fields)
        # The values in the file replace the defaults of the family.
        values = {field: value for field, value in vars(family).items() if field in cls.__dataclass_fields__}
        values |= {field: fields[hf] for field, hf in hf_fields.items() if fields.get(hf) is not None}
        if family.has_rotary_fields:
            values |= read_rotary(fields)
        values |= read_sparse(family.layers, fields, values["num_layers"])
        config = cls(**values, labels=_read_labels(fields.get("id2label")))
        return config.replace(pruned_heads=_read_pruned_heads(fields.get("pruned_heads") or {}, config))


def select_hf_fields(family: Family) -> dict[str, str]:
    """Return the fields of `ModelConfig` that a family's `config.json` has, with their names there."""
    return {name: hf for name, hf in {**HF_FIELDS, **family.hf_fields}.items() if hf}


def _is_integer(value: object) -> bool:
    """Whether a value is an integer and not a bool, which Python counts as an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def _read_labels(names: object) -> tuple[str, ...]:
    """Return the labels of an `id2label` table, {index as text: label}, in order; () if `names` is not a dictionary.

    >>> _read_labels({"1": "good", "0": "bad"})
    ('bad', 'good')
    """
    if not isinstance(names, dict):
        return ()
    labels_by_index = {str(index): str(label) for index, label in names.items()}
    if labels_by_index.keys() != {str(index) for index in range(len(labels_by_index))}:
        raise CheckpointError("config-labels-misnumbered", numbers=list(labels_by_index))
    return tuple(labels_by_index[str(index)] for index in range(len(labels_by_index)))


def _read_pruned_heads(table: Any, config: ModelConfig) -> tuple[tuple[int, int], ...]:
    """Return the sorted (layer, head) pairs of a `pruned_heads` table, {layer: [heads]}."""
    try:
        pairs = sorted({(int(layer), head) for layer, heads in table.items() for head in heads})
    except (AttributeError, TypeError, ValueError):
        raise CheckpointError("config-pruned-heads-malformed") from None
    for layer, head in pairs:
        if not (0 <= layer < config.num_layers and _is_integer(head) and 0 <= head < config.num_heads):
            raise CheckpointError("config-pruned-head-missing", layer=layer, head=str(head))
    pruned_layers = [layer for layer, _ in pairs]
    for layer in set(pruned_layers):
        if pruned_layers.count(layer) == config.num_heads:
            raise CheckpointError("config-pruned-layer-empty", layer=layer)
    return tuple(pairs)

"""The configuration of a model, and how it is written in a Hugging Face `config.json`.

Knows no tensor and no file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bertlab.config.errors import CheckpointError
from bertlab.config.families import BERT, FAMILIES, Family

# our field -> its name in a Hugging Face BertConfig
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
# of these there is no default
REQUIRED = ("vocab_size", "hidden_size", "num_layers", "num_heads", "intermediate_size")

# the name in config.json -> the `approximate` argument of torch's GELU: the exact erf form, or the tanh approximation
# of google-research/bert
ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}


@dataclass(frozen=True)
class ModelConfig:
    """The configuration of a model (Devlin et al. 2019, section 3 and appendix A.2). Defaults are BERT-base, uncased.

    >>> ModelConfig(hidden_size=256, num_layers=4, num_heads=4, intermediate_size=1024).head_size
    64
    """

    vocab_size: int = 30522
    """Rows of the token embeddings."""
    hidden_size: int = 768
    """Width of the hidden states."""
    num_layers: int = 12
    """Transformer layers."""
    num_heads: int = 12
    """Attention heads per layer; they divide the hidden size."""
    intermediate_size: int = 3072
    """Width of the feed-forward layers."""
    max_positions: int = BERT.max_positions
    """Rows of the position embeddings."""
    type_vocab_size: int = BERT.type_vocab_size
    """Rows of the token type embeddings; 2 to tell sentence A from sentence B."""
    activation: str = BERT.activation
    """Activation of the feed-forward layers, a key of `ACTIVATIONS`."""
    layer_norm_eps: float = BERT.layer_norm_eps
    """Epsilon of every LayerNorm."""
    initializer_range: float = 0.02
    """Standard deviation of fresh weights."""
    hidden_dropout: float = 0.1
    """Dropout rate of the embeddings and of every layer's outputs."""
    attention_dropout: float = 0.1
    """Dropout rate of the attention probabilities."""
    pad_token_id: int = BERT.pad_token_id
    """The id of [PAD]."""
    left_to_right: bool = False
    """Whether attention is causal: a token attends to itself and earlier ones (the paper's table 5, section 5.1)."""
    labels: tuple[str, ...] = ()
    """The labels of a classification or tagging layer, in the order of its rows."""
    pruned_heads: tuple[tuple[int, int], ...] = ()
    """(layer, head) pairs whose weights are zero and left out of a weights file."""
    model_type: str = BERT.model_type
    """The family of the model, a key of `families.FAMILIES`."""

    def __post_init__(self):
        if self.num_heads < 1 or self.hidden_size % self.num_heads:
            raise CheckpointError("heads-do-not-divide", hidden=self.hidden_size, heads=self.num_heads)
        if self.activation not in ACTIVATIONS:
            raise CheckpointError("activation-unknown", activation=self.activation, activations=list(ACTIVATIONS))

    @property
    def family(self) -> Family:
        """The family of the model."""
        return FAMILIES[self.model_type]

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_heads

    def replace(self, **changes) -> "ModelConfig":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def to_hf(self) -> dict:
        """The fields as `transformers.BertConfig` names them.

        `pruned_heads` is written as its versions before 5 read it, and only if some heads are pruned.

        >>> ModelConfig(pruned_heads=((0, 3), (2, 1), (2, 11))).to_hf()["pruned_heads"]
        {'0': [3], '2': [1, 11]}
        """
        fields = {hf: getattr(self, name) for name, hf in HF_FIELDS.items()}
        if self.labels:
            fields["id2label"] = dict(enumerate(self.labels))
            fields["label2id"] = {label: number for number, label in enumerate(self.labels)}
        for layer, head in sorted(self.pruned_heads):
            fields.setdefault("pruned_heads", {}).setdefault(str(layer), []).append(head)
        return fields

    @classmethod
    def from_hf(cls, fields: Mapping) -> "ModelConfig":
        """Read the `config.json` of a Hugging Face BERT.

        Raises:
            CheckpointError: it is of an unknown family, a required size is missing, or a value is impossible.
        """
        name = fields.get("model_type", BERT.model_type)
        family = FAMILIES.get(name) if isinstance(name, str) else None
        if family is None:
            raise CheckpointError("model-type-unknown", type=str(name), types=list(FAMILIES))
        position = fields.get("position_embedding_type", family.position_embeddings)
        if position != family.position_embeddings:
            raise CheckpointError(
                "position-embeddings-unknown", type=str(position), expected=family.position_embeddings
            )
        missing = [HF_FIELDS[name] for name in REQUIRED if not _is_whole(fields.get(HF_FIELDS[name]))]
        if missing:
            raise CheckpointError("config-sizes-missing", fields=missing)
        known = {field: getattr(family, field) for field in vars(family) if field in HF_FIELDS}
        known |= {field: fields[hf] for field, hf in HF_FIELDS.items() if fields.get(hf) is not None}
        config = cls(**known, labels=_labels(fields.get("id2label")), model_type=name)
        return config.replace(pruned_heads=_pruned(fields.get("pruned_heads") or {}, config))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _labels(names: object) -> tuple[str, ...]:
    """The labels in an `id2label`, whose keys are numbers as text, in order; () if it is not a mapping.

    >>> _labels({"1": "good", "0": "bad"})
    ('bad', 'good')
    """
    if not isinstance(names, dict):
        return ()
    by_number = {str(number): str(label) for number, label in names.items()}
    if by_number.keys() != {str(number) for number in range(len(by_number))}:
        raise CheckpointError("config-labels-misnumbered", numbers=list(by_number))
    return tuple(by_number[str(number)] for number in range(len(by_number)))


def _pruned(table: object, config: ModelConfig) -> tuple[tuple[int, int], ...]:
    """The pairs of a `pruned_heads` table, {layer: [heads]}, in order."""
    try:
        pairs = sorted({(int(layer), head) for layer, heads in table.items() for head in heads})
    except (AttributeError, TypeError, ValueError):
        raise CheckpointError("config-pruned-heads-malformed") from None
    for layer, head in pairs:
        if not (0 <= layer < config.num_layers and _is_whole(head) and 0 <= head < config.num_heads):
            raise CheckpointError("config-pruned-head-missing", layer=layer, head=str(head))
    return tuple(pairs)

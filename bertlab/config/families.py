"""Model families (BERT, RoBERTa, ALBERT, ...): what their checkpoints share, and the defaults of their `config.json`.

`nn` builds a model from these settings and never reads the name of a family.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Module of bertlab -> modules of Hugging Face, whose tensors are stacked in this order; "{}" is the index of a layer.
# Source: the parameter names of `transformers.BertForPreTraining`. The names of output layers are in `nn.heads.HEADS`.
BERT_TENSORS = {
    "embeddings.token": ("bert.embeddings.word_embeddings",),
    "embeddings.position": ("bert.embeddings.position_embeddings",),
    "embeddings.token_type": ("bert.embeddings.token_type_embeddings",),
    "embeddings.norm": ("bert.embeddings.LayerNorm",),
    "encoder.layers.{}.attention.qkv": (
        "bert.encoder.layer.{}.attention.self.query",
        "bert.encoder.layer.{}.attention.self.key",
        "bert.encoder.layer.{}.attention.self.value",
    ),
    "encoder.layers.{}.attention.out": ("bert.encoder.layer.{}.attention.output.dense",),
    "encoder.layers.{}.attention_norm": ("bert.encoder.layer.{}.attention.output.LayerNorm",),
    "encoder.layers.{}.feed_forward.up": ("bert.encoder.layer.{}.intermediate.dense",),
    "encoder.layers.{}.feed_forward.down": ("bert.encoder.layer.{}.output.dense",),
    "encoder.layers.{}.feed_forward_norm": ("bert.encoder.layer.{}.output.LayerNorm",),
    "pooler.dense": ("bert.pooler.dense",),
}


@dataclass(frozen=True)
class HeadNames:
    """How the checkpoints of a family store an output layer."""

    hf_class: str  # the class of `transformers` that loads a checkpoint whose only output layer is this one
    modules: Mapping[str, str]
    """Submodule of bertlab's output layer ("" for the layer itself) -> the name of the module in `hf_class`."""
    pooler: Mapping[str, str] = field(default_factory=dict)
    """Submodule of bertlab's pooler -> name in `hf_class`, if the pooler is part of the output layer in this class."""
    pooler_uses_feed_forward_activation: bool = False
    """Whether this pooler has the activation of the feed-forward layers instead of `Family.pooler_activation`."""


@dataclass(frozen=True)
class Family:
    """The settings that the checkpoints of a family have in common."""

    model_type: str  # the name of the family in the `config.json` of its checkpoints
    source: str = ""  # the address of the paper that introduced the family

    # -- the names of tensors and settings ---------------------------------------------------------------------------

    class_prefix: str = "Bert"  # the text with which the names of the family's classes in `transformers` begin
    prefix: str = "bert"
    """The text with which the names of all tensors begin, except those of output layers. In checkpoints without output
    layers, the names do not have this prefix."""
    tensors: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: BERT_TENSORS)
    """Module of bertlab -> modules of the checkpoint, whose tensors are stacked in this order; "{}" is the index of a
    layer."""
    heads: Mapping[str, HeadNames] = field(default_factory=dict)
    """Output layer (key of `nn.heads.HEADS`) -> its names, if they differ from BERT's in more than the class prefix."""
    tied_copies: Mapping[str, str] = field(
        default_factory=lambda: {
            "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        }
    )
    """Tied tensors that some programs store twice: name of the copy -> name of the tensor that it must equal."""
    hf_fields: Mapping[str, str] = field(default_factory=dict)
    """Field of `ModelConfig` -> field of the family's `config.json`, if it differs from BERT's; "" for no field."""
    fixed_fields: Mapping[str, object] = field(default_factory=dict)
    """Further fields of `config.json`, with the only value that bertlab supports."""
    has_rotary_fields: bool = False  # whether the family's `config.json` has the fields of `config.rotary`

    # -- defaults of fields that config.json may omit ------------------------------------------------------------------

    max_positions: int = 512
    type_vocab_size: int = 2
    activation: str = "gelu"  # default activation of the feed-forward layers, a key of `config.ACTIVATIONS`
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    embedding_size: int | None = None  # default width of the token embeddings; None for the hidden size
    num_layer_groups: int | None = None
    """Default number of groups of layers that share their weights; None if no weights are shared."""
    bottleneck_size: int | None = None  # default width inside the layers; None for the hidden size
    num_feed_forwards: int = 1
    has_pooler_layer: bool = True
    pooling: str = "cls"  # what the pooler reads by default: "cls", the first token, or "mean", the mean of all tokens

    # -- architecture ------------------------------------------------------------------------------------------------

    embeddings: str = "sum"  # how tokens are embedded, a key of `nn.variants.model.EMBEDDINGS`
    layers: str = "post-norm"  # the kind of layers, a key of `nn.variants.model.ENCODERS`
    position_embeddings: str = "absolute"
    """The kind of position embeddings, as `position_embedding_type` in `config.json`; "" if there are none."""
    first_position: int = 0  # the row of the position embeddings that the first token uses
    positions_after_padding: bool = False
    """Whether the first token uses row `pad_token_id` + 1 instead of `first_position`, as in RoBERTa."""
    pairs_need_token_types: bool = True  # whether a pair of texts can only be read with two token types
    always_projects: bool = False
    """Whether embeddings are projected to the hidden size even if they already have this width."""
    has_biases: bool = True  # whether linear layers and LayerNorms have biases. A `nn.heads.LinearHead` always has one
    pooler_activation: str = "tanh"  # the activation of the pooler: tanh, relu or gelu
    pooler_has_norm: bool = False  # whether the pooler ends with a LayerNorm
    extra_activations: tuple[str, ...] = ()
    """Activations that checkpoints of the family may have besides the keys of `config.ACTIVATIONS`."""
    mlm_activation: str = ""  # the activation of the MLM output layer; "" for that of the feed-forward layers
    decoder_has_own_weights: bool = False
    """Whether the MLM output layer concatenates weights of its own to the narrower token embeddings, so that together
    they have the hidden size, as in MobileBERT."""
    token_heads_have_dense_layer: bool = False
    """Whether output layers for tokens (tagging, spans) begin with a dense layer, an activation and a LayerNorm, as in
    ModernBERT."""
    span_head_has_feed_forward: bool = False
    """Whether the output layer for answer spans begins with a feed-forward network, as in BigBird."""
    pair_objective: str = "next"
    """The sentence-pair objective of the family's checkpoints: "next" (NSP) or "order" (SOP)."""

    # -- pre-training from random weights ------------------------------------------------------------------------------

    pretraining: Mapping[str, object] | None = None
    """Setting of `bertlab pretrain` -> its value in the family's paper; None if the family cannot be pre-trained."""
    feed_forward_ratio: float = 4.0  # the width of the feed-forward layers, relative to the hidden size


def rename_tensors(tensors: Mapping[str, tuple[str, ...]], old: str, new: str) -> dict[str, tuple[str, ...]]:
    """Return a table of tensor names in which the prefix `old` is replaced by `new`.

    >>> rename_tensors({"pooler.dense": ("bert.pooler.dense",)}, "bert", "roberta")
    {'pooler.dense': ('roberta.pooler.dense',)}
    """
    return {
        module: tuple(f"{new}.{name.removeprefix(f'{old}.')}" for name in names) for module, names in tensors.items()
    }


FAMILIES: dict[str, Family] = {}  # `model_type` in config.json -> family


def register_family(family: Family) -> Family:
    """Add a family, for example one that is defined outside this package."""
    FAMILIES[family.model_type] = family
    return family


# BERT uses the defaults of `Family`, which are those of `transformers.BertConfig` and google-research/bert.
BERT = register_family(Family("bert", "https://arxiv.org/abs/1810.04805", pretraining={}))

# model_type of a model that is not an encoder like BERT -> id of the error message about it.
OTHER_FAMILIES = {
    model_type: id
    for id, model_types in {
        "family-xlnet": ("xlnet",),
        "family-bart": ("bart", "mbart", "pegasus", "marian", "led"),
        "family-t5": ("t5", "mt5", "umt5", "longt5"),
        "family-gpt": (
            "gpt2", "gpt_neo", "gpt_neox", "gptj", "openai-gpt", "opt", "llama", "mistral", "gemma", "qwen2", "qwen3",
            "gpt_oss", "bloom", "falcon", "phi", "phi3", "mixtral", "gemma2", "gemma3", "gemma3_text",
        ),
    }.items()
    for model_type in model_types
}  # fmt: skip

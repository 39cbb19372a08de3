"""The sizes of published BERT models, one row each. The vocabulary size comes from the tokenizer.

Sources: Devlin et al. 2019, section 3 (base, large); Turc et al. 2019, arXiv 1908.08962 (tiny to medium); Wang et al.
2020, arXiv 2002.10957 (minilm, the six-layer student).
"""

from bertlab.config.config import REQUIRED_FIELDS, ModelConfig, select_hf_fields
from bertlab.config.errors import BertlabError
from bertlab.config.families import BERT, FAMILIES


def _make_config(layers: int, hidden: int, heads: int) -> ModelConfig:
    return ModelConfig(hidden_size=hidden, num_layers=layers, num_heads=heads, intermediate_size=4 * hidden)


# name of a size -> configuration
PRESETS = {
    "tiny": _make_config(2, 128, 2),
    "mini": _make_config(4, 256, 4),
    "small": _make_config(4, 512, 8),
    "minilm": _make_config(6, 384, 12),
    "medium": _make_config(8, 512, 8),
    "base": _make_config(12, 768, 12),
    "large": _make_config(24, 1024, 16),
}


def get_preset(name: str) -> ModelConfig:
    """Return the configuration of a published size.

    >>> get_preset("mini").num_layers
    4
    """
    if name not in PRESETS:
        raise BertlabError("preset-unknown", name=name, presets=list(PRESETS))
    return PRESETS[name]


def list_pretrainable_families() -> tuple[str, ...]:
    """Return the model families that `bertlab pretrain` can train from random weights, BERT first."""
    return tuple(name for name, family in FAMILIES.items() if family.pretraining is not None)


def make_generator_config(config: ModelConfig, size: float) -> ModelConfig:
    """Return the configuration of a generator (for replaced-token detection), with narrower layers.

    The width of the embeddings stays the same, because the generator shares the discriminator's embeddings.

    Source: Clark et al. 2020, arXiv 2003.10555, section 3.2.

    >>> config = make_generator_config(change_family(get_preset("mini"), "electra"), 0.25)
    >>> config.hidden_size, config.num_heads, config.intermediate_size, config.embedding_width
    (64, 1, 256, 128)
    """
    num_heads = max(1, round(size * config.num_heads))
    hidden_size = num_heads * max(1, round(size * config.hidden_size / num_heads))
    return config.replace(
        hidden_size=hidden_size,
        num_heads=num_heads,
        intermediate_size=max(1, round(size * config.intermediate_size)),
        embedding_size=config.embedding_width,
    )


def change_family(config: ModelConfig, model_type: str) -> ModelConfig:
    """Convert a configuration of BERT to the architecture of another family, for pre-training.

    Layers, heads, hidden size, vocabulary and dropout stay the same. The width of the feed-forward layers follows from
    the hidden size (`Family.feed_forward_ratio`). In families with factorised token embeddings, the embeddings are at
    most half as wide as the hidden states. The maximum number of tokens in an input does not decrease.

    >>> config = change_family(get_preset("mini"), "albert")
    >>> config.hidden_size, config.embedding_size, config.num_layer_groups
    (256, 128, 1)
    >>> change_family(get_preset("tiny"), "modernbert").intermediate_size
    192
    """
    if model_type == BERT.model_type:
        return config
    family = FAMILIES[model_type]
    unchanged_fields = (*REQUIRED_FIELDS, "initializer_range", "hidden_dropout", "attention_dropout", "pad_token_id")
    fields = {hf: getattr(config, name) for name, hf in select_hf_fields(family).items() if name in unchanged_fields}
    new_config = ModelConfig.from_hf({"model_type": model_type} | fields)
    embedding_size = min(family.embedding_size, config.hidden_size // 2) if family.embedding_size else None
    return new_config.replace(
        intermediate_size=round(family.feed_forward_ratio * config.hidden_size),
        embedding_size=embedding_size,
        max_positions=max(new_config.max_positions, config.max_positions + new_config.first_position),
    )

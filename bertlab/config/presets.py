"""The sizes of published BERT models, one row each.

Sources: base and large are the paper's (Devlin et al. 2019, section 3); tiny to medium are Google's smaller models
(Turc et al. 2019, arXiv 1908.08962, and the README of google-research/bert); minilm is Wang et al. 2020 (arXiv
2002.10957), the six-layer student. The vocabulary size comes from the tokenizer, not from the preset.
"""

from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError


def _make_config(layers: int, hidden: int, heads: int) -> ModelConfig:
    return ModelConfig(hidden_size=hidden, num_layers=layers, num_heads=heads, intermediate_size=4 * hidden)


PRESETS = {
    "tiny": _make_config(2, 128, 2),
    "mini": _make_config(4, 256, 4),
    "small": _make_config(4, 512, 8),
    "minilm": _make_config(6, 384, 12),
    "medium": _make_config(8, 512, 8),
    "base": _make_config(12, 768, 12),
    "large": _make_config(24, 1024, 16),
}


def preset(name: str) -> ModelConfig:
    """Return the configuration of a published size.

    Raises:
        BertlabError: there is no preset of this name.

    >>> preset("mini").num_layers
    4
    """
    if name not in PRESETS:
        raise BertlabError("preset-unknown", name=name, presets=list(PRESETS))
    return PRESETS[name]

"""Families of encoders with BERT's architecture, one row of settings each.

`ModelConfig` holds the settings that differ between checkpoints. A `Family` holds those that all checkpoints of a
family share, and the defaults of fields that a `config.json` of this family may omit.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """The settings that the checkpoints of a family have in common."""

    model_type: str
    """The name of the family in the `config.json` of its checkpoints."""
    first_position: int = 0
    """The row of the position embeddings that the first token uses."""
    position_embeddings: str = "absolute"
    """The kind of position embeddings, as `position_embedding_type` in `config.json`."""
    max_positions: int = 512
    """Default number of position embeddings."""
    type_vocab_size: int = 2
    """Default number of token types."""
    activation: str = "gelu"
    """Default activation of the feed-forward layers, a key of `config.ACTIVATIONS`."""
    layer_norm_eps: float = 1e-12
    """Default epsilon of every LayerNorm."""
    pad_token_id: int = 0
    """Default token id of [PAD]."""


# The defaults of `transformers.BertConfig`, which are those of google-research/bert.
BERT = Family("bert")

FAMILIES = {family.model_type: family for family in (BERT,)}

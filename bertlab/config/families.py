"""Families of encoders that share BERT's architecture, one row of knobs each.

`ModelConfig` holds what differs from checkpoint to checkpoint; a `Family` holds what all checkpoints of a family share,
and the values that a `config.json` of this family may leave out.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """What the checkpoints of a family have in common."""

    model_type: str
    """What their `config.json` calls it."""
    first_position: int = 0
    """The row of the position embeddings that the first token takes."""
    position_embeddings: str = "absolute"
    """The kind of position embeddings, as `position_embedding_type` in `config.json`."""
    max_positions: int = 512
    """Rows of the position embeddings, unless `config.json` says otherwise."""
    type_vocab_size: int = 2
    """Token types, unless `config.json` says otherwise."""
    activation: str = "gelu"
    """Activation of the feed-forward layers, unless `config.json` says otherwise; a key of `config.ACTIVATIONS`."""
    layer_norm_eps: float = 1e-12
    """Epsilon of every LayerNorm, unless `config.json` says otherwise."""
    pad_token_id: int = 0
    """The id of [PAD], unless `config.json` says otherwise."""


# the defaults of `transformers.BertConfig`, which are those of google-research/bert
BERT = Family("bert")

FAMILIES = {family.model_type: family for family in (BERT,)}

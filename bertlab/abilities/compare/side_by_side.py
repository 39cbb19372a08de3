"""Several models, possibly of different families, on one sentence: tokens, predictions for masks, and attention.

Shape legend: T tokens, N heads, L layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertlab.abilities.results import TokenRow
from bertlab.tasks.masked_lm import MaskFill
from bertlab.text.word_spans import MASK

if TYPE_CHECKING:
    from bertlab.session import Session


@dataclass(frozen=True)
class ModelView:
    """The tokens, predictions and attention that one model computes for a sentence."""

    name: str
    """The name of the checkpoint's directory, or the hub id."""
    family: str
    """The model family, as in `config.json`: "bert", "albert" and so on."""
    layers: int
    """The number of layers."""
    hidden: int
    """The hidden size."""
    heads: int
    """The number of attention heads per layer."""
    parameters: int
    """The number of parameters, with the output layers; a weight that several parts share counts once."""
    tokens: tuple[TokenRow, ...]
    """The tokens of the sentence in the vocabulary of the model."""
    fills: tuple[MaskFill, ...] | None
    """The predictions for every [MASK]: () if there is no [MASK], None if the model has no MLM output layer."""
    attention_LTT: np.ndarray
    """The attention of every layer, as the mean over its heads."""

    def attention_at(self, depth: float) -> np.ndarray:
        """Return the attention [T, T] of the layer at a depth, from 0 (the first layer) to 1 (the last one)."""
        return self.attention_LTT[self.layer_at(depth)]

    def layer_at(self, depth: float) -> int:
        """Return the layer at a depth, from 0 (the first layer) to 1 (the last one), rounded down."""
        return int(depth * (self.layers - 1))


def view_model(session: Session, text: str, top_k: int = 3, originals: Sequence[str] = ()) -> ModelView:
    """Compute the tokens of a sentence, the predictions for its masks, and the attention of every layer.

    Args:
        session: the open checkpoint.
        text: the sentence; it may contain [MASK].
        top_k: the number of candidates for each mask.
        originals: the word that each mask replaced; see `Session.fill_mask`.

    Raises:
        TextError: the text is empty, or has more tokens than the model has positions.
    """
    config, attention = session.config, session.attention(text)
    fills = None
    if "fill-mask" in session.commands:
        fills = tuple(session.fill_mask(text, top_k, originals=originals)) if MASK in text else ()
    return ModelView(
        session.name, config.model_type, config.num_layers, config.hidden_size, config.num_heads,
        sum(parameter.numel() for parameter in session.model.parameters()), tuple(attention.tokens), fills,
        np.asarray(attention.probs_LNTT, np.float32).mean(1),
    )  # fmt: skip


def view_models(
    sessions: Sequence[Session], text: str, top_k: int = 3, originals: Sequence[str] = ()
) -> tuple[ModelView, ...]:
    """Compute the view of each of several checkpoints; see `view_model`."""
    return tuple(view_model(session, text, top_k, originals) for session in sessions)

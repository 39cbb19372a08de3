"""Interventions on one forward pass: ablate heads, replace rows of attention, patch hidden states.

They are an argument of the forward pass and change no weights, so one model can serve many callers at once.

Shape legend: B batch, T tokens, H hidden, N heads, D head size, L layers; an X in a name means that the tensor has the
dimension B, or lacks it because its values are the same for all rows. Layers, heads and positions count from 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import InterventionError


@dataclass(frozen=True, eq=False)
class Interventions:
    """The changes to make during one forward pass."""

    head_scale_LBN: torch.Tensor | None = None
    """The factor that multiplies each head's output before the output projection; 0 ablates the head (Michel et al.
    2019, arXiv 1905.10650, equation 1). B is the batch size if the factors differ between the rows of the batch, or 1
    if they are the same for all rows."""
    attention_rows: Mapping[tuple[int, int, int], torch.Tensor] = field(default_factory=dict)
    """(layer, head, query position) -> attention probabilities, [T] or [B, T], that replace this row of attention."""
    patches: Mapping[tuple[int, int], torch.Tensor] = field(default_factory=dict)
    """(index, position) -> hidden state, [H] or [B, H], that replaces the hidden state that the model computes at this
    position (activation patching). Index 0 means the embeddings, index l + 1 the output of layer l."""

    @classmethod
    def ablate_heads(cls, config: ModelConfig, heads: Iterable[tuple[int, int]]) -> "Interventions":
        """Make interventions that ablate these heads, given as (layer, head), in every row of the batch.

        >>> Interventions.ablate_heads(ModelConfig(hidden_size=4, num_layers=1, num_heads=2), [(0, 1)]).head_scale_LBN
        tensor([[[1., 0.]]])
        """
        return cls.ablate_heads_per_row(config, [heads])

    @classmethod
    def ablate_heads_per_row(
        cls, config: ModelConfig, heads_by_row: Iterable[Iterable[tuple[int, int]]]
    ) -> "Interventions":
        """Make interventions that ablate other (layer, head) pairs in each row. Raises InterventionError."""
        heads_by_row = [list(heads) for heads in heads_by_row]
        head_scale_LBN = torch.ones(config.num_layers, len(heads_by_row), config.num_heads)
        for row, heads in enumerate(heads_by_row):
            for layer, head in heads:
                check_layer(layer, config.num_layers)
                check_head(head, config.num_heads)
                head_scale_LBN[layer, row, head] = 0
        return cls(head_scale_LBN=head_scale_LBN)

    def check(self, config: ModelConfig, num_tokens: int, num_rows: int | None = None) -> None:
        """Raise InterventionError if a layer, head or position does not exist, or a tensor has a wrong shape."""
        if self.head_scale_LBN is not None:
            shape = tuple(self.head_scale_LBN.shape)
            L, B, N = shape if len(shape) == 3 else (None, None, None)
            if (config.num_layers, config.num_heads) != (L, N):
                expected = f"[{config.num_layers}, batch, {config.num_heads}]"
                raise InterventionError("head-scale-shape", shape=str(list(shape)), expected=expected)
            if num_rows is not None and B not in (1, num_rows):
                raise InterventionError("head-scale-rows", rows=B, expected=num_rows)
        for (layer, head, position), probs_XT in self.attention_rows.items():
            check_layer(layer, config.num_layers)
            check_head(head, config.num_heads)
            check_position(position, num_tokens)
            if probs_XT.ndim not in (1, 2) or probs_XT.shape[-1] != num_tokens:
                raise InterventionError("attention-row-shape", shape=str(list(probs_XT.shape)), expected=num_tokens)
        for (hidden_index, position), hidden_XH in self.patches.items():
            check_hidden_index(hidden_index, config.num_layers)
            check_position(position, num_tokens)
            if hidden_XH.ndim not in (1, 2) or hidden_XH.shape[-1] != config.hidden_size:
                raise InterventionError(
                    "hidden-state-shape", shape=str(list(hidden_XH.shape)), expected=config.hidden_size
                )

    def scale_heads(self, layer: int, head_outputs_BNTD: torch.Tensor) -> torch.Tensor:
        if self.head_scale_LBN is None:
            return head_outputs_BNTD
        return head_outputs_BNTD * self.head_scale_LBN[layer][:, :, None, None].to(head_outputs_BNTD)

    def replace_attention_rows(self, layer: int, probs_BNTT: torch.Tensor) -> torch.Tensor:
        rows = {
            (head, position): probs_XT
            for (row_layer, head, position), probs_XT in self.attention_rows.items()
            if row_layer == layer
        }
        if not rows:
            return probs_BNTT
        probs_BNTT = probs_BNTT.clone()
        for (head, position), probs_XT in rows.items():
            probs_BNTT[:, head, position] = probs_XT.to(probs_BNTT)
        return probs_BNTT

    def patch(self, hidden_index: int, hidden_BTH: torch.Tensor) -> torch.Tensor:
        patches = {position: state_XH for (index, position), state_XH in self.patches.items() if index == hidden_index}
        if not patches:
            return hidden_BTH
        hidden_BTH = hidden_BTH.clone()
        for position, state_XH in patches.items():
            hidden_BTH[:, position] = state_XH.to(hidden_BTH)
        return hidden_BTH


NO_INTERVENTIONS = Interventions()  # changes nothing


def check_layer(layer: int, num_layers: int) -> None:
    if not 0 <= layer < num_layers:
        raise InterventionError("layer-out-of-range", layer=layer, last=num_layers - 1)


def check_head(head: int, num_heads: int) -> None:
    if not 0 <= head < num_heads:
        raise InterventionError("head-out-of-range", head=head, last=num_heads - 1)


def check_position(position: int, num_tokens: int) -> None:
    if not 0 <= position < num_tokens:
        raise InterventionError("position-out-of-range", position=position, last=num_tokens - 1)


def check_hidden_index(hidden_index: int, num_layers: int) -> None:
    if not 0 <= hidden_index <= num_layers:
        raise InterventionError("layer-out-of-range", layer=hidden_index - 1, last=num_layers - 1)

"""What to change in one forward pass: knock out heads, replace rows of attention, patch hidden states.

`Interventions` are an argument of the forward pass and change no weight, so one model can serve many callers at once.

Shape legend: B batch, T tokens, H hidden, N heads, L layers. Layers, heads and positions count from zero.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import InterventionError


@dataclass(frozen=True, eq=False)
class Interventions:
    """The changes of one forward pass.

    head_scale_LBN: what every head's output is multiplied by before the output projection, 0 knocks it out (Michel et
        al. 2019, arXiv 1905.10650, equation 1). B is the batch's, so each row can lose other heads, or 1 for all rows.
    rows: (layer, head, query position) -> probs [T] or [B, T] that take the place of that row of attention.
    patches: (layer, position) -> hidden [H] or [B, H] that takes the place of the hidden state there at the output of
        `layer`, as `Trace` counts them: 0 is the embeddings, 1 the output of the first block.
    """

    head_scale_LBN: torch.Tensor | None = None
    rows: Mapping[tuple[int, int, int], torch.Tensor] = field(default_factory=dict)
    patches: Mapping[tuple[int, int], torch.Tensor] = field(default_factory=dict)

    @classmethod
    def knock_out(cls, config: ModelConfig, heads: Iterable[tuple[int, int]]) -> "Interventions":
        """Silence these (layer, head) pairs in every row of the batch.

        >>> Interventions.knock_out(ModelConfig(hidden_size=4, num_layers=1, num_heads=2), [(0, 1)]).head_scale_LBN
        tensor([[[1., 0.]]])
        """
        return cls.knock_outs(config, [heads])

    @classmethod
    def knock_outs(cls, config: ModelConfig, heads_of_rows: Iterable[Iterable[tuple[int, int]]]) -> "Interventions":
        """Row b of the batch loses the (layer, head) pairs of the b-th group: many experiments in one forward pass."""
        groups = [list(heads) for heads in heads_of_rows]
        head_scale_LBN = torch.ones(config.num_layers, len(groups), config.num_heads)
        for row, heads in enumerate(groups):
            for layer, head in heads:
                _must_exist("layer", layer, config.num_layers)
                _must_exist("head", head, config.num_heads)
                head_scale_LBN[layer, row, head] = 0
        return cls(head_scale_LBN=head_scale_LBN)

    def check(self, config: ModelConfig, num_tokens: int, num_rows: int | None = None) -> None:
        """Check that these interventions fit a model and a batch of `num_rows` rows of `num_tokens`.

        Raises:
            InterventionError: one does not.
        """
        if self.head_scale_LBN is not None:
            got = tuple(self.head_scale_LBN.shape)
            if len(got) != 3 or (got[0], got[2]) != (config.num_layers, config.num_heads):
                wanted = f"[{config.num_layers}, batch, {config.num_heads}]"
                raise InterventionError(f"head_scale_LBN has the shape {list(got)}; this model's is {wanted}")
            if num_rows is not None and got[1] not in (1, num_rows):
                raise InterventionError(f"head_scale_LBN has {got[1]} rows; the batch has {num_rows}")
        for (layer, head, position), probs_T in self.rows.items():
            _must_exist("layer", layer, config.num_layers)
            _must_exist("head", head, config.num_heads)
            _must_exist("position", position, num_tokens)
            _must_be_wide("attention row", probs_T, num_tokens)
        for (layer, position), hidden_H in self.patches.items():
            _must_exist("layer", layer, config.num_layers + 1)
            _must_exist("position", position, num_tokens)
            _must_be_wide("hidden state", hidden_H, config.hidden_size)

    def scale_heads(self, layer: int, head_outputs_BNTD: torch.Tensor) -> torch.Tensor:
        """The head outputs of this layer, each multiplied by its scale."""
        if self.head_scale_LBN is None:
            return head_outputs_BNTD
        return head_outputs_BNTD * self.head_scale_LBN[layer][:, :, None, None].to(head_outputs_BNTD)

    def changes_rows(self, layer: int) -> bool:
        """Whether any attention row of this layer is replaced."""
        return any(at == layer for at, _, _ in self.rows)

    def replace_rows(self, layer: int, probs_BNTT: torch.Tensor) -> torch.Tensor:
        """The attention of this layer with the asked rows replaced."""
        rows = {(head, position): probs_T for (at, head, position), probs_T in self.rows.items() if at == layer}
        if not rows:
            return probs_BNTT
        probs_BNTT = probs_BNTT.clone()
        for (head, position), probs_T in rows.items():
            probs_BNTT[:, head, position] = probs_T.to(probs_BNTT)
        return probs_BNTT

    def patch(self, layer: int, hidden_BTH: torch.Tensor) -> torch.Tensor:
        """The output of this layer (0: embeddings) with the asked hidden states replaced."""
        patches = {position: hidden_H for (at, position), hidden_H in self.patches.items() if at == layer}
        if not patches:
            return hidden_BTH
        hidden_BTH = hidden_BTH.clone()
        for position, hidden_H in patches.items():
            hidden_BTH[:, position] = hidden_H.to(hidden_BTH)
        return hidden_BTH


def _must_exist(what: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise InterventionError(f"there is no {what} {index}: they go from 0 to {count - 1}")


def _must_be_wide(what: str, tensor: torch.Tensor, width: int) -> None:
    if tensor.ndim not in (1, 2) or tensor.shape[-1] != width:
        raise InterventionError(f"the {what} to put in has the shape {list(tensor.shape)}; it must end in {width}")

"""`Bert` that takes the fastest layout for each batch, unless somebody observes or changes the forward pass.

Shape legend: B batch, T tokens, H hidden, X tokens in a layout, R selected positions (indices of B * T).
"""

from collections.abc import Iterable, Sequence
from types import MethodType

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert, Encoded, EncoderLayer, Inputs, SelfAttention
from bertlab.nn.fast.dropout import Dropout
from bertlab.nn.fast.layouts import Layout, choose_layout
from bertlab.nn.fast.linear import Linear
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace


class FastBert(Bert):
    """A `Bert` with the same weights, arguments and results, computed in less time."""

    def __init__(self, config: ModelConfig, heads: Iterable[str] = ()):
        super().__init__(config, heads)
        for module in list(self.modules()):
            for name, child in module.named_children():
                if isinstance(child, nn.Dropout):
                    setattr(module, name, Dropout(child.p))
                elif type(child) is nn.Linear:
                    setattr(module, name, Linear.sharing(child))

    def forward(
        self, batch: Inputs, *, trace: Trace | None = None, interventions: Interventions | None = None
    ) -> Encoded:
        """Encode a batch, see `Bert.forward`; with a trace or interventions exactly by it."""
        if trace is not None or interventions is not None:
            return super().forward(batch, trace=trace, interventions=interventions)
        return Encoded(self._encode(batch), self.pooler, self.pooled_positions(batch))

    def hidden_rows(self, batch: Inputs, rows_R: torch.Tensor) -> torch.Tensor:
        """The last layer's output at rows_R, see `Bert.hidden_rows`.

        The last layer computes its feed-forward for these rows only: pre-training reads 15 % of the tokens, a
        classifier one of each row.
        """
        return self._encode(batch, rows_R)

    def _encode(self, batch: Inputs, rows_R: torch.Tensor | None = None) -> torch.Tensor:
        hidden_BTH = self.dropout(self.embeddings(batch.input_ids_BT, batch.token_type_ids_BT))
        layout = choose_layout(self.config, batch, hidden_BTH)
        hidden_XH = run_layers(self.encoder.layers, layout.pack(hidden_BTH), layout, rows_R)
        return layout.unpack(hidden_XH) if rows_R is None else hidden_XH


def run_layers(
    layers: Sequence[EncoderLayer], hidden_XH: torch.Tensor, layout: Layout, rows_R: torch.Tensor | None = None
) -> torch.Tensor:
    """The input of the first of these layers -> the output of the last, [X, H]; with rows_R only those, [R, H]."""
    *lower, last = layers
    for layer in lower:
        attended_XH = layer.attention.out(_attend(layer.attention, hidden_XH, layout))
        hidden_XH = layer.after_attention(hidden_XH, attended_XH)
    heads_XH = _attend(last.attention, hidden_XH, layout)
    if rows_R is not None:
        index_R = layout.index(rows_R)
        heads_XH, hidden_XH = heads_XH.index_select(0, index_R), hidden_XH.index_select(0, index_R)
    return last.after_attention(hidden_XH, last.attention.out(heads_XH))


def _attend(attention: SelfAttention, hidden_XH: torch.Tensor, layout: Layout) -> torch.Tensor:
    dropout = attention.dropout.p if attention.training else 0.0
    return layout.attend(attention.qkv(hidden_XH), attention.num_heads, dropout)


def compile_layers(model: nn.Module, backend: str = "inductor") -> None:
    """Compile what the layers compute for each token alone: GELU, sums, LayerNorm and dropout, each of which is
    otherwise a GPU kernel of its own.

    A few graphs (with and without gradients) serve all layers and any number of tokens; attention stays as it is. What
    was compiled before is discarded, because `torch` keeps only a limited number of graphs.
    """
    torch.compiler.reset()
    compiled = torch.compile(EncoderLayer.after_attention, dynamic=True, backend=backend)
    for layer in model.modules():
        if isinstance(layer, EncoderLayer):
            layer.after_attention = MethodType(compiled, layer)  # which a deep copy copies too

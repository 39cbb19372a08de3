"""`FastBert`: a `Bert` that computes each batch in the fastest layout if no trace and no intervention is requested.

Shape legend: B batch, T tokens, H hidden, X tokens in a layout, R selected positions (indices of B * T).
"""

from collections.abc import Iterable, Sequence
from types import MethodType

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import BertInput, BertOutput, EncoderLayer
from bertlab.nn.fast.dropout import Dropout
from bertlab.nn.fast.layouts import Layout, choose_layout
from bertlab.nn.fast.linear import Linear
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace
from bertlab.nn.variants.model import FamilyBert, has_fast_layers


class FastBert(FamilyBert):
    """A faster `Bert`, with the same weights, arguments and results.

    With `recompute`, the backward pass computes each layer again, which saves memory (activation checkpointing, Chen et
    al. 2016, arXiv 1604.06174).
    """

    def __init__(self, config: ModelConfig, heads: Iterable[str] = (), *, recompute: bool = False):
        super().__init__(config, heads)
        self.recompute = recompute
        for module in list(self.modules()):
            for name, child in module.named_children():
                if isinstance(child, nn.Dropout):
                    setattr(module, name, Dropout(child.p))
                elif type(child) is nn.Linear:
                    setattr(module, name, Linear.from_linear(child))

    def forward(
        self, batch: BertInput, *, trace: Trace | None = None, interventions: Interventions | None = None
    ) -> BertOutput:
        """With a trace or interventions, or if the layers have no fast version, this takes longer."""
        if trace is not None or interventions is not None or not has_fast_layers(self.encoder):
            return super().forward(batch, trace=trace, interventions=interventions)
        return BertOutput(self._encode(batch), self.pooler, self.find_pooled_positions(batch))

    def encode_positions(self, batch: BertInput, positions_R: torch.Tensor) -> torch.Tensor:
        """See `Bert.encode_positions`; the last layer computes its feed-forward network at these positions only."""
        if not has_fast_layers(self.encoder):
            return super().encode_positions(batch, positions_R)
        return self._encode(batch, positions_R)

    def _encode(self, batch: BertInput, positions_R: torch.Tensor | None = None) -> torch.Tensor:
        hidden_BTH = self.dropout(self.embeddings(batch.input_ids_BT, batch.token_type_ids_BT))
        layout = choose_layout(self.config, batch, hidden_BTH)
        hidden_XH = run_layers(
            self.encoder.layers, layout.pack(hidden_BTH), layout, positions_R, recompute=self.recompute
        )
        return layout.unpack(hidden_XH) if positions_R is None else hidden_XH


def run_layers(
    layers: Sequence[EncoderLayer],
    hidden_XH: torch.Tensor,
    layout: Layout,
    positions_R: torch.Tensor | None = None,
    *,
    recompute: bool = False,
) -> torch.Tensor:
    """Run hidden states in a layout through layers -> [X, H], or at `positions_R` (indices of B * T), [R, H]."""
    index_R = None if positions_R is None else layout.find_indices(positions_R)
    for number, layer in enumerate(layers, 1):
        arguments = (layer, hidden_XH, layout, index_R if number == len(layers) else None)
        if recompute and torch.is_grad_enabled():
            hidden_XH = checkpoint(_run_layer, *arguments, use_reentrant=False)
        else:
            hidden_XH = _run_layer(*arguments)
    return hidden_XH


def _run_layer(
    layer: EncoderLayer, hidden_XH: torch.Tensor, layout: Layout, index_R: torch.Tensor | None
) -> torch.Tensor:
    attention = layer.attention
    dropout_rate = attention.dropout.p if attention.training else 0.0
    heads_XH = layout.attend(attention.qkv(hidden_XH), attention.num_heads, dropout_rate)
    if index_R is not None:
        heads_XH, hidden_XH = heads_XH.index_select(0, index_R), hidden_XH.index_select(0, index_R)
    return layer.complete_layer(hidden_XH, attention.out(heads_XH))


def compile_layers(model: nn.Module, backend: str = "inductor") -> None:
    """Compile `EncoderLayer.complete_layer` of every layer, whose operations would each be a GPU kernel.

    All layers share a few graphs (with and without gradients), for any number of tokens. Graphs that were compiled
    before are discarded, because `torch` keeps only a limited number of them.
    """
    torch.compiler.reset()
    compiled = torch.compile(EncoderLayer.complete_layer, dynamic=True, backend=backend)
    for layer in model.modules():
        if isinstance(layer, EncoderLayer):
            # a deep copy of the layer also gets the compiled function, as a method of its own
            layer.complete_layer = MethodType(compiled, layer)

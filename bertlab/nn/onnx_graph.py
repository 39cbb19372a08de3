"""A model as one function from token ids to the logits of its output layers: the function that an ONNX file stores.

With BERT's layers, the last one is computed only at the positions that an output layer reads.

Shape legend: B batch, T tokens, H hidden, V vocabulary, K outputs of an output layer, R positions (indices of B * T).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from bertlab.nn.bert import Bert, Encoder, make_additive_mask
from bertlab.nn.fast.attention import padded_attention
from bertlab.nn.heads import HEADS
from bertlab.nn.variants.model import FamilyBert, SharedEncoder, average_tokens

INPUTS = ("input_ids", "attention_mask", "token_type_ids")  # int64 [B, T], with the names of `transformers`
POSITIONS = "positions"  # one more input with an MLM output layer: the tokens to predict, int64 [R]
HIDDEN = "last_hidden_state"  # the output without output layers: the output of the last layer, [B, T, H]


@dataclass(frozen=True)
class GraphBatch:
    """A `bert.BertInput` without `lengths`."""

    input_ids_BT: torch.Tensor
    token_type_ids_BT: torch.Tensor
    attention_mask_BT: torch.Tensor


def name_inputs(heads: tuple[str, ...]) -> tuple[str, ...]:
    return (*INPUTS, POSITIONS) if "mlm" in heads else INPUTS


def name_outputs(heads: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a graph's outputs: one for each output layer, or `HIDDEN`.

    >>> name_outputs(("classify",)), name_outputs(("mlm", "nsp")), name_outputs(())
    (('logits',), ('logits', 'nsp_logits'), ('last_hidden_state',))
    """
    return tuple(f"{head}_logits" if index else "logits" for index, head in enumerate(heads)) or (HIDDEN,)


class QuantisedEmbedding(nn.Module):
    """An embedding table in eight bits: a token's vector is its codes (int8) times its scale."""

    codes_VH: torch.Tensor
    scale_V1: torch.Tensor

    def __init__(self, codes_VH: torch.Tensor, scale_V: torch.Tensor):
        super().__init__()
        self.register_buffer("codes_VH", codes_VH)
        self.register_buffer("scale_V1", scale_V[:, None])
        self.num_embeddings = len(codes_VH)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.codes_VH[ids].float() * self.scale_V1[ids]


class OnnxGraph(nn.Module):
    """The function that an ONNX file stores; for `heads` = (), it computes the hidden states."""

    def __init__(self, model: Bert, heads: tuple[str, ...]):
        super().__init__()
        self.model, self.head_names = model, heads
        # The weights for the MLM output layer are stored here, because `QuantisedEmbedding` may replace the embeddings.
        self.decoder_weight = model.embeddings.token.weight if "mlm" in heads else None

    def make_example(self) -> tuple[torch.Tensor, ...]:
        """Make the arguments of `forward` with which the export traces it; the graph accepts inputs of any size."""
        rotary, limit = self.model.config.rotary, self.model.config.max_tokens
        # Local attention has a mask only in texts longer than its window, and the graph needs this mask.
        T = min(rotary.window + 3 if rotary else 8, limit)
        ids_BT, ones_BT = torch.zeros(2, T, dtype=torch.int64), torch.ones(2, T, dtype=torch.int64)
        return (ids_BT, ones_BT, ids_BT, *([torch.tensor([0, 1])] if "mlm" in self.head_names else []))

    @property
    def dynamic_axes(self) -> dict[str, dict[int, str]]:
        """Input or output -> its dimensions of any size, as {index of the dimension: name}."""
        axes = {name: {0: "batch", 1: "tokens"} for name in (*INPUTS, HIDDEN)} | {POSITIONS: {0: "positions"}}
        for head, name in zip(self.head_names, name_outputs(self.head_names), strict=False):
            is_pooled = HEADS[head].reads_pooled
            axes[name] = {0: "positions"} if head == "mlm" else {0: "batch"} | ({} if is_pooled else {1: "tokens"})
        return axes

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        positions: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, ...]:
        """Compute the outputs that `name_outputs` lists.

        For each output layer its logits: [R, K] for masked language modelling, [B, K] if the layer reads the pooler,
        otherwise [B, T, K]. Without output layers, the hidden states [B, T, H].
        """
        model, batch = self.model, GraphBatch(input_ids, token_type_ids, attention_mask.bool())
        complete_last_layer = _encode_until_last_layer(model, batch)
        if not self.head_names:
            return (complete_last_layer(None),)
        outputs = []
        for name in self.head_names:
            if name == "mlm":
                outputs.append(model.head("mlm")(complete_last_layer(positions), self.decoder_weight))
            elif not HEADS[name].reads_pooled:
                outputs.append(model.head(name)(complete_last_layer(None)))
            elif model.config.pooling == "mean":
                mean_B1H = average_tokens(complete_last_layer(None), batch.attention_mask_BT)
                outputs.append(model.head(name)(model.pooler(mean_B1H)))
            else:
                B, T = input_ids.shape
                row_start_B = torch.arange(B, device=input_ids.device) * T
                hidden_RH = complete_last_layer(row_start_B + model.find_pooled_positions(batch))
                outputs.append(model.head(name)(model.pooler(hidden_RH[:, None])))
        return tuple(outputs)


def _encode_until_last_layer(model: Bert, batch: GraphBatch) -> Callable[[torch.Tensor | None], torch.Tensor]:
    """Run a batch through all layers up to the attention of the last one.

    The result completes the last layer at positions -> [R, H], or for None at all -> [B, T, H].
    """
    if type(model.encoder) not in (Encoder, SharedEncoder):
        hidden_BTH = FamilyBert.forward(model, batch).hidden_BTH
        return lambda positions_R: (
            hidden_BTH if positions_R is None else hidden_BTH.flatten(0, 1).index_select(0, positions_R)
        )
    hidden_BTH = model.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
    mask = make_additive_mask(batch.attention_mask_BT, hidden_BTH, causal=model.config.left_to_right)
    *layers, last = model.encoder.layers

    def attend(layer: nn.Module, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return padded_attention(layer.attention.qkv(hidden_BTH), layer.attention.num_heads, mask, 0.0)

    for layer in layers:
        hidden_BTH = layer.complete_layer(hidden_BTH, layer.attention.out(attend(layer, hidden_BTH)))
    heads_BTH = attend(last, hidden_BTH)

    def complete_last_layer(positions_R: torch.Tensor | None) -> torch.Tensor:
        tensors = hidden_BTH, heads_BTH
        if positions_R is not None:
            tensors = tuple(tensor.flatten(0, 1).index_select(0, positions_R) for tensor in tensors)
        hidden, heads = tensors
        return last.complete_layer(hidden, last.attention.out(heads))

    return complete_last_layer

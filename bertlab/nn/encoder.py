"""The stack of Transformer blocks, each normalised after its residual sum (Vaswani et al. 2017, section 3.1).

Knows hidden states, no ids and no heads for any task.

Shape legend: B batch, T tokens, H hidden, L layers.
"""

from types import MethodType

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ACTIVATIONS, ModelConfig
from bertlab.nn.attention import SelfAttention
from bertlab.nn.fast.dropout import Dropout
from bertlab.nn.fast.linear import Linear
from bertlab.nn.fast.packing import Tokens
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace


class FeedForward(nn.Module):
    """H -> intermediate size -> H with a GELU between (Vaswani et al. 2017, section 3.3; Hendrycks and Gimpel 2016)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.up = Linear(config.hidden_size, config.intermediate_size)
        self.down = Linear(config.intermediate_size, config.hidden_size)
        self.gelu = ACTIVATIONS[config.activation]

    def forward(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(hidden_BTH), approximate=self.gelu))


class Block(nn.Module):
    """Attention, then feed-forward; after each: dropout, residual sum, LayerNorm."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout)

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask_B11T: torch.Tensor | None = None,
        *,
        layer: int = 0,
        trace: Trace | None = None,
        interventions: Interventions | None = None,
        tokens: Tokens | None = None,
        rows_R: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """hidden_BTH -> [B, T, H]; with rows_R (places in B * T) every token is attended to, but only those rows are
        carried on, [R, H]. With tokens, hidden_BTH is [X, H] without padding, and so is what comes out."""
        attended_XH = self.attention(
            hidden_BTH, mask_B11T, layer=layer, trace=trace, interventions=interventions, tokens=tokens, rows_R=rows_R
        )
        hidden_XH = hidden_BTH
        if rows_R is not None and tokens is None:
            hidden_XH = hidden_BTH.flatten(0, 1).index_select(0, rows_R)
        elif rows_R is not None:
            hidden_XH = hidden_BTH.index_select(0, tokens.index(rows_R))
        return self.after_attention(hidden_XH, attended_XH)

    def after_attention(self, hidden_XH: torch.Tensor, attended_XH: torch.Tensor) -> torch.Tensor:
        """What went into the attention and what came out of it -> the block's output, [X, H]."""
        hidden_XH = self.attention_norm(hidden_XH + self.dropout(attended_XH))
        return self.feed_forward_norm(hidden_XH + self.dropout(self.feed_forward(hidden_XH)))


class Encoder(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.layers = nn.ModuleList(Block(config) for _ in range(config.num_layers))

    def forward(
        self,
        hidden_BTH: torch.Tensor,
        mask_B11T: torch.Tensor | None = None,
        *,
        trace: Trace | None = None,
        interventions: Interventions | None = None,
        tokens: Tokens | None = None,
        rows_R: torch.Tensor | None = None,
        below: int = 0,
    ) -> torch.Tensor:
        """The embeddings -> the last layer's output, both [B, T, H]; with rows_R only those rows of it, [R, H].

        mask_B11T: see `attention.additive_mask`. tokens: leave padding out on the way; what comes out there means
        nothing, and nothing can be recorded or changed. below: how many blocks `hidden_BTH` has been through already.
        """
        if tokens is not None:
            assert trace is None, "what is recorded has its padding"
            assert interventions is None, "what is changed has its padding"
            hidden_BTH = tokens.take(hidden_BTH)
        if interventions is not None:
            hidden_BTH = interventions.patch(below, hidden_BTH)
        if trace is not None:
            trace.record("hidden", hidden_BTH)
        for layer, block in enumerate(self.layers[below:], below):
            wanted_R = rows_R if layer == len(self.layers) - 1 else None
            hidden_BTH = block(
                hidden_BTH,
                mask_B11T,
                layer=layer,
                trace=trace,
                interventions=interventions,
                tokens=tokens,
                rows_R=wanted_R,
            )
            if interventions is not None:
                hidden_BTH = interventions.patch(layer + 1, hidden_BTH)
            if trace is not None:
                trace.record("hidden", hidden_BTH)
        return hidden_BTH if tokens is None or rows_R is not None else tokens.spread(hidden_BTH)

    def without_each_head(
        self,
        hidden_1TH: torch.Tensor,
        mask_B11T: torch.Tensor | None = None,
        *,
        layer: int,
        positions_P: torch.Tensor,
        at_once: int,
    ) -> torch.Tensor:
        """The last layer's output at positions_P when head 0, 1, ... of one layer alone is silent -> [N, P, H].

        hidden_1TH: what goes into that layer; below it nothing changes. at_once: silent heads carried up together.
        """
        block, top = self.layers[layer], layer == len(self.layers) - 1
        attended_NTH = block.attention.without_each(hidden_1TH, mask_B11T, positions_P if top else None)
        if top:
            hidden_1TH = hidden_1TH[:, positions_P]
        found = []
        for attended_BTH in attended_NTH.split(at_once):
            hidden_BPH = block.after_attention(hidden_1TH, attended_BTH)
            if not top:
                B, T, H = hidden_BPH.shape
                rows_R = (torch.arange(B, device=positions_P.device)[:, None] * T + positions_P).flatten()
                hidden_BPH = self(hidden_BPH, mask_B11T, rows_R=rows_R, below=layer + 1).view(B, -1, H)
            found.append(hidden_BPH)
        return torch.cat(found)


def fuse(model: nn.Module, backend: str = "inductor") -> None:
    """Compile what the blocks of a model do to tokens one by one: GELU, sums, LayerNorm and dropout, which a GPU else
    does in a kernel each. A few graphs (with padding and without, learning and asked) serve all blocks and any number
    of tokens; attention stays as it is. What was compiled before is forgotten: `torch` keeps only so many graphs."""
    torch.compiler.reset()
    compiled = torch.compile(Block.after_attention, dynamic=True, backend=backend)
    for block in model.modules():
        if isinstance(block, Block):
            block.after_attention = MethodType(compiled, block)  # which goes along with a deep copy

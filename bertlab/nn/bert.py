"""BERT whole: embeddings, encoder, pooler, and the heads it was built with (Devlin et al. 2019).

Knows integers in and tensors out; no text, no file, no loss.

Shape legend: B batch, T tokens, H hidden, V vocabulary; X any leading shape.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.config.errors import MissingHead
from bertlab.nn.attention import additive_mask, knows_ragged_rows, left_to_right_mask
from bertlab.nn.embeddings import Embeddings
from bertlab.nn.encoder import Encoder
from bertlab.nn.fast.bucketed_attention import pays_by_heads
from bertlab.nn.fast.packing import Tokens
from bertlab.nn.heads import HEADS
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace


class Inputs(Protocol):
    """What a BERT reads. attention_mask_BT is True on tokens, and `lengths` says how many each row has; None says that
    there is no padding, and then nobody asks for lengths."""

    input_ids_BT: torch.Tensor
    token_type_ids_BT: torch.Tensor
    attention_mask_BT: torch.Tensor | None
    lengths: list[int]


class Pooler(nn.Module):
    """tanh(W h_[CLS] + b): what stands for the whole input (`BertModel` in google-research/bert/modeling.py)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.dense(hidden_BTH[:, 0]))


@dataclass(frozen=True)
class Encoded:
    """hidden_BTH: the last layer's output. pooled_BH: computed when first asked for.

    last_B: the last token of each row where that one is pooled, as only it has seen the others; None for the first.
    """

    hidden_BTH: torch.Tensor
    pooler: Pooler
    last_B: torch.Tensor | None = None

    @cached_property
    def pooled_BH(self) -> torch.Tensor:
        if self.last_B is None:
            return self.pooler(self.hidden_BTH)
        row_B = torch.arange(len(self.last_B), device=self.last_B.device)
        return self.pooler(self.hidden_BTH[row_B, self.last_B, None])


class Bert(nn.Module):
    """A BERT with fresh weights and the heads asked for, by their names in `heads.HEADS`.

    >>> config = ModelConfig(vocab_size=10, hidden_size=8, num_layers=1, num_heads=2, intermediate_size=16)
    >>> Bert(config, heads=["nsp", "mlm"]).head_names
    ('mlm', 'nsp')
    """

    def __init__(self, config: ModelConfig, heads: Iterable[str] = ()):
        super().__init__()
        wanted = set(heads)
        assert wanted <= HEADS.keys(), f"unknown heads {wanted - HEADS.keys()}; there are {list(HEADS)}"
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config)
        self.heads = nn.ModuleDict({name: row.build(config) for name, row in HEADS.items() if name in wanted})
        self.apply(self.initialise)

    @property
    def head_names(self) -> tuple[str, ...]:
        return tuple(self.heads)

    def add_heads(self, names: Iterable[str]) -> None:
        """Give the model those of these heads that it lacks, with fresh weights."""
        for name in names:
            if name not in self.heads:
                self.heads[name] = (
                    HEADS[name].build(self.config).apply(self.initialise).to(self.embeddings.token.weight)
                )

    def forward(
        self, batch: Inputs, *, trace: Trace | None = None, interventions: Interventions | None = None
    ) -> Encoded:
        """Encode a batch.

        Raises:
            TextError: more tokens than the model has positions.
            InterventionError: a change asked of a layer, head or position that is not there.
        """
        if interventions is not None:
            num_rows, num_tokens = batch.input_ids_BT.shape
            interventions.check(self.config, num_tokens, num_rows)
        hidden_BTH = self.embeddings(batch.input_ids_BT, batch.token_type_ids_BT, trace)
        mask, tokens = self._padding(batch, hidden_BTH, kept=bool(trace or interventions))
        hidden_BTH = self.encoder(hidden_BTH, mask, trace=trace, interventions=interventions, tokens=tokens)
        return self._encoded(hidden_BTH, batch.attention_mask_BT)

    def without_each_head(
        self, hidden_1TH: torch.Tensor, layer: int, positions_P: torch.Tensor, at_once: int
    ) -> torch.Tensor:
        """What `forward` makes of one input without padding when head 0, 1, ... of a layer alone is silent, at the
        positions that are read -> hidden_NPH.

        Args:
            hidden_1TH: the input's hidden states after `layer` blocks (0: the embeddings), which all share.
            at_once: silent heads carried up together; it bounds the memory.
        """
        mask = self._mask(None, hidden_1TH)
        return self.encoder.without_each_head(hidden_1TH, mask, layer=layer, positions_P=positions_P, at_once=at_once)

    def hidden_rows(self, batch: Inputs, rows_R: torch.Tensor) -> torch.Tensor:
        """The last layer's output at rows_R (places in the flattened B * T) -> hidden_RH.

        Equal to picking those rows from `forward`, without computing the last layer's feed-forward for the others:
        pre-training reads 15 % of the tokens, a classifier one of each row. A row in padding means nothing.
        """
        hidden_BTH = self.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
        mask, tokens = self._padding(batch, hidden_BTH)
        return self.encoder(hidden_BTH, mask, tokens=tokens, rows_R=rows_R)

    def pooled(self, batch: Inputs) -> torch.Tensor:
        """Equal to `forward(batch).pooled_BH`, without the last feed-forward for other tokens: see `hidden_rows`."""
        B, T = batch.input_ids_BT.shape
        rows_B = torch.arange(B, device=batch.input_ids_BT.device) * T
        if self.config.left_to_right:
            rows_B = rows_B + _last(batch.input_ids_BT, batch.attention_mask_BT)
        return self.pooler(self.hidden_rows(batch, rows_B)[:, None])

    def _padding(
        self, batch: Inputs, hidden_BTH: torch.Tensor, kept: bool = False
    ) -> tuple[torch.Tensor | None, Tokens | None]:
        """How the encoder learns of padding: by a mask, if it is kept, or by the tokens that are none; where there is
        none, mostly by neither. A GPU is waited for here, as a step begins."""
        attention_mask_BT = batch.attention_mask_BT
        if torch.compiler.is_compiling():
            return self._mask(attention_mask_BT, hidden_BTH), None
        B, T = hidden_BTH.shape[:2]
        lengths = [] if attention_mask_BT is None else batch.lengths
        full = min(lengths, default=T) == T
        ragged = knows_ragged_rows(hidden_BTH, self.config.head_size)
        by_heads = pays_by_heads(hidden_BTH)
        if kept or (full and not by_heads) or not (ragged or hidden_BTH.device.type == "cpu"):
            return self._mask(None if full else attention_mask_BT, hidden_BTH), None
        if ragged:
            return None, Tokens.in_a_row(attention_mask_BT, lengths, self.config.left_to_right)
        real_BT = torch.ones(B, T, dtype=torch.bool) if attention_mask_BT is None else attention_mask_BT
        num_heads = self.config.num_heads if by_heads else None
        return None, Tokens.in_groups(real_BT, partial(self._mask, hidden_BTH=hidden_BTH), num_heads=num_heads)

    def _mask(self, attention_mask_BT: torch.Tensor | None, hidden_BTH: torch.Tensor) -> torch.Tensor | None:
        mask_B11T = additive_mask(attention_mask_BT, hidden_BTH.dtype)
        if not self.config.left_to_right:
            return mask_B11T
        T = hidden_BTH.shape[1] if attention_mask_BT is None else attention_mask_BT.shape[1]
        return left_to_right_mask(mask_B11T, T, hidden_BTH)

    def _encoded(self, hidden_BTH: torch.Tensor, attention_mask_BT: torch.Tensor | None) -> Encoded:
        if not self.config.left_to_right:
            return Encoded(hidden_BTH, self.pooler)
        return Encoded(hidden_BTH, self.pooler, _last(hidden_BTH[..., 0], attention_mask_BT))

    def mlm(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Which word stood here: hidden states of any leading shape -> logits_XV. Raises MissingHead."""
        return self.head("mlm")(hidden_XH, self.embeddings.token.weight)

    def nsp(self, pooled_BH: torch.Tensor) -> torch.Tensor:
        """Does B follow A: -> logits_B2, 0 = IsNext, 1 = NotNext. Raises MissingHead."""
        return self.head("nsp")(pooled_BH)

    def span(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        """Where the answer starts (0) and ends (1): -> logits_BT2. Raises MissingHead."""
        return self.head("span")(hidden_BTH)

    def classify(self, pooled_XH: torch.Tensor) -> torch.Tensor:
        """Which of `config.labels` an input is: -> logits, [X, labels]. Raises MissingHead."""
        return self.head("classify")(pooled_XH)

    def regress(self, pooled_XH: torch.Tensor) -> torch.Tensor:
        """A number for each input: -> value_X. Raises MissingHead."""
        return self.head("regress")(pooled_XH)[..., 0]

    def choose(self, pooled_XH: torch.Tensor) -> torch.Tensor:
        """How well a choice fits its context, one input for each: -> score_X, a logit among those of the same context.
        Raises MissingHead."""
        return self.head("choose")(pooled_XH)[..., 0]

    def tag(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Which of `config.labels` each token is: -> logits, [X, labels]. Raises MissingHead."""
        return self.head("tag")(hidden_XH)

    def head(self, name: str) -> nn.Module:
        """The head of this name. Raises MissingHead: the checkpoint has none, and how to come by one; or it was taught
        the next word and no masks."""
        if name == "mlm" and self.config.left_to_right:
            raise MissingHead("this checkpoint reads from left to right and guesses the next word: it fills no masks")
        if name not in self.heads:
            raise MissingHead(f"this checkpoint has no {HEADS[name].title} head: {HEADS[name].remedy}")
        return self.heads[name]

    def initialise(self, module: nn.Module) -> None:
        """Weights from a normal cut at two standard deviations, biases 0 (`create_initializer` in
        google-research/bert/modeling.py); LayerNorm is born as 1 and 0."""
        if isinstance(module, nn.Linear | nn.Embedding):
            sd = self.config.initializer_range
            nn.init.trunc_normal_(module.weight, std=sd, a=-2 * sd, b=2 * sd)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)


def _last(inputs_BT: torch.Tensor, attention_mask_BT: torch.Tensor | None) -> torch.Tensor:
    """Where the last token of each row is, [B]."""
    B, T = inputs_BT.shape
    if attention_mask_BT is None:
        return torch.full((B,), T - 1, device=inputs_BT.device)
    return (attention_mask_BT.sum(1) - 1).clamp(min=0)

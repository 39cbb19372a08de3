"""A two-layer BiLSTM on features of a BERT, then an output layer.

The paper uses it twice: on a left-to-right model while all weights are fine-tuned (Devlin et al. 2019, section 5.1),
and on the activations of a frozen encoder (section 5.3). It has the interface of a `Bert`, so losses and metrics take
either.

Shape legend: B batch, T tokens, H hidden, W width of the features, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.nn.bert import Bert, Encoded, Inputs, Pooler
from bertlab.nn.heads import HEADS, TaskHeads
from bertlab.nn.trace import Trace


@dataclass(frozen=True)
class Pick:
    """Which hidden states of an encoder are the features."""

    of: Callable[[int], range]
    """Number of layers L -> indices of the L + 1 hidden states, of which 0 is the embeddings."""
    weighted: bool = False
    """Whether they are summed with learned weights, not concatenated."""


# table 7 of the paper; for the last four layers an encoder of fewer gives all it has
PICKS = {
    "embeddings": Pick(lambda L: range(1)),
    "last": Pick(lambda L: range(L, L + 1)),
    "second-to-last": Pick(lambda L: range(L - 1, L)),
    "sum-4": Pick(lambda L: range(max(1, L - 3), L + 1), weighted=True),
    "concat-4": Pick(lambda L: range(max(1, L - 3), L + 1)),
    "sum-all": Pick(lambda L: range(1, L + 1), weighted=True),
}


class OnTop(TaskHeads):
    """Encoder -> features -> BiLSTM -> a fresh output layer.

    Args:
        bert: without output layers; its configuration names the labels.
        head: a key of `heads.HEADS`.
        pick: a key of `PICKS`.
        width: of the LSTM, in each direction.
        frozen: keep the encoder's weights and switch off its dropout (the feature-based approach).
    """

    def __init__(self, bert: Bert, head: str, *, pick: str = "last", width: int = 128, frozen: bool = False):
        super().__init__()
        assert frozen or pick == "last", "only a frozen encoder gives other layers than its last"
        own = bert.config.replace(hidden_size=2 * width, num_heads=1)
        self.bert, self.config, self.frozen = bert.requires_grad_(not frozen), bert.config, frozen
        self.places, self.weighted = PICKS[pick].of(bert.config.num_layers), PICKS[pick].weighted
        joined = 1 if self.weighted else len(self.places)
        self.mix_L = nn.Parameter(torch.zeros(len(self.places))) if self.weighted else None
        self.lstm = nn.LSTM(joined * bert.config.hidden_size, width, num_layers=2, batch_first=True, bidirectional=True)
        self.pooler = Pooler(own).apply(bert.initialise) if HEADS[head].pooled else None
        self.heads = nn.ModuleDict({head: HEADS[head].build(own).apply(bert.initialise)})
        self.train()

    @property
    def embeddings(self) -> nn.Module:
        """The encoder's embeddings."""
        return self.bert.embeddings

    def train(self, mode: bool = True) -> "OnTop":
        super().train(mode)
        if self.frozen:
            self.bert.eval()
        return self

    def features(self, batch: Inputs) -> torch.Tensor:
        """The input of the BiLSTM -> [B, T, W]."""
        if not self.frozen:
            return self.bert(batch).hidden_BTH
        trace = Trace.of("hidden")
        with torch.no_grad():
            self.bert(batch, trace=trace)
        picked = [trace["hidden"][place] for place in self.places]
        if self.mix_L is None:
            return torch.cat(picked, dim=-1)
        return sum(share * hidden_BTH for share, hidden_BTH in zip(self.mix_L.softmax(0), picked, strict=True))

    def forward(self, batch: Inputs) -> Encoded:
        """Encode a batch. [CLS] is pooled, which the backward LSTM reads last."""
        features_BTW = self.features(batch)
        length_B = batch.attention_mask_BT.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(features_BTW, length_B, batch_first=True, enforce_sorted=False)
        hidden_BTH, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=features_BTW.shape[1])
        return Encoded(hidden_BTH, self.pooler)

    def pooled(self, batch: Inputs) -> torch.Tensor:
        """The pooler's output for each row of a batch, [B, 2 W]; see `Bert.pooled`."""
        return self(batch).pooled_BH

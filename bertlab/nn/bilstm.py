"""A BERT under more than one output layer: features of its layers, a two-layer BiLSTM, then a head.

The paper's two uses of an LSTM: on a left-to-right model while all of it is fine-tuned (Devlin et al. 2019, section
5.1), and on the activations of an encoder that stays as it is (section 5.3). It is asked like a `Bert`, so losses and
measures take either. Knows no labels and no loss.

Shape legend: B batch, T tokens, H hidden, W width of the features, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.nn.bert import Bert, Encoded, Inputs, Pooler
from bertlab.nn.heads import HEADS
from bertlab.nn.trace import Trace


@dataclass(frozen=True)
class Pick:
    """Some layers of an encoder as features: which of its L + 1 hidden states (0: the embeddings); summed with learned
    weights, or side by side."""

    of: Callable[[int], range]
    weighted: bool = False


# table 7 of the paper; an encoder of fewer than four layers gives all it has for the last four
PICKS = {
    "embeddings": Pick(lambda L: range(1)),
    "last": Pick(lambda L: range(L, L + 1)),
    "second-to-last": Pick(lambda L: range(L - 1, L)),
    "sum-4": Pick(lambda L: range(max(1, L - 3), L + 1), weighted=True),
    "concat-4": Pick(lambda L: range(max(1, L - 3), L + 1)),
    "sum-all": Pick(lambda L: range(1, L + 1), weighted=True),
}


class OnTop(nn.Module):
    """Encoder -> features -> BiLSTM -> a fresh head of the kind asked for.

    Args:
        bert: without heads; its configuration names the labels.
        head: of `heads.HEADS`.
        pick: of `PICKS`.
        width: of the LSTM, in each direction.
        frozen: the encoder stays as it is and without dropout (the feature-based approach).
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
        return self.bert.embeddings

    def train(self, mode: bool = True) -> "OnTop":
        super().train(mode)
        if self.frozen:
            self.bert.eval()
        return self

    def features(self, batch: Inputs) -> torch.Tensor:
        """What the BiLSTM reads -> [B, T, W]."""
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
        """Encode a batch; what is pooled is [CLS], which the backward LSTM reads last."""
        features_BTW = self.features(batch)
        length_B = batch.attention_mask_BT.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(features_BTW, length_B, batch_first=True, enforce_sorted=False)
        read_BTH, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=features_BTW.shape[1])
        return Encoded(read_BTH, self.pooler)

    def pooled(self, batch: Inputs) -> torch.Tensor:
        """What stands for each input, [B, 2 W]; see `Bert.pooled`."""
        return self(batch).pooled_BH

    def head(self, name: str) -> nn.Module:
        return self.heads[name]

    # a head is asked as a Bert's is
    classify, regress, choose, tag, span = Bert.classify, Bert.regress, Bert.choose, Bert.tag, Bert.span

"""A two-layer BiLSTM on top of BERT, followed by an output layer, with the interface of `Bert`.

The paper uses it on a left-to-right model with all weights fine-tuned (Devlin et al. 2019, section 5.1), and on a BERT
whose weights are frozen (section 5.3).

Shape legend: B batch, T tokens, H hidden, F feature size, L layers (but in `mix_L`, only the selected layers).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.nn.bert import Bert, BertInput, BertOutput, Pooler
from bertlab.nn.heads import HEADS, TaskHeads
from bertlab.nn.trace import Trace


@dataclass(frozen=True)
class FeatureLayers:
    """Which layers of BERT supply the features, and how their hidden states are combined."""

    select_indices: Callable[[int], range]
    """Takes the number of layers, L; selects indices of BERT's L + 1 hidden states (0: the embeddings)."""
    is_weighted_sum: bool = False  # otherwise they are concatenated


# Row of table 7 in the paper -> the layers of this row. If there are fewer than four layers, "sum-4" and "concat-4" use
# all of them.
FEATURE_LAYERS = {
    "embeddings": FeatureLayers(lambda L: range(1)),
    "last": FeatureLayers(lambda L: range(L, L + 1)),
    "second-to-last": FeatureLayers(lambda L: range(L - 1, L)),
    "sum-4": FeatureLayers(lambda L: range(max(1, L - 3), L + 1), is_weighted_sum=True),
    "concat-4": FeatureLayers(lambda L: range(max(1, L - 3), L + 1)),
    "sum-all": FeatureLayers(lambda L: range(1, L + 1), is_weighted_sum=True),
}


class BertBiLSTM(TaskHeads):
    """BERT, a BiLSTM on its hidden states, and an output layer; the last two have random weights.

    `width` is the hidden size of the LSTM in each direction. With `freezes_bert`, BERT is not trained and has its
    dropout off (the feature-based approach).
    """

    def __init__(
        self, bert: Bert, head: str, *, feature_layers: str = "last", width: int = 128, freezes_bert: bool = False
    ):
        super().__init__()
        assert freezes_bert or feature_layers == "last", "if BERT is trained, only its last layer supplies features"
        selection, lstm_config = FEATURE_LAYERS[feature_layers], bert.config.replace(hidden_size=2 * width, num_heads=1)
        self.bert, self.config, self.freezes_bert = bert.requires_grad_(not freezes_bert), bert.config, freezes_bert
        self.hidden_indices = selection.select_indices(bert.config.num_layers)
        num_selected = len(self.hidden_indices)
        # The softmax of these parameters gives the weights of the sum; None if the hidden states are concatenated.
        self.mix_L = nn.Parameter(torch.zeros(num_selected)) if selection.is_weighted_sum else None
        feature_size = bert.config.hidden_size * (1 if selection.is_weighted_sum else num_selected)
        self.lstm = nn.LSTM(feature_size, width, num_layers=2, batch_first=True, bidirectional=True)
        self.pooler = Pooler(lstm_config).apply(bert.initialise_weights) if HEADS[head].reads_pooled else None
        self.heads = nn.ModuleDict({head: HEADS[head].build(lstm_config).apply(bert.initialise_weights)})
        self.train()

    @property
    def embeddings(self) -> nn.Module:
        return self.bert.embeddings

    def train(self, mode: bool = True) -> "BertBiLSTM":
        super().train(mode)
        if self.freezes_bert:
            self.bert.eval()
        return self

    def compute_features(self, batch: BertInput) -> torch.Tensor:
        """Compute the input of the BiLSTM -> [B, T, F]."""
        if not self.freezes_bert:
            return self.bert(batch).hidden_BTH
        trace = Trace.of("hidden")
        with torch.no_grad():
            self.bert(batch, trace=trace)
        selected = [trace["hidden"][index] for index in self.hidden_indices]
        if self.mix_L is None:
            return torch.cat(selected, dim=-1)
        return sum(weight * hidden_BTH for weight, hidden_BTH in zip(self.mix_L.softmax(0), selected, strict=True))

    def forward(self, batch: BertInput) -> BertOutput:
        """The pooler reads the output at [CLS], where the backward LSTM has read the whole text."""
        features_BTF = self.compute_features(batch)
        length_B = batch.attention_mask_BT.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(features_BTF, length_B, batch_first=True, enforce_sorted=False)
        hidden_BTH, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=features_BTF.shape[1])
        return BertOutput(hidden_BTH, self.pooler)

    def pool(self, batch: BertInput) -> torch.Tensor:
        return self(batch).pooled_BH

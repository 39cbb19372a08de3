"""The output layers on top of the encoder, one row each in `HEADS`; a new kind of head is a new row.

Knows hidden states and logits; no labels and no loss.

Shape legend: B batch, T tokens, H hidden, V vocabulary; X any leading shape.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ACTIVATIONS, ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.nn.fast.dropout import Dropout


class MaskedWordHead(nn.Module):
    """Dense, GELU, LayerNorm, then the token embeddings as decoder plus a bias (`get_masked_lm_output` in
    google-research/bert/run_pretraining.py)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.gelu = ACTIVATIONS[config.activation]

    def transform(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """All but the decoder: -> [X, H]."""
        return self.norm(F.gelu(self.dense(hidden_XH), approximate=self.gelu))

    def forward(self, hidden_XH: torch.Tensor, token_embedding_VH: torch.Tensor) -> torch.Tensor:
        """-> logits_XV."""
        return F.linear(self.transform(hidden_XH), token_embedding_VH, self.bias)


class Classifier(nn.Linear):
    """Dropout, then one row of weights for each label (`create_model` in google-research/bert/run_classifier.py)."""

    def __init__(self, config: ModelConfig, num_labels: int):
        if not num_labels:
            raise CheckpointError("this head needs the names of its labels: the configuration has none")
        super().__init__(config.hidden_size, num_labels)
        self.dropout = Dropout(config.hidden_dropout)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """-> logits, [X, labels], float32 whatever the rest computes in: a value such as 4.37 needs its last digits."""
        hidden_XH = self.dropout(hidden_XH).float()
        return F.linear(hidden_XH, self.weight.float(), self.bias.float())


@dataclass(frozen=True)
class HeadSpec:
    """build: the module of a configuration. title: what a user calls it. remedy: how a checkpoint comes by one.
    pooled: whether it reads the pooler's output."""

    build: Callable[[ModelConfig], nn.Module]
    title: str
    remedy: str
    pooled: bool = False


PRETRAIN_REMEDY = "continue its pre-training with `bertlab pretrain --from ...` to get one"

HEADS = {
    "mlm": HeadSpec(MaskedWordHead, "masked-word (MLM)", PRETRAIN_REMEDY),
    # label 0 = IsNext, 1 = NotNext, as in google-research/bert
    "nsp": HeadSpec(lambda config: nn.Linear(config.hidden_size, 2), "next-sentence (NSP)", PRETRAIN_REMEDY, True),
    # row 0 = the paper's S (start), row 1 = its E (end)
    "span": HeadSpec(
        lambda config: nn.Linear(config.hidden_size, 2),
        "question-answering (span)",
        "fine-tune it with `bertlab finetune squad --from ...` to get one",
    ),
    # section 4.1 of the paper: the [CLS] vector against one row of weights a label
    "classify": HeadSpec(
        lambda config: Classifier(config, len(config.labels)),
        "classification",
        "fine-tune it on a task such as `bertlab finetune sst2 --from ...` to get one",
        True,
    ),
    "regress": HeadSpec(
        lambda config: Classifier(config, 1),
        "regression",
        "fine-tune it with `bertlab finetune stsb --from ...` to get one",
        True,
    ),
    # section 4.4: one vector, whose product with each choice's [CLS] is that choice's score
    "choose": HeadSpec(
        lambda config: Classifier(config, 1),
        "multiple-choice",
        "fine-tune it with `bertlab finetune swag --from ...` to get one",
        True,
    ),
    # section 5.3: every token against one row of weights a tag
    "tag": HeadSpec(
        lambda config: Classifier(config, len(config.labels)),
        "tagging",
        "fine-tune it on a task such as `bertlab finetune conll2003 --from ...` to get one",
    ),
}

# these four are all called "classifier" in the Hugging Face layout, so a model has one of them at most
CLASSIFIERS = ("classify", "regress", "choose", "tag")

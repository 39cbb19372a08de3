"""The output layers on top of the encoder; each kind of output layer is one row of `HEADS`.

Shape legend: B batch, T tokens, H hidden, E width of the token embeddings (H in BERT), V vocabulary, K labels; X any
leading shape.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config.config import ACTIVATIONS, ModelConfig
from bertlab.config.errors import CheckpointError, MissingHead
from bertlab.config.families import BERT, Family, HeadNames
from bertlab.config.languages import Message
from bertlab.nn.activation import make_activation
from bertlab.nn.fast.dropout import Dropout


class MaskedTokenHead(nn.Module):
    """Dense, GELU, LayerNorm, then a decoder whose weights are the token embeddings, and which has a bias
    (`get_masked_lm_output` in google-research/bert/run_pretraining.py)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        family = config.family
        size = config.hidden_size if family.decoder_has_own_weights else config.embedding_width
        self.dense = nn.Linear(config.hidden_size, size, bias=family.has_biases)
        self.norm = nn.LayerNorm(size, config.layer_norm_eps, bias=family.has_biases)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.activation = make_activation(family.mlm_activation or config.activation)
        if family.decoder_has_own_weights:
            # The transpose of the weight of `extra` extends the token embeddings, [V, E], to [V, H].
            self.extra = nn.Linear(config.vocab_size, size - config.embedding_width, bias=False)

    def transform(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Apply the layers before the decoder -> [X, E], or [X, H] if the decoder also has weights of its own."""
        return self.norm(self.activation(self.dense(hidden_XH)))

    def make_decoder_weight(self, token_embedding_VE: torch.Tensor) -> torch.Tensor:
        """Return the token embeddings, [V, E]; MobileBERT extends them to [V, H]."""
        if not hasattr(self, "extra"):
            return token_embedding_VE
        return torch.cat([token_embedding_VE, self.extra.weight.T], dim=1)

    def forward(self, hidden_XH: torch.Tensor, token_embedding_VE: torch.Tensor) -> torch.Tensor:
        return F.linear(self.transform(hidden_XH), self.make_decoder_weight(token_embedding_VE), self.bias)


class TokenTransform(nn.Module):
    """Dense, GELU, LayerNorm, [X, H] -> [X, H] (`ModernBertPredictionHead` in `transformers`)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        has_biases = config.family.has_biases
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=has_biases)
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps, bias=has_biases)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        return self.norm(F.gelu(self.dense(hidden_XH)))


class FeedForwardTransform(nn.Module):
    """Feed-forward network, residual sum, LayerNorm, [X, H] -> [X, H] (`BigBirdForQuestionAnsweringHead` in
    `transformers`)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.activation = make_activation(config.activation)
        self.dropout = Dropout(config.hidden_dropout)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        change_XH = self.down(self.activation(self.up(self.dropout(hidden_XH))))
        return self.norm(hidden_XH + self.dropout(change_XH))


class SpanHead(nn.Linear):
    """Two logits for each token: whether an answer starts there, and whether one ends there.

    In ModernBERT, a `TokenTransform` comes first; in BigBird, a `FeedForwardTransform`.
    """

    def __init__(self, config: ModelConfig):
        super().__init__(config.hidden_size, 2)
        self.transform: nn.Module = nn.Identity()
        if config.family.token_heads_have_dense_layer:
            self.transform = TokenTransform(config)
        elif config.family.span_head_has_feed_forward:
            self.transform = FeedForwardTransform(config)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        return super().forward(self.transform(hidden_XH))


class ReplacedTokenHead(nn.Linear):
    """Dense, GELU, then one logit for each token: whether it was replaced (Clark et al. 2020, arXiv 2003.10555,
    section 2; `ElectraDiscriminatorPredictions` in `transformers`)."""

    def __init__(self, config: ModelConfig):
        super().__init__(config.hidden_size, 1)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.gelu_approximation = ACTIVATIONS[config.activation]

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Compute logits_X1; positive for tokens that were probably replaced."""
        return super().forward(F.gelu(self.dense(hidden_XH), approximate=self.gelu_approximation))


class LinearHead(nn.Linear):
    """Dropout, then one row of weights for each output (`create_model` in google-research/bert/run_classifier.py).

    With `has_transform`, a `TokenTransform` comes before the dropout. Raises CheckpointError if there are no outputs.
    """

    def __init__(self, config: ModelConfig, num_outputs: int, has_transform: bool = False):
        if not num_outputs:
            raise CheckpointError("labels-missing")
        super().__init__(config.hidden_size, num_outputs)
        self.transform = TokenTransform(config) if has_transform else nn.Identity()
        self.dropout = Dropout(config.hidden_dropout)

    def forward(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Compute logits_XK, always in float32, because bfloat16 would round a regression value such as 4.37."""
        hidden_XH = self.dropout(self.transform(hidden_XH)).float()
        return F.linear(hidden_XH, self.weight.float(), self.bias.float())


@dataclass(frozen=True)
class HeadSpec:
    """An output layer that a model can have."""

    build: Callable[[ModelConfig], nn.Module]
    title: Message  # the name that users see
    remedy: Message  # advice for users whose checkpoint lacks this output layer
    hf_class: str  # the class of `transformers` that loads a checkpoint whose only output layer is this one
    hf_modules: Mapping[str, str]  # our submodule ("" for the layer itself) -> module in `hf_class`
    reads_pooled: bool = False  # False if it reads hidden states
    has_labels: bool = False  # whether its outputs are the labels of the configuration, `ModelConfig.labels`


# `HeadSpec.hf_modules` of the layers that `transformers` names "classifier".
HF_CLASSIFIER = {"": "classifier"}

# Name of an output layer -> its description.
HEADS = {
    "mlm": HeadSpec(
        MaskedTokenHead, Message("head-mlm"), Message("head-remedy-pretrain"), "BertForMaskedLM",
        {"": "cls.predictions", "dense": "cls.predictions.transform.dense",
         "norm": "cls.predictions.transform.LayerNorm"},
    ),
    # Label 0 is IsNext and 1 is NotNext, as in google-research/bert.
    "nsp": HeadSpec(
        lambda config: nn.Linear(config.hidden_size, 2), Message("head-nsp"), Message("head-remedy-pretrain"),
        "BertForNextSentencePrediction", {"": "cls.seq_relationship"}, reads_pooled=True,
    ),
    # Row 0 of the weights is the paper's start vector S, row 1 its end vector E.
    "span": HeadSpec(
        SpanHead, Message("head-span"),
        Message("head-remedy-finetune", task="squad"), "BertForQuestionAnswering", {"": "qa_outputs"},
    ),
    # Section 4.1 of the paper: the product of the pooled [CLS] vector with one row of weights for each label.
    "classify": HeadSpec(
        lambda config: LinearHead(config, len(config.labels)), Message("head-classify"),
        Message("head-remedy-finetune", task="sst2"), "BertForSequenceClassification", HF_CLASSIFIER, reads_pooled=True,
        has_labels=True,
    ),
    "regress": HeadSpec(
        lambda config: LinearHead(config, 1), Message("head-regress"), Message("head-remedy-finetune", task="stsb"),
        "BertForSequenceClassification", HF_CLASSIFIER, reads_pooled=True,
    ),
    # Section 4.4: the score of a choice is the product of its pooled [CLS] vector with one vector of weights.
    "choose": HeadSpec(
        lambda config: LinearHead(config, 1), Message("head-choose"), Message("head-remedy-finetune", task="swag"),
        "BertForMultipleChoice", HF_CLASSIFIER, reads_pooled=True,
    ),
    # Section 5.3: the product of every token's hidden state with one row of weights for each tag.
    "tag": HeadSpec(
        lambda config: LinearHead(config, len(config.labels), config.family.token_heads_have_dense_layer),
        Message("head-tag"), Message("head-remedy-finetune", task="conll2003"), "BertForTokenClassification",
        HF_CLASSIFIER, has_labels=True,
    ),
    "rtd": HeadSpec(
        ReplacedTokenHead, Message("head-rtd"), Message("head-remedy-electra"), "BertForPreTraining",
        {"": "discriminator_predictions.dense_prediction", "dense": "discriminator_predictions.dense"},
    ),
    # BERTSUM (Liu 2019, arXiv 1903.10318), section 3.1: the logit that a sentence is in the summary, from its [CLS].
    "summarise": HeadSpec(
        lambda config: LinearHead(config, 1), Message("head-summarise"),
        Message("head-remedy-finetune", task="custom --type summarisation"), "BertModel", {"": "summary_layer"},
    ),
}  # fmt: skip


def register_head(name: str, head: HeadSpec) -> None:
    HEADS[name] = head


def get_hf_head_names(name: str, family: Family = BERT) -> HeadNames:
    """Return the class and module names with which checkpoints of a family store an output layer."""
    if name in family.heads:
        return family.heads[name]
    head = HEADS[name]
    return HeadNames(head.hf_class.replace("Bert", family.class_prefix, 1), head.hf_modules)


def find_conflicting_heads(names: Iterable[str], family: Family = BERT) -> dict[str, list[str]]:
    """Find output layers that share a module of Hugging Face checkpoints -> {module: output layers}.

    >>> find_conflicting_heads(["mlm", "classify", "tag"])
    {'classifier': ['classify', 'tag']}
    """
    by_module: dict[str, list[str]] = {}
    for name in names:
        hf_names = get_hf_head_names(name, family)
        for module in dict.fromkeys([*hf_names.modules.values(), *hf_names.pooler.values()]):
            by_module.setdefault(module, []).append(name)
    return {module: heads for module, heads in by_module.items() if len(heads) > 1}


class TaskHeads(nn.Module):
    """Base class of models with output layers.

    A subclass sets `config`, creates `embeddings` and its layers, defines `initialise_weights` and calls `build_heads`.
    """

    config: ModelConfig
    embeddings: Any  # `nn.bert.Embeddings`, or those of the family
    heads: nn.ModuleDict
    initialise_weights: Callable[[nn.Module], None]
    pool: Callable[..., torch.Tensor]
    encode_positions: Callable[..., torch.Tensor]

    def build_heads(self, names: Iterable[str]) -> None:
        names = set(names)
        assert names <= HEADS.keys(), f"unknown output layers {names - HEADS.keys()}; HEADS has {list(HEADS)}"
        self.heads = nn.ModuleDict({name: spec.build(self.config) for name, spec in HEADS.items() if name in names})

    def add_heads(self, names: Iterable[str]) -> None:
        """Add the output layers that the model lacks, with random weights."""
        for name in names:
            if name not in self.heads:
                head = HEADS[name].build(self.config).apply(self.initialise_weights)
                self.heads[name] = head.to(self.embeddings.token.weight)

    @property
    def head_names(self) -> tuple[str, ...]:
        return tuple(self.heads)

    def head(self, name: str) -> nn.Module:
        """Return an output layer; raises MissingHead."""
        self.require_head(name)
        return self.heads[name]

    def require_head(self, name: str) -> None:
        """Raise MissingHead if the model lacks this output layer ("" passes), or is causal and `name` is mlm."""
        if name == "mlm" and self.config.left_to_right:
            raise MissingHead("head-mlm-causal")
        if name and name not in self.head_names:
            raise MissingHead("head-missing", head=HEADS[name].title, remedy=HEADS[name].remedy)

    @property
    def gives_hidden_states(self) -> bool:
        """Whether calling the model returns hidden states; a model in an ONNX file may return only logits."""
        return True

    def logits(self, name: str, batch, positions_R: torch.Tensor | None = None) -> torch.Tensor:
        """Compute the logits of an output layer for a batch.

        They are [B, K] if it reads the pooler, otherwise [B, T, K] or, at `positions_R` (indices of B * T), [R, K].
        Raises MissingHead (see `require_head`) and TextError (more tokens than positions).
        """
        layer = self.head(name)
        if HEADS[name].reads_pooled:
            return layer(self.pool(batch))
        hidden = self(batch).hidden_BTH if positions_R is None else self.encode_positions(batch, positions_R)
        return layer(hidden, self.embeddings.token.weight) if name == "mlm" else layer(hidden)

    def mlm(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Predict masked tokens -> logits_XV."""
        return self.head("mlm")(hidden_XH, self.embeddings.token.weight)

    def nsp(self, pooled_XH: torch.Tensor) -> torch.Tensor:
        """Predict whether sentence B follows A -> logits_X2, 0 = IsNext, 1 = NotNext."""
        return self.head("nsp")(pooled_XH)

    def span(self, hidden_BTH: torch.Tensor) -> torch.Tensor:
        """Predict the start (0) and the end (1) of an answer -> logits_BT2."""
        return self.head("span")(hidden_BTH)

    def classify(self, pooled_XH: torch.Tensor) -> torch.Tensor:
        """Classify into `config.labels` -> logits_XK."""
        return self.head("classify")(pooled_XH)

    def regress(self, pooled_XH: torch.Tensor) -> torch.Tensor:
        """Predict a number -> value_X."""
        return self.head("regress")(pooled_XH)[..., 0]

    def choose(self, pooled_XH: torch.Tensor) -> torch.Tensor:
        """Score a choice -> score_X, its logit in the softmax over the choices of a context."""
        return self.head("choose")(pooled_XH)[..., 0]

    def tag(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Tag tokens with `config.labels` -> logits_XK."""
        return self.head("tag")(hidden_XH)

    def rtd(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Predict whether a token was replaced -> logit_X."""
        return self.head("rtd")(hidden_XH)[..., 0]

    def summarise(self, hidden_XH: torch.Tensor) -> torch.Tensor:
        """Score sentences by their [CLS] -> logit_X that a sentence belongs to the summary."""
        return self.head("summarise")(hidden_XH)[..., 0]

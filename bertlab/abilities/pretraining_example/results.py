"""The results of one pre-training example; `pretraining_example` computes them.

A draw is one random choice of sentence B and of the tokens to predict.
"""

from dataclasses import dataclass
from typing import Literal

from bertlab.tasks.masked_lm import Candidate
from bertlab.tasks.sentence_pair import NextSentence
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName

ReplacementKind = Literal["mask", "random", "unchanged"]
"""What replaces a predicted token in the input: [MASK], a random token, or nothing ("unchanged")."""


@dataclass(frozen=True)
class ExampleLosses:
    """The losses of one drawn example, in nats."""

    seed: int
    """The seed of the random choices; the app calls it the number of the draw."""
    mlm: float
    """The MLM loss: the mean over the predicted tokens."""
    pair: float | None
    """The loss of the sentence pair; None if the checkpoint was not trained on the objective of the draw."""
    total: float
    """The loss that training minimises: the sum of `mlm` and, if there is one, `pair`."""

    @property
    def draw(self) -> int:
        """The old name of `seed`."""
        return self.seed


class _OldTokenNames:
    """The old names of two fields, which `ExampleToken` and `TokenPrediction` have."""

    @property
    def fate(self) -> ReplacementKind | None:
        """The old name of `replacement_kind`."""
        return self.replacement_kind

    @property
    def read(self) -> str:
        """The old name of `input_token`."""
        return self.input_token


@dataclass(frozen=True)
class ExampleToken(_OldTokenNames):
    """A token of the input."""

    position: int
    """The position in the input, from 0."""
    token: str
    """The token of the text."""
    segment: int
    """0 for [CLS] A [SEP], 1 for B [SEP]."""
    special: bool
    """Whether the token is a [CLS] or [SEP] that was added to the sentences."""
    input_token: str
    """The token that the model reads here; it differs from `token` where the token is replaced."""
    replacement_kind: ReplacementKind | None = None
    """What replaces the token, if it is predicted; otherwise None."""


@dataclass(frozen=True)
class TokenPrediction(_OldTokenNames):
    """The prediction for one of the tokens that were chosen to be predicted."""

    position: int
    """The position in the input, from 0."""
    token: str
    """The true token, which is the label."""
    id: int
    """The id of the true token."""
    replacement_kind: ReplacementKind
    """What replaces the true token in the input."""
    input_token: str
    """The token that the model reads here."""
    probability: float
    """The probability of the true token, in 0..1."""
    rank: int
    """The rank of the true token by probability; 1 is the most probable."""
    loss: float
    """-ln of the probability, in nats."""
    candidates: tuple[Candidate, ...]
    """The most probable tokens, most probable first."""


@dataclass(frozen=True)
class PretrainingExample:
    """One drawn example, with the predictions and losses of a checkpoint."""

    seed: int
    """The seed of the random choices; the app calls it the number of the draw."""
    pair_objective: Literal["next", "order"]
    """The objective that the pair was drawn for."""
    label: int
    """0 for "IsNext" or "in order", 1 for "NotNext" or "swapped"."""
    label_name: str
    """The name of the label: "IsNext", "NotNext", "in order" or "swapped"."""
    document_b: str | None
    """The document that a random B was taken from; None if B is from the text itself."""
    text_tokens: int
    """The number of tokens in the whole text, of which the pair may hold only a part."""
    text_sentences: int
    """The number of sentences in the whole text; a single one is cut at a random place into A and B."""
    tokens: tuple[ExampleToken, ...]
    """The input."""
    predictions: tuple[TokenPrediction, ...]
    """The predictions for the tokens that were chosen to be predicted, in the order of the input."""
    pair: NextSentence | None
    """The prediction for the pair; None if the checkpoint was not trained on the objective of the draw."""
    checkpoint_objective: PairObjectiveName
    """The sentence-pair objective of the checkpoint; "none" without a sentence-pair output layer."""
    losses: ExampleLosses
    """The losses of this draw."""

    @property
    def draw(self) -> int:
        """The old name of `seed`."""
        return self.seed

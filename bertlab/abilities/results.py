"""The results of `Session`: frozen dataclasses of plain values and numpy arrays, ready to draw or to print.

They contain no tensors and no model. `as_json` converts a result for `--json`.

Shape legend: T tokens, H hidden, N heads, D head size, L layers.
"""

from dataclasses import asdict, dataclass, is_dataclass

import numpy as np

from bertlab.tasks.span.answer import Answers


@dataclass(frozen=True)
class TokenRow:
    """One token of an encoded text."""

    position: int
    """The position of the token in the input, from 0."""
    id: int
    """The id of the token in the vocabulary."""
    token: str
    """The text of the token in the vocabulary."""
    start: int
    """The index of the token's first character in its text, A or B; 0 for the added [CLS] and [SEP]."""
    end: int
    """The index after the token's last character; 0 for the added [CLS] and [SEP]."""
    segment: int
    """0 for text A, 1 for text B."""
    special: bool
    """Whether the token is a [CLS] or [SEP] that the tokenizer added."""


@dataclass(frozen=True)
class WordEffect:
    """The effect of one word on a prediction; see `WordEffects`."""

    text: str
    """The word."""
    start: int
    """The index of the word's first character in the text that contains the word."""
    end: int
    """The index after the word's last character."""
    second: bool
    """Whether the word is in the second text."""
    effect: float
    """The decrease in the label's log-odds, or in the value of a regression, when the word is masked; positive if the
    word increases the log-odds or the value."""


@dataclass(frozen=True)
class WordEffects:
    """The effect of every word on the predicted label or, for a regression, on the value."""

    label: str | None
    """The predicted label, whose log-odds log(p / (1 - p)) are compared; None for a regression."""
    words: tuple[WordEffect, ...]
    """The words of both texts, in order."""


@dataclass(frozen=True)
class WindowReading:
    """The prediction for one window: [CLS] question [SEP] part of the passage [SEP]."""

    start: int
    """The index in the passage of the first character that the window contains."""
    end: int
    """The index in the passage after the last character that the window contains."""
    tokens: tuple[TokenRow, ...]
    """The tokens of the window; those of the passage (segment 1) have offsets into the passage."""
    start_probs_T: np.ndarray
    """The probability that the answer starts at each token: softmax over the window, including [CLS]."""
    end_probs_T: np.ndarray
    """The probability that the answer ends at each token: softmax over the window, including [CLS]."""
    answer: tuple[int, int] | None
    """The start and the end of the window's best span, in characters of the passage; None if there is no span."""
    score: float
    """The score of that span; -inf if there is no span."""
    no_answer_score: float
    """The sum of the start logit and the end logit of [CLS], S.C + E.C in the paper."""


@dataclass(frozen=True)
class SpanXray:
    """The answers to a question, and the prediction for every window of the passage."""

    answers: Answers
    """The answers, as `Session.answer` returns them."""
    answer_windows: tuple[int, ...]
    """For each answer, the index of the window that contains it."""
    readings: tuple[WindowReading, ...]
    """The prediction for each window by itself."""

    @property
    def margin(self) -> float:
        """The no-answer score minus the best span's score.

        The result is "no answer" if this margin exceeds the no-answer threshold (tau in the paper).
        """
        return self.answers.no_answer_margin


@dataclass(frozen=True)
class SpanAttention:
    """The attention from the question and from the answer in one window, for every head."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the window."""
    question: tuple[int, ...]
    """Positions of the question's tokens."""
    answer: tuple[int, ...]
    """Positions of the answer's tokens."""
    from_question_LNT: np.ndarray
    """Attention to each token, averaged over the question's tokens; each row sums to 1."""
    from_answer_LNT: np.ndarray
    """Attention to each token, averaged over the answer's tokens; each row sums to 1."""

    @property
    def question_to_answer_LN(self) -> np.ndarray:
        """The share of the question's attention that goes to the answer."""
        return self.from_question_LNT[:, :, list(self.answer)].sum(-1)

    @property
    def answer_to_question_LN(self) -> np.ndarray:
        """The share of the answer's attention that goes to the question."""
        return self.from_answer_LNT[:, :, list(self.question)].sum(-1)


@dataclass(frozen=True)
class AttentionMap:
    """Every head's attention over one input."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    probs_LNTT: np.ndarray
    """Attention probabilities, float32; rows are queries and sum to 1."""


@dataclass(frozen=True)
class HeadVectors:
    """The queries and keys of every head, and the attention that results from them."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    queries_LNTD: np.ndarray
    """The query of every token in every head."""
    keys_LNTD: np.ndarray
    """The key of every token in every head."""
    probs_LNTT: np.ndarray
    """The attention of every head; each row sums to 1."""


@dataclass(frozen=True)
class NeuronMap:
    """Queries, keys, scores and attention of one head.

    The name comes from the neuron view of bertviz, which shows these values; there are no feed-forward neurons in it.
    """

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    layer: int
    """The layer of the head, from 0."""
    head: int
    """The index of the head in its layer, from 0."""
    query_TD: np.ndarray
    """Query vectors."""
    key_TD: np.ndarray
    """Key vectors."""
    scores_TT: np.ndarray
    """query . key / sqrt(D)."""
    probs_TT: np.ndarray
    """Softmax of the scores over the keys."""


@dataclass(frozen=True)
class InputMap:
    """The three embeddings of every token and their sum."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    token_TH: np.ndarray
    """Token embeddings."""
    position_TH: np.ndarray
    """Position embeddings."""
    token_type_TH: np.ndarray
    """Token type embeddings."""
    sum_TH: np.ndarray
    """The sum of the three after LayerNorm, which is the input of the first layer."""


@dataclass(frozen=True)
class Outcome:
    """A candidate of a prediction before and after interventions."""

    label: str
    """The text of the candidate."""
    before: float
    """The probability before the interventions, 0..1."""
    after: float
    """The probability after the interventions, 0..1."""
    log_odds_before: float
    """The log-odds log(p / (1 - p)) before the interventions."""
    log_odds_after: float
    """The log-odds log(p / (1 - p)) after the interventions."""


@dataclass(frozen=True)
class PredictionChange:
    """The effect of interventions on a prediction."""

    kind: str
    """The task type of the prediction: "masked_lm", "sentence_pair", "span" or "classification"."""
    outcomes: tuple[Outcome, ...]
    """The best candidates before the interventions, best first, then the candidates that are among the best only
    after the interventions."""
    top: int
    """The index in `outcomes` of the prediction after the interventions."""


@dataclass(frozen=True)
class HeadEffects:
    """The effect of ablating each head on a prediction."""

    kind: str
    """The task type of the prediction: "masked_lm", "sentence_pair", "span" or "classification"."""
    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    label: str
    """The prediction without ablation."""
    log_odds: float
    """The log-odds of `label` without ablation."""
    layers: tuple[int, ...]
    """The layers whose heads were ablated."""
    effects_LN: np.ndarray
    """[i, n]: change in the log-odds of `label` if head n of layer layers[i] is ablated; it is negative if the
    head supports the prediction."""

    @property
    def probabilities_LN(self) -> np.ndarray:
        """The probability of `label` with each head ablated."""
        return 1 / (1 + np.exp(-(self.log_odds + self.effects_LN.astype(np.float64))))


@dataclass(frozen=True)
class HeadRoles:
    """The role of each head in one input."""

    names_LN: tuple[tuple[str, ...], ...]
    """The pattern that gets the largest share of the head's attention, one of `roles.ROLES`; [CLS] and [SEP] have the
    names that the vocabulary of the checkpoint gives them."""
    share_LN: np.ndarray
    """The share of the head's attention in this pattern, 0..1, averaged over all tokens but the added [CLS]
    and [SEP]."""


@dataclass(frozen=True)
class Lens:
    """The logit lens: the prediction of the MLM output layer for the hidden states of every layer and position.

    Index 0 is the embeddings, index l + 1 the output of layer l.
    """

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    tokens_LT: tuple[tuple[str, ...], ...]
    """The most probable token at each index and position."""
    probs_LT: np.ndarray
    """The probability of that token."""
    final_T: tuple[str, ...]
    """The prediction of the last layer."""
    rank_LT: np.ndarray
    """The rank, from 1, of the last layer's prediction at each index and position."""
    probs_of_final_LT: np.ndarray
    """The probability of the last layer's prediction at each index and position."""


@dataclass(frozen=True)
class Filling:
    """One token for every [MASK]."""

    tokens: tuple[str, ...]
    """The token for each mask."""
    probability: float
    """The joint probability of the tokens: the product of their probabilities, each predicted when the masks to its
    left are filled and those to its right are not."""
    text: str
    """The input with the tokens filled in."""


@dataclass(frozen=True)
class JointFill:
    """The most probable fillings of all masks together, and the filling whose masks are predicted independently."""

    fillings: tuple[Filling, ...]
    """The most probable fillings, best first."""
    independent: Filling
    """The filling whose masks are predicted independently: the most probable token of each mask while no mask is
    filled, with the joint probability of these tokens."""
    independent_probs: tuple[float, ...]
    """The probability of each of those tokens while no mask is filled."""
    spans: tuple[tuple[int, int], ...]
    """The start and the end of each mask in the text, in characters."""


def as_json(result) -> dict:
    """Convert a result, or a dictionary of results, for `json.dumps`; arrays become lists, rounded to 6 decimals."""

    def convert(value):
        """Convert a value and everything in it."""
        if is_dataclass(value):
            return convert(asdict(value))
        if isinstance(value, np.ndarray):
            return np.round(value.astype(float), 6).tolist()
        if isinstance(value, dict):
            return {key: convert(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [convert(item) for item in value]
        return value

    return convert(result)

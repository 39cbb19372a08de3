"""What asking a checkpoint gives: plain frozen rows and numpy arrays, ready to draw or to print.

Knows no model, no torch, no picture. `as_json` is what every `--json` prints.

Shape legend: T tokens, H hidden, N heads, D head size, L layers.
"""

from dataclasses import asdict, dataclass, is_dataclass

import numpy as np

from bertlab.tasks.span.answer import Answers


@dataclass(frozen=True)
class TokenRow:
    """One token of an encoded text. start and end are character offsets into the text (or pair) it came from;
    both 0 for special tokens. segment: 0 for A, 1 for B."""

    position: int
    id: int
    token: str
    start: int
    end: int
    segment: int
    special: bool


@dataclass(frozen=True)
class WordEffect:
    """A word of the first text or of the second, and how much it speaks for what was said: see `WordEffects`."""

    text: str
    start: int
    end: int
    second: bool
    effect: float


@dataclass(frozen=True)
class WordEffects:
    """What every word does for a label: the drop of the label's log-odds log(p / (1 - p)) when [MASK] stands in the
    word's place; from a regression head, where label is None, the drop of the value. Above 0 the word speaks for it."""

    label: str | None
    words: tuple[WordEffect, ...]


@dataclass(frozen=True)
class WindowReading:
    """What one window says: tokens of [CLS] question [SEP] passage [SEP], and for each the probability that
    the answer starts and ends there (softmax over the window, [CLS] included).

    start, end: the characters of the passage it shows; tokens of the passage (segment 1) have offsets into the passage.
    answer: its own best span, None if no token of it may start one; score: of that span, -inf without one;
    no_answer_score: S.C + E.C.
    """

    start: int
    end: int
    tokens: tuple[TokenRow, ...]
    start_probs_T: np.ndarray
    end_probs_T: np.ndarray
    answer: tuple[int, int] | None
    score: float
    no_answer_score: float


@dataclass(frozen=True)
class SpanXray:
    """All that stands behind an answer: what `Session.answer` says, the window each answer was found in, and what every
    window says by itself."""

    answers: Answers
    answer_windows: tuple[int, ...]
    readings: tuple[WindowReading, ...]

    @property
    def margin(self) -> float:
        """No-answer score less the best span's: above this threshold tau the model answers, below it is silent."""
        return self.answers.no_answer_margin


@dataclass(frozen=True)
class SpanAttention:
    """The attention of question and answer in one window, for every head."""

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
class NeuronMap:
    """The parts of one attention head."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    layer: int
    """Its layer, from 0."""
    head: int
    """Its number in that layer, from 0."""
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
    """Their sum after LayerNorm, which the first layer reads."""


@dataclass(frozen=True)
class Outcome:
    """A candidate of a prediction before and after interventions."""

    label: str
    """Its text."""
    before: float
    """Its probability before, 0..1."""
    after: float
    """Its probability after, 0..1."""
    log_odds_before: float
    """log(p / (1 - p)) before."""
    log_odds_after: float
    """log(p / (1 - p)) after."""


@dataclass(frozen=True)
class PredictionChange:
    """The effect of interventions on a prediction."""

    kind: str
    """The prediction: "mask", "nsp", "span" or "classify"."""
    outcomes: tuple[Outcome, ...]
    """The best candidates before, the model's prediction first, then those that are among the best only after."""
    top: int
    """Index of the prediction after the interventions."""


@dataclass(frozen=True)
class HeadEffects:
    """The effect of ablating each head on a prediction."""

    kind: str
    """The prediction: "mask", "nsp", "span" or "classify"."""
    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    label: str
    """What the model predicts without ablation."""
    log_odds: float
    """The log-odds of `label` without ablation."""
    layers: tuple[int, ...]
    """The layers whose heads were ablated."""
    effects_LN: np.ndarray
    """[i, n]: change of the log-odds of `label` if head n of layer layers[i] is ablated; below 0 the head helps."""

    @property
    def probabilities_LN(self) -> np.ndarray:
        """The probability of `label` without that head."""
        return 1 / (1 + np.exp(-(self.log_odds + self.effects_LN.astype(np.float64))))


@dataclass(frozen=True)
class HeadRoles:
    """The role of each head in one input."""

    names_LN: tuple[tuple[str, ...], ...]
    """What it mostly attends to, one of `roles.ROLES`."""
    share_LN: np.ndarray
    """The share of its attention that goes there, 0..1, averaged over the tokens that are not special."""


@dataclass(frozen=True)
class Lens:
    """The logit lens: the MLM head's predictions at every position, from the embeddings and from every layer's output.

    Index 0 is the embeddings, index l + 1 the output of layer l.
    """

    tokens: tuple[TokenRow, ...]
    """The tokens of the input."""
    tokens_LT: tuple[tuple[str, ...], ...]
    """The most probable token."""
    probs_LT: np.ndarray
    """Its probability."""
    final_T: tuple[str, ...]
    """The prediction of the last layer."""
    rank_LT: np.ndarray
    """The rank of the last layer's prediction, from 1."""
    final_probs_LT: np.ndarray
    """The probability of the last layer's prediction."""


@dataclass(frozen=True)
class Filling:
    """One token for every [MASK], and their joint probability: each given those to its left, the masks to its right
    still in place. text: the input with them filled in."""

    tokens: tuple[str, ...]
    probability: float
    text: str


@dataclass(frozen=True)
class JointFill:
    """fillings: the likeliest together, best first. alone: the likeliest for each mask by itself, scored alike.
    alone_probs: how probable each of those looked with all masks in place. spans: the masks' places in the text."""

    fillings: tuple[Filling, ...]
    alone: Filling
    alone_probs: tuple[float, ...]
    spans: tuple[tuple[int, int], ...]


def as_json(fact) -> dict:
    """A fact, or a dictionary of facts, as `json.dumps` takes it; arrays become nested lists rounded to 6 decimals."""

    def plain(value):
        if is_dataclass(value):
            return plain(asdict(value))
        if isinstance(value, np.ndarray):
            return np.round(value.astype(float), 6).tolist()
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return value

    return plain(fact)

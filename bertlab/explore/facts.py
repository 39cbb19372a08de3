"""What asking a checkpoint gives: plain frozen rows and numpy arrays, ready to draw or to print.

Knows no model, no torch, no picture. `as_json` is what every `--json` prints.

Shape legend: T tokens, H hidden, N heads, D head size, L layers.
"""

from dataclasses import asdict, dataclass, is_dataclass

import numpy as np

from bertlab.tasks.span.answer import Answers


@dataclass(frozen=True)
class TokenRow:
    """One piece of an encoded text. start and end are character offsets into the text (or pair) it came from;
    both 0 for special tokens. segment: 0 for A, 1 for B."""

    position: int
    id: int
    piece: str
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
    """Where the question's tokens and the answer's look in one window, in every head.

    from_question_LNT, from_answer_LNT: attention to each token, the mean over the tokens at `question` or `answer`
    (positions in `tokens`); each row sums to 1.
    """

    tokens: tuple[TokenRow, ...]
    question: tuple[int, ...]
    answer: tuple[int, ...]
    from_question_LNT: np.ndarray
    from_answer_LNT: np.ndarray

    @property
    def question_to_answer_LN(self) -> np.ndarray:
        """Of what the question's tokens look at, the share that falls on the answer's."""
        return self.from_question_LNT[:, :, list(self.answer)].sum(-1)

    @property
    def answer_to_question_LN(self) -> np.ndarray:
        """Of what the answer's tokens look at, the share that falls on the question's."""
        return self.from_answer_LNT[:, :, list(self.question)].sum(-1)


@dataclass(frozen=True)
class AttentionMap:
    """Every head's attention over one input: tokens, and probs_LNTT (float32, rows sum to 1)."""

    tokens: tuple[TokenRow, ...]
    probs_LNTT: np.ndarray


@dataclass(frozen=True)
class NeuronMap:
    """One head of one layer opened up: query_TD, key_TD, scores_TT = q.k / sqrt(D), probs_TT. Zero-based."""

    tokens: tuple[TokenRow, ...]
    layer: int
    head: int
    query_TD: np.ndarray
    key_TD: np.ndarray
    scores_TT: np.ndarray
    probs_TT: np.ndarray


@dataclass(frozen=True)
class InputMap:
    """The three embeddings of every token and their normalised sum, each [T, H]."""

    tokens: tuple[TokenRow, ...]
    token_TH: np.ndarray
    position_TH: np.ndarray
    token_type_TH: np.ndarray
    sum_TH: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """A candidate of a prediction before and after a change: its probability, and its log-odds log(p / (1 - p))."""

    label: str
    before: float
    after: float
    log_odds_before: float
    log_odds_after: float


@dataclass(frozen=True)
class PredictionChange:
    """What a change inside the model did to a prediction: the best candidates before, then those that came up after.

    kind: "mask", "nsp", "span" or "classify". outcomes[0] was the model's answer, outcomes[top] is it
    after the change.
    """

    kind: str
    outcomes: tuple[Outcome, ...]
    top: int


@dataclass(frozen=True)
class HeadEffects:
    """What every head does for a prediction: effects_LN[i, n] is the change of the log-odds of `label` when head n of
    layer layers[i] alone is knocked out; below 0 the head spoke for it. log_odds: those of the model as it is."""

    kind: str
    tokens: tuple[TokenRow, ...]
    label: str
    log_odds: float
    layers: tuple[int, ...]
    effects_LN: np.ndarray

    @property
    def probabilities_LN(self) -> np.ndarray:
        """The probability of `label` without that head."""
        return 1 / (1 + np.exp(-(self.log_odds + self.effects_LN.astype(np.float64))))


@dataclass(frozen=True)
class HeadRoles:
    """What each head of one input mostly looks at: names_LN (of `roles.ROLES`), and share_LN, the mean attention (0..1)
    it gives to that, over the tokens that are not special."""

    names_LN: tuple[tuple[str, ...], ...]
    share_LN: np.ndarray


@dataclass(frozen=True)
class Lens:
    """What every layer would say at every position, read through the masked-word head; index 0 is the embeddings.

    pieces_LT and probs_LT: the likeliest piece and its probability. final_T: what the last layer says; rank_LT (from 1)
    and final_probs_LT: where that piece stands in each layer.
    """

    tokens: tuple[TokenRow, ...]
    pieces_LT: tuple[tuple[str, ...], ...]
    probs_LT: np.ndarray
    final_T: tuple[str, ...]
    rank_LT: np.ndarray
    final_probs_LT: np.ndarray


@dataclass(frozen=True)
class Filling:
    """One piece for every [MASK], and their joint probability: each given those to its left, the masks to its right
    still in place. text: the input with them filled in."""

    pieces: tuple[str, ...]
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

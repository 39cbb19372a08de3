"""Use a model to answer questions about passages: a single question, or all questions of a data set.

Shape legend: T tokens, K windows of one question, P tokens of the passage in a window, S spans, W words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn

from bertlab.tasks.inference import find_device, inference, softmax
from bertlab.tasks.span.decoding import DecodedSpans, decode_all, decode_spans
from bertlab.tasks.span.windows import Window, make_span_windows
from bertlab.text.batches import score_spans
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.text.word_spans import find_words

N_BEST = 20  # the default number of best spans in a prediction, as in `run_squad.py`
QUESTIONS_AT_ONCE = 512  # how many questions are processed together, which bounds the memory for their windows


@dataclass(frozen=True)
class Answer:
    """A span of the passage that may answer the question."""

    text: str
    """The text of the span: passage[start:end]."""
    start: int
    """The index of the span's first character in the passage."""
    end: int
    """The index of the character that follows the span."""
    score: float
    """The start logit of the first token plus the end logit of the last token (S.T_i + E.T_j in the paper)."""
    probability: float
    """The softmax of the scores of the twenty best spans (or more, if more were requested) and of "no answer"."""


@dataclass(frozen=True)
class Answers:
    """The answers to a question, and the probabilities of their start and end at each word of the passage."""

    answers: tuple[Answer, ...]
    """The best spans, best first."""
    no_answer_score: float
    """Start logit plus end logit of [CLS] (S.C + E.C in the paper); the minimum over the windows."""
    no_answer_probability: float
    """The probability of "no answer": softmax over the score of "no answer" and the scores of the best spans."""
    words: tuple[tuple[int, int], ...]
    """The words of the passage: for each, (first character, character after the last)."""
    start_probs: tuple[float, ...]
    """For each word, the probability that the answer starts in it: softmax over the best window, 0 for other words."""
    end_probs: tuple[float, ...]
    """For each word, the probability that the answer ends in it, computed in the same way."""
    windows: tuple[tuple[int, int], ...]
    """The part of the passage in each window: (first character, character after the last)."""
    best_window: int
    """The index of the window that contains the best answer."""
    null_threshold: float | None = None
    """The threshold tau: the prediction is "no answer" if `no_answer_margin` exceeds tau. None if the model always
    answers."""

    @property
    def no_answer_margin(self) -> float:
        """No-answer score minus the best span's score (Devlin et al. 2019, section 4.3); inf if there is no span."""
        return self.no_answer_score - self.answers[0].score if self.answers else float("inf")

    @property
    def refused(self) -> bool:
        """Whether the prediction is "no answer"."""
        return self.null_threshold is not None and self.no_answer_margin > self.null_threshold

    @property
    def text(self) -> str:
        """The text of the best answer; "" if the prediction is "no answer"."""
        return "" if self.refused or not self.answers else self.answers[0].text


@dataclass(frozen=True)
class SpanReading:
    """The output of a model for one question and its passage."""

    passage: str
    """The passage."""
    windows: list[Window]
    """The windows of the passage; each is one input of the model."""
    start_KT: list[np.ndarray]
    """Start logits of every token, one array for each window."""
    end_KT: list[np.ndarray]
    """End logits of every token, one array for each window."""
    decoded: DecodedSpans
    """The best spans according to these logits."""


def read_span_logits(
    passage: str,
    windows: list[Window],
    start_KT: list[np.ndarray],
    end_KT: list[np.ndarray],
    n_best: int = N_BEST,
    max_answer_tokens: int = 30,
) -> SpanReading:
    """Find the best spans according to the start and end logits of the windows of a passage."""
    # at least N_BEST spans are found, so that the probabilities are the same if fewer answers are requested
    decoded = decode_spans(windows, start_KT, end_KT, passage, max(n_best, N_BEST), max_answer_tokens)
    return SpanReading(passage, windows, start_KT, end_KT, decoded)


def find_answers(reading: SpanReading, n_best: int = N_BEST) -> Answers:
    """Select the `n_best` best answers of a `SpanReading`, and compute their probabilities."""
    decoded, windows = reading.decoded, reading.windows
    *probs_S, no_answer_probability = softmax([*(span.score for span in decoded.spans), decoded.no_answer_score])
    best_window = decoded.spans[0].window if decoded.spans else 0
    words_W = find_words(reading.passage)
    return Answers(
        answers=tuple(
            Answer(span.text, span.start, span.end, span.score, float(prob))
            for span, prob in zip(decoded.spans[:n_best], probs_S, strict=False)
        ),
        no_answer_score=decoded.no_answer_score,
        no_answer_probability=float(no_answer_probability),
        words=tuple(words_W),
        start_probs=_sum_by_word(windows[best_window], softmax(reading.start_KT[best_window]), words_W),
        end_probs=_sum_by_word(windows[best_window], softmax(reading.end_KT[best_window]), words_W),
        windows=tuple(find_window_characters(window) for window in windows),
        best_window=best_window,
    )


def find_window_characters(window: Window) -> tuple[int, int]:
    """Return the part of the passage that a window contains: (first character, character after the last)."""
    offsets_P2 = window.offsets_T2[window.passage_slice]
    return int(offsets_P2[0, 0]), int(offsets_P2[-1, 1])


def _sum_by_word(window: Window, probs_T: np.ndarray, words_W: list[tuple[int, int]]) -> tuple[float, ...]:
    """Sum the probabilities of a window's tokens for each word of the whole passage."""
    starts_W = np.array([start for start, _ in words_W], np.int64)
    begin_P, end_P = window.offsets_T2[window.passage_slice].T
    word_P = np.searchsorted(starts_W, begin_P, side="right") - 1
    in_word_P = (word_P >= 0) & (end_P > begin_P)
    return tuple(
        np.bincount(word_P[in_word_P], probs_T[window.passage_slice][in_word_P], minlength=len(starts_W)).tolist()
    )


def answer_questions(
    model: nn.Module,
    tokenizer: Tokenizer,
    rows: Sequence[dict],
    *,
    max_tokens: int = 384,
    stride: int = 128,
    batch_size: int = 32,
    progress: Callable = iter,
) -> list[DecodedSpans]:
    """Find the best spans for every question of a data set, in order.

    Args:
        model: a model with a span output layer.
        tokenizer: the tokenizer of the model.
        rows: questions with the columns of SQuAD; see `tasks.span.squad`.
        max_tokens: maximum number of tokens in a window.
        stride: number of passage tokens between the starts of two consecutive windows.
        batch_size: number of windows in a batch.
        progress: wraps the iterable of chunks of `QUESTIONS_AT_ONCE` questions, as `tqdm` does.
    """
    device = find_device(model)
    max_tokens = min(max_tokens, model.config.max_tokens)

    def compute_logits(batch):
        return model.logits("span", batch.to(device))

    decoded: list[DecodedSpans] = []
    with inference(model):
        for first in progress(range(0, len(rows), QUESTIONS_AT_ONCE)):
            chunk = rows[first : first + QUESTIONS_AT_ONCE]
            windows = make_span_windows(
                tokenizer, [row["question"] for row in chunk], [row["context"] for row in chunk], max_tokens, stride
            )
            decoded += decode_all(windows, *score_spans(windows, compute_logits, tokenizer.pad_id, batch_size))
    return decoded

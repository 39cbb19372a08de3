"""Use a model to answer questions about passages: a single question, or all questions of a data set.

Shape legend: T tokens, K windows of one question, P tokens of the passage in a window, S spans, W words.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bertlab.nn.bert import Bert
from bertlab.tasks.inference import find_device, inference, softmax
from bertlab.tasks.span.decoding import DecodedSpans, decode_spans
from bertlab.tasks.span.windows import SpanFeatures, Window
from bertlab.tasks.task_type import TaskType
from bertlab.text.batches import score_spans
from bertlab.text.word_spans import find_words

N_BEST = 20  # the default number of best spans in a prediction, as in `run_squad.py`
WINDOWS_AT_ONCE = 32  # the number of windows in a batch


@dataclass(frozen=True)
class Answer:
    """A span of the passage that may answer the question."""

    text: str
    """passage[start:end]."""
    start: int
    end: int
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
    """Softmax over the score of "no answer" and the scores of the best spans."""
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
    windows: list[Window]
    """The windows of the passage; each is one input of the model."""
    start_KT: list[np.ndarray]
    """Start logits of every token, one array for each window."""
    end_KT: list[np.ndarray]
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
    task_type: TaskType, model: Bert, features: SpanFeatures, num_questions: int, progress: Callable
) -> list[DecodedSpans]:
    """Find the best spans for every question, in order; `num_questions` at a time, which bounds the memory.

    `progress` wraps the iterable of groups of questions, as `tqdm` does.
    """
    device, windows = find_device(model), features.windows
    decoded: list[DecodedSpans] = []

    def compute_logits(batch):
        return task_type.compute(model, task_type.head, batch.to(device))

    with inference(model):
        for first in progress(range(0, len(features.examples), num_questions)):
            begin = windows.find_question_windows(first).start
            questions = range(first, min(first + num_questions, len(features.examples)))
            group = windows[begin : windows.find_question_windows(questions[-1]).stop]
            starts, ends = score_spans(group, compute_logits, features.pad_id, WINDOWS_AT_ONCE)
            for question in questions:
                found = windows.find_question_windows(question)
                own = slice(found.start - begin, found.stop - begin)
                passage = features.examples[question].texts[1]
                decoded.append(decode_spans(group[own], starts[own], ends[own], passage))
    return decoded

"""Answers as spans of a passage: windows over it and their labels. `decoding` turns scores into text.

Follows Devlin et al. 2019, section 4.2, and `run_squad.py` of google-research/bert. No model is needed
here.

Shape legend: T tokens of a window, W windows, K windows of one question, P passages (distinct), Q questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.config.errors import DataError, TextError
from bertlab.config.languages import Message
from bertlab.tasks.span.squad import row_error
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.tokenizers.wordpiece import Tokenizer

_TOKENISED_AT_ONCE = 2000


@dataclass(frozen=True)
class Window:
    """[CLS] question [SEP] as much of the passage as fits [SEP]; collates like an `Encoding`."""

    ids: np.ndarray
    """The token ids, int [T]."""
    token_type_ids: np.ndarray
    """0 for [CLS] question [SEP], 1 for the passage and the last [SEP], int64 [T]."""
    offsets_T2: np.ndarray
    """First character in the passage of every token, and the character after it; (0, 0) outside the passage."""
    is_max_context_T: np.ndarray
    """Whether no other window of the same question shows the token with more context; False outside the passage."""
    question_tokens: int
    """The number of tokens of the question."""
    passage_token: int
    """The index, among the tokens of the whole passage, of the first one in this window."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def passage(self) -> slice:
        """The positions of the passage in the window."""
        return slice(self.question_tokens + 2, len(self.ids) - 1)


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths, end to end: row i is flat[start[i] : start[i + 1]].

    >>> Ragged.of([[5, 6], [], [7]])[2].tolist()
    [7]
    """

    flat: np.ndarray
    """The values of all rows."""
    start: np.ndarray
    """Where each row begins in `flat`, and at last the length of `flat`: int64 [rows + 1]."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """Lay rows of integers end to end, as int32."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        flat = np.fromiter((id for row in rows for id in row), np.int32, lengths.sum())
        return cls(flat, np.concatenate([[0], np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.flat[self.start[row] : self.start[row + 1]]


@dataclass(frozen=True)
class SpanWindows(Sequence):
    """Every window of Q questions, built on access; the windows of a question are adjacent and in order."""

    question_ids: Ragged
    """The token ids of each question."""
    passage_ids: Ragged
    """The token ids of each distinct passage."""
    begin: np.ndarray
    """The first character of each passage token, laid out like `passage_ids.flat`."""
    end: np.ndarray
    """The character after each passage token, laid out like `passage_ids.flat`."""
    passages: tuple[str, ...]
    """The texts of the distinct passages."""
    passage_Q: np.ndarray
    """The index of each question's passage."""
    question_W: np.ndarray
    """The index of each window's question."""
    first_W: np.ndarray
    """The first token of the passage that each window shows."""
    length_W: np.ndarray
    """The number of passage tokens that each window shows."""
    cls_id: int
    """The token id of [CLS]."""
    sep_id: int
    """The token id of [SEP]."""

    def __len__(self) -> int:
        return len(self.question_W)

    def of_question(self, question: int) -> slice:
        """The windows of one question."""
        first, stop = np.searchsorted(self.question_W, [question, question + 1])
        return slice(int(first), int(stop))

    def passage(self, question: int) -> str:
        """The passage of a question."""
        return self.passages[self.passage_Q[question]]

    def __getitem__(self, w: int | slice) -> "Window | list[Window]":
        if isinstance(w, slice):
            return [self[i] for i in range(*w.indices(len(self)))]
        if not -len(self) <= w < len(self):
            raise IndexError(f"window {w} of {len(self)}")
        w %= len(self)
        question = self.question_W[w]
        question_ids = self.question_ids[question]
        place = self.passage_ids.start[self.passage_Q[question]] + self.first_W[w]
        shown = slice(place, place + self.length_W[w])
        ids = np.concatenate([[self.cls_id], question_ids, [self.sep_id], self.passage_ids.flat[shown], [self.sep_id]])
        passage = slice(len(question_ids) + 2, len(ids) - 1)
        token_type_ids = np.zeros(len(ids), np.int64)
        token_type_ids[passage.start :] = 1
        offsets_T2 = np.zeros((len(ids), 2), np.int64)
        offsets_T2[passage, 0] = self.begin[shown]
        offsets_T2[passage, 1] = self.end[shown]
        is_max_context_T = np.zeros(len(ids), bool)
        own = self.of_question(question)
        is_max_context_T[passage] = max_context(self.first_W[own], self.length_W[own], w - own.start)
        return Window(ids, token_type_ids, offsets_T2, is_max_context_T, len(question_ids), int(self.first_W[w]))


@dataclass(frozen=True)
class SpanFeatures:
    """Windows and the positions of the answer in each."""

    windows: SpanWindows
    """The windows of all questions."""
    start_W: np.ndarray
    """The position of the answer's first token in each window; 0 ([CLS]) if the window does not contain the answer."""
    end_W: np.ndarray
    """The position of the answer's last token in each window; 0 ([CLS]) if the window does not contain the answer."""
    rows_Q: np.ndarray
    """The index of the row that each question came from."""
    skipped: int
    """The number of rows that were skipped because their answer is missing or misplaced."""

    def __len__(self) -> int:
        return len(self.windows)


def windows(
    tokenizer: Tokenizer,
    question: str,
    passage: str,
    max_tokens: int = 384,
    stride: int = 128,
    max_question: int = 64,
) -> list[Window]:
    """The windows of one question over one passage.

    Args:
        max_tokens: the most tokens of a window, including the question and the special tokens.
        stride: the number of passage tokens between the starts of two windows, as in `run_squad.py`. (Some tools use
            the word for the overlap.)
        max_question: the most tokens of the question; the rest is cut off.

    Raises:
        TextError: the question or the passage is empty, or the question leaves no space for the passage.
    """
    found = span_windows(tokenizer, [question], [passage], max_tokens, stride, max_question)
    if not len(found.question_ids.flat):
        raise TextError("question-empty")
    if not len(found.passage_ids.flat):
        raise TextError("passage-empty")
    return list(found)


def span_windows(
    tokenizer: Tokenizer,
    questions: Sequence[str],
    passages: Sequence[str],
    max_tokens: int = 384,
    stride: int = 128,
    max_question: int = 64,
) -> SpanWindows:
    """The windows of a data set; a passage that occurs several times is tokenised once.

    Args:
        questions: one for each row.
        passages: the passage of each question.
        max_tokens, stride, max_question: as for `windows`.

    Raises:
        TextError: a number is below 1, or a question leaves no space for the passage.
    """
    if stride < 1 or max_question < 1:
        raise TextError("window-numbers-below-one", stride=stride, max_question=max_question)
    distinct = {passage: number for number, passage in enumerate(dict.fromkeys(passages))}
    passage_Q = np.fromiter((distinct[passage] for passage in passages), np.int64, len(passages))
    question_ids = Ragged.of([ids[:max_question] for ids in tokenizer.encode_ids(questions)])
    passage_ids, begin, end = _tokenised(tokenizer, list(distinct))
    question_tokens_Q, tokens_Q = np.diff(question_ids.start), np.diff(passage_ids.start)[passage_Q]
    room_Q = max_tokens - 3 - question_tokens_Q
    if len(room_Q) and room_Q.min() < 1:
        raise TextError("passage-window-too-short", max_tokens=max_tokens, question=int(question_tokens_Q.max()))
    step_Q = np.minimum(stride, room_Q)
    windows_Q = 1 + np.maximum(0, -(-(tokens_Q - room_Q) // step_Q))
    question_W = np.repeat(np.arange(len(passage_Q)), windows_Q)
    nth_W = np.arange(len(question_W)) - np.repeat(np.cumsum(windows_Q) - windows_Q, windows_Q)
    first_W = nth_W * step_Q[question_W]
    length_W = np.minimum(room_Q[question_W], tokens_Q[question_W] - first_W)
    return SpanWindows(
        question_ids, passage_ids, begin, end, tuple(distinct), passage_Q, question_W, first_W, length_W,
        tokenizer.cls_id, tokenizer.sep_id,
    )  # fmt: skip


def max_context(first_K: np.ndarray, length_K: np.ndarray, k: int) -> np.ndarray:
    """For each token of window k, whether k is the window that shows the token with the most context.

    The context of a token is min(tokens to its left, tokens to its right) + 0.01 x window length; of windows with equal
    context, the first one counts.

    Args:
        first_K: the first passage token of each window of a question.
        length_K: the number of passage tokens of each window.
        k: the index of the window.

    Returns:
        bool, one for each passage token of window k.

    Source: `_check_is_max_context` of `run_squad.py`.

    >>> max_context(np.array([0, 2]), np.array([4, 4]), 0).tolist()  # tokens 0 to 3, the other shows 2 to 5
    [True, True, True, False]
    """
    if len(first_K) == 1:
        return np.ones(length_K[k], bool)
    token_T = np.arange(first_K[k], first_K[k] + length_K[k])
    near = (first_K < first_K[k] + length_K[k]) & (first_K + length_K > first_K[k])
    near[k] = True  # an empty window overlaps nothing, not even itself
    left_KT = token_T - first_K[near, None]
    right_KT = length_K[near, None] - 1 - left_KT
    around_KT = np.minimum(left_KT, right_KT)
    score_KT = np.where(around_KT >= 0, around_KT + 0.01 * length_K[near, None], -np.inf)
    return score_KT.argmax(0) == np.count_nonzero(near[:k])


def _tokenised(tokenizer: Tokenizer, texts: list[str]) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """Token ids of each text, first character of each token and the character after it.

    The texts are tokenised in parts, which bounds the memory.
    """
    flat, offsets, lengths = [], [], []
    for i in range(0, len(texts), _TOKENISED_AT_ONCE):
        for row in tokenizer.encode_segments(texts[i : i + _TOKENISED_AT_ONCE]):
            flat.append(np.array(row.ids, np.int32))
            offsets.append(np.array(row.offsets, np.int32).reshape(-1, 2))
            lengths.append(len(row))
    start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    offsets_2 = np.concatenate(offsets) if offsets else np.zeros((0, 2), np.int32)
    ids = np.concatenate(flat) if flat else np.zeros(0, np.int32)
    return Ragged(ids, start), offsets_2[:, 0].copy(), offsets_2[:, 1].copy()


# -- training labels --------------------------------------------------------------------------------------------


def span_features(
    tokenizer: Tokenizer,
    rows: Sequence[Mapping],
    max_tokens: int = 384,
    stride: int = 128,
    max_question: int = 64,
    unanswerable: bool = False,
    invalid_rows: InvalidRows | None = None,
) -> SpanFeatures:
    """Windows of SQuAD rows (context, question, answers: text, answer_start) with the first answer's place in each.

    Args:
        max_tokens, stride, max_question: as for `windows`.
        unanswerable: whether a row may have no answer (SQuAD v2.0); it then points at [CLS] everywhere.
        invalid_rows: what happens to a row without answer (where it needs one), or whose answer is not at its place; it
            stops if None.

    Raises:
        DataError: a row lacks a column, or it is to stop at one that is wrong.
    """
    kept, numbers = keep_answer_in_place(rows, unanswerable, invalid_rows)
    answers = [row["answers"] for row in kept]
    begins = [answer["answer_start"][0] if len(answer["text"]) else -1 for answer in answers]
    lengths = [len(answer["text"][0]) if len(answer["text"]) else 0 for answer in answers]
    questions, contexts = [row["question"] for row in kept], [row["context"] for row in kept]
    found = span_windows(tokenizer, questions, contexts, max_tokens, stride, max_question)
    begin_Q = np.array(begins, np.int64)
    start_W, end_W = _labels(found, begin_Q, begin_Q + np.array(lengths, np.int64))
    return SpanFeatures(found, start_W, end_W, np.array(numbers, np.int64), len(rows) - len(kept))


def keep_answer_in_place(
    rows: Sequence[Mapping], unanswerable: bool = False, invalid_rows: InvalidRows | None = None
) -> tuple[list[Mapping], list[int]]:
    """The SQuAD rows whose first answer stands where it says, and their places in `rows`, from 0.

    Args:
        unanswerable, invalid_rows: as for `span_features`.

    Raises:
        DataError: a row lacks a column, or it is to stop at one that is wrong; it is called by its "where", see
            `tasks.span.squad`, or else by its number from 1.
    """
    invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
    kept, numbers = [], []
    for number, row in enumerate(rows):
        try:
            context, _, answers = row["context"], row["question"], row["answers"]
            texts, starts = answers["text"], answers["answer_start"]
        except (KeyError, TypeError) as error:
            raise DataError("row-not-squad", row=number + 1, reason=repr(error)) from None
        reason = _misplaced(context, texts, starts, unanswerable)
        if reason:
            invalid_rows.report(row_error(row, reason, number + 1))
        else:
            kept.append(row)
            numbers.append(number)
    return kept, numbers


def _misplaced(context: str, texts: Sequence[str], starts: Sequence[int], unanswerable: bool) -> Message | None:
    """Why the first answer of a row cannot be learned from; None where it can."""
    if not len(texts):
        return None if unanswerable else Message("row-without-answer")
    if not texts[0]:
        return Message("answer-empty")
    if starts[0] >= 0 and context.startswith(texts[0], starts[0]):
        return None
    if texts[0] in context:
        return Message("answer-misplaced", answer=repr(texts[0]), start=int(starts[0]))
    return Message("answer-not-in-passage", answer=repr(texts[0]))


def _labels(found: SpanWindows, begin_Q: np.ndarray, end_Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Characters of each answer -> positions in each window; an answer cut by the window's edge counts as outside."""
    first_Q, last_Q = np.zeros_like(begin_Q), np.full_like(end_Q, -1)
    for q in np.flatnonzero(begin_Q >= 0):
        p = found.passage_Q[q]
        tokens = slice(found.passage_ids.start[p], found.passage_ids.start[p + 1])
        first_Q[q] = np.searchsorted(found.end[tokens], begin_Q[q], side="right")
        last_Q[q] = np.searchsorted(found.begin[tokens], end_Q[q], side="left") - 1
    first_W, last_W = first_Q[found.question_W] - found.first_W, last_Q[found.question_W] - found.first_W
    inside_W = (first_W >= 0) & (last_W >= first_W) & (last_W < found.length_W)
    before_W = np.diff(found.question_ids.start)[found.question_W] + 2
    return np.where(inside_W, first_W + before_W, 0), np.where(inside_W, last_W + before_W, 0)

"""Split passages into windows, and locate the answer in each window for training.

This module needs no model; `decoding` converts the logits of a model to text. Source: Devlin et al. 2019, section 4.2,
and `run_squad.py` of google-research/bert.

Shape legend: T tokens of a window, W windows, K windows of one question, Q questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from bertlab.config.errors import TextError
from bertlab.tasks.examples import Examples
from bertlab.tasks.features import Features, Ragged, checksum
from bertlab.text.batch import SpanBatch, collate
from bertlab.text.tokenizers.wordpiece import Tokenizer

TEXTS_AT_ONCE = 2000  # how many texts are tokenised together, which bounds the memory


@dataclass(frozen=True)
class Window:
    """An input [CLS] question [SEP] part of the passage [SEP]; it can be collated like an `Encoding`."""

    ids: np.ndarray
    """The token ids, int [T]."""
    token_type_ids: np.ndarray
    """0 for [CLS] question [SEP], 1 for the passage and the last [SEP], int64 [T]."""
    offsets_T2: np.ndarray
    """For each token (first character, character after the last) in the passage; (0, 0) outside the passage."""
    is_max_context_T: np.ndarray
    """Whether the token has its largest context in this window (see `find_max_context`); False outside the passage."""
    num_question_tokens: int
    first_passage_token: int
    """The index of the window's first passage token among the tokens of the whole passage."""
    separators: int = 1
    """The number of [SEP] between question and passage."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def passage_slice(self) -> slice:
        """The positions of the passage tokens in the window."""
        return slice(self.num_question_tokens + 1 + self.separators, len(self.ids) - 1)


@dataclass(frozen=True)
class SpanWindows(Sequence):
    """All windows of Q questions; a window is built when it is accessed. The windows of a question are consecutive."""

    question_ids: Ragged
    """The token ids of each question."""
    passage_ids: Ragged
    """The token ids of each distinct passage."""
    token_begins: np.ndarray
    """The index of the first character of each passage token, in the order of `passage_ids.flat`."""
    token_ends: np.ndarray
    """The index of the character after each passage token, in the order of `passage_ids.flat`."""
    passages: tuple[str, ...]
    """The texts of the distinct passages."""
    passage_Q: np.ndarray
    """The index of each question's passage."""
    question_W: np.ndarray
    """The index of each window's question."""
    first_W: np.ndarray
    """The index of each window's first passage token among the tokens of the whole passage."""
    length_W: np.ndarray
    """The number of passage tokens in each window."""
    cls_id: int
    sep_id: int
    separators: int = 1
    """The number of [SEP] between question and passage."""

    def __len__(self) -> int:
        return len(self.question_W)

    def find_question_windows(self, question: int) -> slice:
        """Find the indices of the windows of one question, given by its index."""
        first, stop = np.searchsorted(self.question_W, [question, question + 1])
        return slice(int(first), int(stop))

    def __getitem__(self, w: int | slice) -> "Window | list[Window]":
        if isinstance(w, slice):
            return [self[i] for i in range(*w.indices(len(self)))]
        if not -len(self) <= w < len(self):
            raise IndexError(f"window {w} of {len(self)}")
        w %= len(self)
        question = self.question_W[w]
        question_ids = self.question_ids[question]
        first = self.passage_ids.start[self.passage_Q[question]] + self.first_W[w]
        tokens = slice(first, first + self.length_W[w])  # in `passage_ids.flat`
        separator_ids = [self.sep_id] * self.separators
        ids = np.concatenate([[self.cls_id], question_ids, separator_ids, self.passage_ids.flat[tokens], [self.sep_id]])
        passage = slice(len(question_ids) + 1 + self.separators, len(ids) - 1)
        token_type_ids = np.zeros(len(ids), np.int64)
        token_type_ids[passage.start :] = 1
        offsets_T2 = np.zeros((len(ids), 2), np.int64)
        offsets_T2[passage, 0] = self.token_begins[tokens]
        offsets_T2[passage, 1] = self.token_ends[tokens]
        is_max_context_T = np.zeros(len(ids), bool)
        windows = self.find_question_windows(question)
        is_max_context_T[passage] = find_max_context(self.first_W[windows], self.length_W[windows], w - windows.start)
        return Window(
            ids, token_type_ids, offsets_T2, is_max_context_T, len(question_ids), int(self.first_W[w]), self.separators
        )


@dataclass(frozen=True, kw_only=True)
class SpanFeatures(Features):
    """The windows of questions and, for training, the position of the answer in each window."""

    windows: SpanWindows

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, w: int) -> Window:
        return self.windows[w]

    @cached_property
    def start_and_end_W(self) -> tuple[np.ndarray, np.ndarray]:
        """The positions of the first and of the last token of the first answer in each window; 0 ([CLS]) if a window
        does not contain the whole answer."""
        answers = [row.target for row in self.examples]
        begin_Q = np.array([answer["answer_start"][0] if answer["text"] else -1 for answer in answers], np.int64)
        length_Q = np.array([len(answer["text"][0]) if answer["text"] else 0 for answer in answers], np.int64)
        return _locate_answers(self.windows, begin_Q, begin_Q + length_Q)

    @property
    def digest(self) -> int:
        """A checksum of the tokens and the positions; it depends on their order."""
        questions, passages = self.windows.question_ids, self.windows.passage_ids
        return checksum(questions.flat, questions.start, passages.flat, *self.start_and_end_W)

    def make_batch(self, groups: np.ndarray) -> SpanBatch:
        """Collate windows and the positions of their answers."""
        start_W, end_W = self.start_and_end_W
        inputs = collate([self.windows[int(w)] for w in groups], self.pad_id)
        return SpanBatch(inputs, torch.from_numpy(start_W[groups]), torch.from_numpy(end_W[groups]))


def encode_questions(
    tokenizer: Tokenizer, examples: Examples, max_tokens: int = 384, stride: int = 128
) -> SpanFeatures:
    """Split the passages of questions into windows; see `make_windows`."""
    questions, passages = zip(*(row.texts for row in examples), strict=True)
    windows = make_span_windows(tokenizer, questions, passages, max_tokens, stride)
    return SpanFeatures(examples=examples, pad_id=tokenizer.pad_id, windows=windows)


def make_windows(
    tokenizer: Tokenizer, question: str, passage: str, max_tokens: int = 384, stride: int = 128, max_question: int = 64
) -> list[Window]:
    """Split one passage into windows for one question.

    Args:
        max_tokens: maximum number of tokens in a window, including the question and the special tokens.
        stride: number of passage tokens between the starts of two consecutive windows, as in `run_squad.py`. (In some
            tools the stride is the overlap.)
        max_question: maximum number of tokens in the question; a longer question is truncated.

    Raises:
        TextError: the question or the passage is empty, the question leaves no space for the passage, or `stride` or
            `max_question` is below 1.
    """
    windows = make_span_windows(tokenizer, [question], [passage], max_tokens, stride, max_question)
    if not len(windows.question_ids.flat):
        raise TextError("question-empty")
    if not len(windows.passage_ids.flat):
        raise TextError("passage-empty")
    return list(windows)


def make_span_windows(
    tokenizer: Tokenizer,
    questions: Sequence[str],
    passages: Sequence[str],
    max_tokens: int = 384,
    stride: int = 128,
    max_question: int = 64,
) -> SpanWindows:
    """Split the passage of each question into windows; a passage that occurs several times is tokenised once.

    Raises:
        TextError: `stride` or `max_question` is below 1, or a question leaves no space for the passage.
    """
    if stride < 1 or max_question < 1:
        raise TextError("window-settings-below-one", stride=stride, max_question=max_question)
    passage_index = {passage: index for index, passage in enumerate(dict.fromkeys(passages))}
    passage_Q = np.fromiter((passage_index[passage] for passage in passages), np.int64, len(passages))
    question_ids = Ragged.from_rows([ids[:max_question] for ids in tokenizer.encode_ids(questions)])
    passage_ids, token_begins, token_ends = _tokenise_passages(tokenizer, list(passage_index))
    num_question_tokens_Q, num_tokens_Q = np.diff(question_ids.start), np.diff(passage_ids.start)[passage_Q]
    # the number of passage tokens that fit into a window
    capacity_Q = max_tokens - 2 - tokenizer.special.separators - num_question_tokens_Q
    if len(capacity_Q) and capacity_Q.min() < 1:
        raise TextError("passage-window-too-short", max_tokens=max_tokens, question=int(num_question_tokens_Q.max()))
    step_Q = np.minimum(stride, capacity_Q)
    num_windows_Q = 1 + np.maximum(0, -(-(num_tokens_Q - capacity_Q) // step_Q))
    question_W = np.repeat(np.arange(len(passage_Q)), num_windows_Q)
    window_in_question_W = np.arange(len(question_W)) - np.repeat(
        np.cumsum(num_windows_Q) - num_windows_Q, num_windows_Q
    )
    first_W = window_in_question_W * step_Q[question_W]
    length_W = np.minimum(capacity_Q[question_W], num_tokens_Q[question_W] - first_W)
    return SpanWindows(
        question_ids,
        passage_ids,
        token_begins,
        token_ends,
        tuple(passage_index),
        passage_Q,
        question_W,
        first_W,
        length_W,
        tokenizer.cls_id,
        tokenizer.sep_id,
        tokenizer.special.separators,
    )


def find_max_context(first_K: np.ndarray, length_K: np.ndarray, k: int) -> np.ndarray:
    """Find the tokens of window k whose context is larger in this window than in any other window -> bool per token.

    The context of a token in a window is min(tokens to its left, tokens to its right) + 0.01 x window length. If
    several windows give a token its largest context, only the first of them counts.

    Args:
        first_K: the index of the first passage token of each window of a question.
        length_K: the number of passage tokens of each window.
        k: the index of the window.

    Source: `_check_is_max_context` of `run_squad.py`.

    >>> find_max_context(np.array([0, 2]), np.array([4, 4]), 0).tolist()  # window 1 contains tokens 2 to 5
    [True, True, True, False]
    """
    if len(first_K) == 1:
        return np.ones(length_K[k], bool)
    token_T = np.arange(first_K[k], first_K[k] + length_K[k])
    overlaps_K = (first_K < first_K[k] + length_K[k]) & (first_K + length_K > first_K[k])
    overlaps_K[k] = True  # for an empty window, the comparison above is false even with itself
    left_KT = token_T - first_K[overlaps_K, None]
    right_KT = length_K[overlaps_K, None] - 1 - left_KT
    smaller_side_KT = np.minimum(left_KT, right_KT)
    context_KT = np.where(smaller_side_KT >= 0, smaller_side_KT + 0.01 * length_K[overlaps_K, None], -np.inf)
    return context_KT.argmax(0) == np.count_nonzero(overlaps_K[:k])


def _tokenise_passages(tokenizer: Tokenizer, texts: list[str]) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """Return the token ids of each text, the first character of each token, and the character after each token."""
    flat, offsets, lengths = [], [], []
    for i in range(0, len(texts), TEXTS_AT_ONCE):
        for row in tokenizer.encode_segments(texts[i : i + TEXTS_AT_ONCE]):
            flat.append(np.array(row.ids, np.int32))
            offsets.append(np.array(row.offsets, np.int32).reshape(-1, 2))
            lengths.append(len(row))
    offsets_2 = np.concatenate(offsets) if offsets else np.zeros((0, 2), np.int32)
    ids = np.concatenate(flat) if flat else np.zeros(0, np.int32)
    return Ragged.from_flat(ids, lengths), offsets_2[:, 0].copy(), offsets_2[:, 1].copy()


def _locate_answers(windows: SpanWindows, begin_Q: np.ndarray, end_Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the first and last token of the answer in each window; 0 if a window does not contain the whole answer.

    Args:
        begin_Q: the index of the first character of each question's answer in its passage; -1 if there is no answer.
        end_Q: the index of the character after each answer.
    """
    first_Q, last_Q = np.zeros_like(begin_Q), np.full_like(end_Q, -1)
    for q in np.flatnonzero(begin_Q >= 0):
        p = windows.passage_Q[q]
        tokens = slice(windows.passage_ids.start[p], windows.passage_ids.start[p + 1])
        first_Q[q] = np.searchsorted(windows.token_ends[tokens], begin_Q[q], side="right")
        last_Q[q] = np.searchsorted(windows.token_begins[tokens], end_Q[q], side="left") - 1
    first_W, last_W = first_Q[windows.question_W] - windows.first_W, last_Q[windows.question_W] - windows.first_W
    is_inside_W = (first_W >= 0) & (last_W >= first_W) & (last_W < windows.length_W)
    passage_start_W = np.diff(windows.question_ids.start)[windows.question_W] + 1 + windows.separators
    return (np.where(is_inside_W, first_W + passage_start_W, 0), np.where(is_inside_W, last_W + passage_start_W, 0))

"""Decode start and end logits into the best spans of a passage and the score of "no answer".

This module needs no model: the caller computes the logits. Source: Devlin et al. 2019, section 4.2, and `run_squad.py`
of google-research/bert.

Shape legend: T tokens of a window, P tokens of the passage in a window, I starts, J ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.tasks.span.windows import Window
from bertlab.text.pretraining.sentences import find_sentences


@dataclass(frozen=True)
class Span:
    """A span of the passage."""

    start: int
    end: int
    text: str
    """passage[start:end]."""
    score: float
    """The start logit of the first token plus the end logit of the last token (S.T_i + E.T_j in the paper)."""
    window: int
    """The index of the window that contains the span."""


@dataclass(frozen=True)
class DecodedSpans:
    """The best spans of one question, and the score of "no answer"."""

    spans: tuple[Span, ...]
    """The n best spans, best first; no two have the same text."""
    no_answer_score: float
    """Start logit plus end logit of [CLS] (S.C + E.C in the paper); the minimum over the windows."""

    @property
    def text(self) -> str:
        """The text of the best span; "" if there is no span."""
        return self.spans[0].text if self.spans else ""

    @property
    def no_answer_margin(self) -> float:
        """No-answer score minus the best span's score; above the threshold tau, the prediction is "no answer"."""
        return self.no_answer_score - self.spans[0].score if self.spans else float("inf")


def decode_spans(
    windows: Sequence[Window],
    start_logits: Sequence[np.ndarray],
    end_logits: Sequence[np.ndarray],
    passage: str,
    n_best: int = 20,
    max_answer_tokens: int = 30,
) -> DecodedSpans:
    """Find the best spans of one question among all pairs of the `n_best` best starts and ends of each window.

    A start must be a passage token that has its largest context in this window (see `windows.find_max_context`). An end
    must be a passage token at or after the start, in the same sentence. Of several spans with the same text, only the
    best is returned. Spans with equal scores are ordered by window, start and end. Unlike in `run_squad.py`, the
    `n_best` starts and ends include only tokens that can start or end an answer, and no span runs across the end of a
    sentence unless all spans of a window do; no answer of KorQuAD does, and of SQuAD's only those whose abbreviations
    look like one.

    Args:
        start_logits, end_logits: one array for each window, [T] or longer; values after the first T belong to padding.
        n_best: maximum number of spans, and of starts and ends to combine in each window.
    """
    no_answer_score, columns = float("inf"), []
    sentence_starts = [start for start, _ in find_sentences(passage)]
    for k, (window, starts, ends) in enumerate(zip(windows, start_logits, end_logits, strict=True)):
        start_T = np.asarray(starts, np.float64)[: len(window)]
        end_T = np.asarray(ends, np.float64)[: len(window)]
        no_answer_score = min(no_answer_score, float(start_T[0] + end_T[0]))
        passage_start, offsets_P2 = window.passage_slice.start, window.offsets_T2[window.passage_slice]
        has_text_P = offsets_P2[:, 1] > offsets_P2[:, 0]
        start_I = _find_highest(
            start_T[window.passage_slice], has_text_P & window.is_max_context_T[window.passage_slice], n_best
        )
        end_J = _find_highest(end_T[window.passage_slice], has_text_P, n_best)
        length_IJ = end_J - start_I[:, None]
        sentence_P = np.searchsorted(sentence_starts, offsets_P2[:, 0], side="right")
        is_span_IJ = (length_IJ >= 0) & (length_IJ < max_answer_tokens)
        is_in_sentence_IJ = is_span_IJ & (sentence_P[end_J] == sentence_P[start_I][:, None])
        i, j = np.nonzero(is_in_sentence_IJ if is_in_sentence_IJ.any() else is_span_IJ)
        start, end = start_I[i], end_J[j]
        score = start_T[passage_start + start] + end_T[passage_start + end]
        columns.append((score, np.full(len(i), k), offsets_P2[start, 0], offsets_P2[end, 1]))
    if not columns:
        return DecodedSpans((), no_answer_score)
    score, window, begin, end = (np.concatenate(column) for column in zip(*columns, strict=True))
    spans: dict[str, Span] = {}
    for row in np.lexsort((end, begin, window, -score)):
        text = passage[begin[row] : end[row]]
        if text not in spans:
            spans[text] = Span(int(begin[row]), int(end[row]), text, float(score[row]), int(window[row]))
            if len(spans) == n_best:
                break
    return DecodedSpans(tuple(spans.values()), no_answer_score)


def _find_highest(logits: np.ndarray, is_allowed: np.ndarray, n: int) -> np.ndarray:
    """Find the positions of the n highest allowed logits, highest first; equal logits are ordered by position.

    >>> _find_highest(np.array([1.0, 3.0, 3.0, 9.0]), np.array([True, True, True, False]), 2).tolist()
    [1, 2]
    """
    positions = np.flatnonzero(is_allowed)
    return positions[np.argsort(-logits[positions], kind="stable")[:n]]

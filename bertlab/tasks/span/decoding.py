"""Decode start and end scores to the best spans of a passage and the score of "no answer".

Follows Devlin et al. 2019, section 4.2, and `run_squad.py` of google-research/bert. The caller computes the
scores; no model is needed here.

Shape legend: T tokens of a window, W windows, P tokens of the passage in a window, I starts, J ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.tasks.span.windows import SpanWindows, Window


@dataclass(frozen=True)
class Span:
    """A span of the passage."""

    start: int
    """Its first character in the passage."""
    end: int
    """The character after it."""
    text: str
    """passage[start:end]."""
    score: float
    """S.T_i + E.T_j, a logit."""
    window: int
    """The index of the window that it was found in."""


@dataclass(frozen=True)
class Decoded:
    """The best spans of one question, and the score of "no answer"."""

    spans: tuple[Span, ...]
    """The n best, best first, each with a different text."""
    no_answer_score: float
    """S.C + E.C, minimum over the windows."""

    @property
    def text(self) -> str:
        return self.spans[0].text if self.spans else ""

    @property
    def no_answer_margin(self) -> float:
        """No-answer score less the best span's: above a threshold tau, the answer is "" (section 4.3)."""
        return self.no_answer_score - self.spans[0].score if self.spans else float("inf")


def decode_spans(
    windows: Sequence[Window],
    start_logits: Sequence[np.ndarray],
    end_logits: Sequence[np.ndarray],
    passage: str,
    n_best: int = 20,
    max_answer_tokens: int = 30,
) -> Decoded:
    """The best spans of one question: the n_best starts x the n_best ends of each window, joined.

    A start lies in the passage and has its maximum context there; an end lies in the passage, not before the start, and
    the span has at most `max_answer_tokens` tokens. Of spans with the same text the best is kept; of equal scores the
    earlier window, start, end comes first. Unlike in `run_squad.py`, no place among the n_best is spent on a token that
    cannot start or end an answer.

    Args:
        start_logits, end_logits: one array [T] or longer (padding is ignored) for each window.
        passage: the text the windows were made of; answers are cut from it.
    """
    no_answer, columns = float("inf"), []
    for k, (window, starts, ends) in enumerate(zip(windows, start_logits, end_logits, strict=True)):
        start_T = np.asarray(starts, np.float64)[: len(window)]
        end_T = np.asarray(ends, np.float64)[: len(window)]
        no_answer = min(no_answer, float(start_T[0] + end_T[0]))
        before, covered_P2 = window.passage.start, window.offsets_T2[window.passage]
        usable_P = covered_P2[:, 1] > covered_P2[:, 0]
        start_I = _best(start_T[window.passage], usable_P & window.is_max_context_T[window.passage], n_best)
        end_J = _best(end_T[window.passage], usable_P, n_best)
        length_IJ = end_J - start_I[:, None]
        i, j = np.nonzero((length_IJ >= 0) & (length_IJ < max_answer_tokens))
        start, end = start_I[i], end_J[j]
        score = start_T[before + start] + end_T[before + end]
        columns.append((score, np.full(len(i), k), covered_P2[start, 0], covered_P2[end, 1]))
    if not columns:
        return Decoded((), no_answer)
    score, window, begin, end = (np.concatenate(column) for column in zip(*columns, strict=True))
    spans: dict[str, Span] = {}
    for s in np.lexsort((end, begin, window, -score)):
        text = passage[begin[s] : end[s]]
        if text not in spans:
            spans[text] = Span(int(begin[s]), int(end[s]), text, float(score[s]), int(window[s]))
            if len(spans) == n_best:
                break
    return Decoded(tuple(spans.values()), no_answer)


def decode_all(
    windows: SpanWindows,
    start_logits: Sequence[np.ndarray],
    end_logits: Sequence[np.ndarray],
    n_best: int = 20,
    max_answer_tokens: int = 30,
) -> list[Decoded]:
    """`decode_spans` for every question of a data set; one array of logits for each of the W windows."""
    if not len(windows) == len(start_logits) == len(end_logits):
        raise ValueError(f"{len(windows)} windows, {len(start_logits)} start and {len(end_logits)} end logits")
    decoded = []
    for question in range(len(windows.passage_Q)):
        own = windows.of_question(question)
        passage = windows.passage(question)
        decoded.append(
            decode_spans(windows[own], start_logits[own], end_logits[own], passage, n_best, max_answer_tokens)
        )
    return decoded


def _best(logits: np.ndarray, allowed: np.ndarray, n: int) -> np.ndarray:
    """Places of the n highest allowed logits, highest first, ties to the earlier place.

    >>> _best(np.array([1.0, 3.0, 3.0, 9.0]), np.array([True, True, True, False]), 2).tolist()
    [1, 2]
    """
    place = np.flatnonzero(allowed)
    return place[np.argsort(-logits[place], kind="stable")[:n]]

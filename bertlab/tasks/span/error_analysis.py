"""Error analysis of questions: EM and F1 of every answer, by question word and by the length of the answer."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.languages import DEFAULT, read_data
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import Group, ScoredRow, TaskAnalysis
from bertlab.tasks.span.answer import answer_questions
from bertlab.tasks.span.decoding import Decoded
from bertlab.tasks.span.metrics import answer_f1, exact_match, golds_with_words, script_of, squad_with_threshold

QUESTIONS_AT_ONCE = 16  # questions between two steps of a progress bar
SHOWN_METRICS = (
    "rouge_w", "f1", "exact_match", "has_answer_f1", "no_answer_f1", "best_rouge_w", "best_f1", "null_threshold",
    "total",
)  # fmt: skip

_LENGTHS = ((0, "0"), (1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"))


def analyse_questions(
    loaded: Checkpoint, rows: Sequence[dict], spec: TaskSpec, max_tokens: int, progress: Callable
) -> TaskAnalysis:
    """Answer questions and score every answer.

    Args:
        rows: with the columns of SQuAD.
        max_tokens: the window length in tokens; the length used in fine-tuning replaces it if larger.
        progress: wraps the iterable of batches, as `tqdm` does.
    """
    script = script_of(spec)
    unanswerable = any(not row["answers"]["text"] for row in rows)
    spec = spec.replace(unanswerable=unanswerable)
    decoded: list[Decoded] = []
    windows = {"max_tokens": loaded.max_tokens_for(max_tokens), "stride": loaded.stride}
    for first in progress(range(0, len(rows), QUESTIONS_AT_ONCE)):
        part = rows[first : first + QUESTIONS_AT_ONCE]
        decoded += answer_questions(loaded.model, loaded.tokenizer, part, **windows)
    answers = {row["id"]: spans.text for row, spans in zip(rows, decoded, strict=True)}
    margins = {row["id"]: spans.no_answer_margin for row, spans in zip(rows, decoded, strict=True)}
    tau = (loaded.null_threshold or 0.0) if unanswerable else None
    metrics = squad_with_threshold(answers, margins, rows, spec, tau)
    scored_rows, exact = [], []
    for row, spans in zip(rows, decoded, strict=True):
        answer = "" if unanswerable and spans.no_answer_margin > tau else spans.text
        golds = golds_with_words(row["answers"]["text"], script)
        exact.append(max(exact_match(answer, gold, script) for gold in golds))
        f1 = max(answer_f1(answer, gold, float(unanswerable), script) for gold in golds)
        probability = _gold_probability(spans, golds, unanswerable, script)
        scored_rows.append(ScoredRow(row["id"], (row["question"], row["context"]), golds[0], answer, f1, probability))
    return TaskAnalysis(
        {name: metrics[name] for name in SHOWN_METRICS if name in metrics}, scored_rows,
        groups=_groups(scored_rows, exact, spec.language),
    )  # fmt: skip


def _groups(scored_rows: Sequence[ScoredRow], exact: Sequence[float], language: str) -> dict[str, tuple[Group, ...]]:
    """The questions grouped by question word and by length of the answer."""
    by_word, by_length = defaultdict(list), defaultdict(list)
    for number, row in enumerate(scored_rows):
        by_word[question_word(row.texts[0], language)].append(number)
        by_length[_length(row.gold)].append(number)
    order = [name for _, name in _LENGTHS] + ["9+"]
    groups = {
        "question": sorted(by_word.items(), key=lambda item: -len(item[1])),
        "length": [(name, by_length[name]) for name in order if name in by_length],
    }
    return {by: tuple(_group(name, rows, scored_rows, exact) for name, rows in found) for by, found in groups.items()}


def _gold_probability(spans: Decoded, golds: Sequence[str], unanswerable: bool, script: str) -> float:
    """The probability of the gold answers: a softmax over the n-best answers, with "no answer" where it is possible."""
    candidates = [(span.text, span.score) for span in spans.spans]
    if unanswerable:
        candidates.append(("", spans.no_answer_score))
    scores = np.array([value for _, value in candidates])
    if not len(scores):
        return 0.0
    shares = np.exp(scores - scores.max())
    right = [any(exact_match(text, gold, script) for gold in golds) for text, _ in candidates]
    return float(shares[right].sum() / shares.sum())


def question_word(question: str, language: str = DEFAULT) -> str:
    """The question word of a question; "" for a question without one.

    >>> question_word("In how many years?"), question_word("To whom?"), question_word("Name the mill.")
    ('how many', 'who', '')
    """
    return next(
        (word for word, pattern in _question_words(language).items() if re.search(pattern, question.lower())), ""
    )


@cache
def _question_words(language: str) -> dict[str, str]:
    """Question words with the patterns that match them, the most specific first."""
    return read_data("question_words", language)


def _length(answer: str) -> str:
    words = len(answer.split())
    return next((name for most, name in _LENGTHS if words <= most), "9+")


def _group(name: str, rows: Sequence[int], scored_rows: Sequence[ScoredRow], exact: Sequence[float]) -> Group:
    f1 = 100 * float(np.mean([scored_rows[row].score for row in rows]))
    exact_percent = 100 * float(np.mean([exact[row] for row in rows]))
    return Group(name, tuple(rows), exact_percent, f1)

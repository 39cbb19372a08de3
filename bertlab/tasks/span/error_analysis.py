"""Error analysis of question answering: EM and F1 of every answer, grouped by question word and by answer length."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.languages import DEFAULT, read_data
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import QuestionGroup, ScoredRow, TaskAnalysis
from bertlab.tasks.inference import softmax
from bertlab.tasks.span.answer import answer_questions
from bertlab.tasks.span.decoding import DecodedSpans
from bertlab.tasks.span.metrics import answer_f1, choose_script, drop_empty_golds, exact_match, score_with_threshold

QUESTIONS_AT_ONCE = 16  # questions in a chunk; the progress bar is updated after each chunk
# the metrics of `score_with_threshold` that the analysis shows, in this order
SHOWN_METRICS = (
    "rouge_w", "f1", "exact_match", "has_answer_f1", "no_answer_f1", "best_rouge_w", "best_f1", "null_threshold",
    "total",
)  # fmt: skip

# (maximum number of words in an answer, name of the group); longer answers are in the group _LONGEST
_LENGTHS = ((0, "0"), (1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"))
_LONGEST = "9+"


def analyse_questions(
    loaded: Checkpoint, rows: Sequence[dict], spec: TaskSpec, max_tokens: int, progress: Callable
) -> TaskAnalysis:
    """Answer questions, and score every answer.

    Args:
        loaded: the checkpoint that answers.
        rows: questions with the columns of SQuAD.
        spec: the task.
        max_tokens: the maximum number of tokens in a window; a checkpoint that was fine-tuned with longer windows uses
            longer windows.
        progress: wraps the iterable of chunks of `QUESTIONS_AT_ONCE` questions, as `tqdm` does.
    """
    script = choose_script(spec)  # the evaluation script that defines how answers are compared
    has_unanswerable = any(not row["answers"]["text"] for row in rows)
    spec = spec.replace(unanswerable=has_unanswerable)
    decoded: list[DecodedSpans] = []
    window_options = {"max_tokens": loaded.max_tokens_for(max_tokens), "stride": loaded.stride}
    for first in progress(range(0, len(rows), QUESTIONS_AT_ONCE)):
        chunk = rows[first : first + QUESTIONS_AT_ONCE]
        decoded += answer_questions(loaded.model, loaded.tokenizer, chunk, **window_options)
    answers = {row["id"]: spans.text for row, spans in zip(rows, decoded, strict=True)}
    margins = {row["id"]: spans.no_answer_margin for row, spans in zip(rows, decoded, strict=True)}
    tau = (loaded.null_threshold or 0.0) if has_unanswerable else None
    metrics = score_with_threshold(answers, margins, rows, spec, tau)
    scored_rows, exact_matches = [], []
    for row, spans in zip(rows, decoded, strict=True):
        answer = "" if has_unanswerable and spans.no_answer_margin > tau else spans.text
        golds = drop_empty_golds(row["answers"]["text"], script)
        exact_matches.append(max(exact_match(answer, gold, script) for gold in golds))
        f1 = max(answer_f1(answer, gold, float(has_unanswerable), script) for gold in golds)
        probability = _compute_gold_probability(spans, golds, has_unanswerable, script)
        scored_rows.append(ScoredRow(row["id"], (row["question"], row["context"]), golds[0], answer, f1, probability))
    return TaskAnalysis(
        {name: metrics[name] for name in SHOWN_METRICS if name in metrics}, scored_rows,
        groups=_group_questions(scored_rows, exact_matches, spec.language),
    )  # fmt: skip


def _group_questions(
    scored_rows: Sequence[ScoredRow], exact_matches: Sequence[float], language: str
) -> dict[str, tuple[QuestionGroup, ...]]:
    """Group questions by question word and by length of the answer."""
    by_word, by_length = defaultdict(list), defaultdict(list)
    for index, row in enumerate(scored_rows):
        by_word[find_question_word(row.texts[0], language)].append(index)
        by_length[_find_length_group(row.gold)].append(index)
    length_names = [name for _, name in _LENGTHS] + [_LONGEST]
    groups = {
        "question": sorted(by_word.items(), key=lambda item: -len(item[1])),
        "length": [(name, by_length[name]) for name in length_names if name in by_length],
    }
    return {
        criterion: tuple(_score_group(name, rows, scored_rows, exact_matches) for name, rows in named_rows)
        for criterion, named_rows in groups.items()
    }


def _compute_gold_probability(spans: DecodedSpans, golds: Sequence[str], has_unanswerable: bool, script: str) -> float:
    """Sum the probabilities of the gold answers, which come from a softmax over the scores of the best spans.

    If the data contain unanswerable questions, the softmax includes "no answer".
    """
    candidates = [(span.text, span.score) for span in spans.spans]
    if has_unanswerable:
        candidates.append(("", spans.no_answer_score))
    if not candidates:
        return 0.0
    probabilities = softmax([score for _, score in candidates])
    is_correct = [any(exact_match(text, gold, script) for gold in golds) for text, _ in candidates]
    return float(probabilities[is_correct].sum())


def find_question_word(question: str, language: str = DEFAULT) -> str:
    """Find the question word of a question; "" if it has none.

    >>> find_question_word("In how many years?"), find_question_word("To whom?"), find_question_word("Name the mill.")
    ('how many', 'who', '')
    """
    return next(
        (word for word, pattern in _read_question_words(language).items() if re.search(pattern, question.lower())), ""
    )


@cache
def _read_question_words(language: str) -> dict[str, str]:
    """Read the question words of a language and the patterns that match them, the most specific first."""
    return read_data("question_words", language)


def _find_length_group(answer: str) -> str:
    """Find the length group of an answer, such as "3-4"."""
    num_words = len(answer.split())
    return next((name for max_words, name in _LENGTHS if num_words <= max_words), _LONGEST)


def _score_group(
    name: str, rows: Sequence[int], scored_rows: Sequence[ScoredRow], exact_matches: Sequence[float]
) -> QuestionGroup:
    """Average the metrics of the questions in a group; `rows` contains the indices of the questions."""
    f1 = 100 * float(np.mean([scored_rows[row].score for row in rows]))
    exact_match_percent = 100 * float(np.mean([exact_matches[row] for row in rows]))
    return QuestionGroup(name, tuple(rows), exact_match_percent, f1)

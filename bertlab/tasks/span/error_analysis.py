"""Error analysis of question answering: EM and F1 of every answer, grouped by question word and by answer length."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.languages import DEFAULT, read_data
from bertlab.tasks.error_analysis import ANALYSIS_BATCH_SIZE, QuestionGroup, ScoredRow, TaskAnalysis
from bertlab.tasks.inference import softmax
from bertlab.tasks.span.decoding import DecodedSpans
from bertlab.tasks.span.metrics import answer_f1, choose_script, drop_empty_golds, exact_match
from bertlab.tasks.span.windows import SpanFeatures
from bertlab.tasks.task_type import TaskType

# the metrics of `score_with_threshold` that the analysis shows, in this order
SHOWN_METRICS = (
    "rouge_w",
    "f1",
    "exact_match",
    "has_answer_f1",
    "no_answer_f1",
    "best_rouge_w",
    "best_f1",
    "null_threshold",
    "total",
)
# (maximum number of words in an answer, name of the group); longer answers are in the group _LONGEST
_LENGTHS = ((0, "0"), (1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"))
_LONGEST = "9+"
_read_data = cache(read_data)


def explain_answers(
    task_type: TaskType, loaded: Checkpoint, features: SpanFeatures, progress: Callable
) -> TaskAnalysis:
    """Answer questions, and score every answer; `progress` wraps the groups of questions."""
    examples = features.examples
    has_unanswerable = any(not row.target["text"] for row in examples)
    spec = examples.spec.replace(unanswerable=has_unanswerable)
    script = choose_script(spec)  # the evaluation script that defines how answers are compared
    decoded = task_type.compute_outputs(loaded.model, features, ANALYSIS_BATCH_SIZE, progress)
    tau = (loaded.null_threshold or 0.0) if has_unanswerable else None
    predictions = replace(task_type.choose(examples, decoded), threshold=tau)
    metrics = task_type.score(replace(examples, spec=spec), predictions)
    scored_rows, exact_matches = [], []
    for row, spans in zip(examples, decoded, strict=True):
        answer = "" if has_unanswerable and spans.no_answer_margin > tau else spans.text
        golds = drop_empty_golds(row.target["text"], script)
        exact_matches.append(max(exact_match(answer, gold, script) for gold in golds))
        f1 = max(answer_f1(answer, gold, float(has_unanswerable), script) for gold in golds)
        probability = _compute_gold_probability(spans, golds, has_unanswerable, script)
        scored_rows.append(ScoredRow(row.id, row.texts, golds[0], answer, f1, probability))
    return TaskAnalysis(
        {name: metrics[name] for name in SHOWN_METRICS if name in metrics},
        scored_rows,
        groups=_group_questions(scored_rows, exact_matches, spec.language),
    )


def _group_questions(
    scored_rows: Sequence[ScoredRow], exact_matches: Sequence[float], language: str
) -> dict[str, tuple[QuestionGroup, ...]]:
    """Group questions by question word and by length of the answer."""
    by_word, by_length = defaultdict(list), defaultdict(list)
    for index, row in enumerate(scored_rows):
        by_word[find_question_word(row.texts[0], language)].append(index)
        num_words = len(row.gold.split())
        by_length[next((name for max_words, name in _LENGTHS if num_words <= max_words), _LONGEST)].append(index)
    length_names = [name for _, name in _LENGTHS] + [_LONGEST]
    groups = {
        "question": sorted(by_word.items(), key=lambda item: -len(item[1])),
        "length": [(name, by_length[name]) for name in length_names if name in by_length],
    }
    return {
        criterion: tuple(
            QuestionGroup(
                name,
                tuple(rows),
                100 * float(np.mean([exact_matches[row] for row in rows])),
                100 * float(np.mean([scored_rows[row].score for row in rows])),
            )
            for name, rows in named_rows
        )
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
    patterns = _read_data("question_words", language)  # the most specific first
    return next((word for word, pattern in patterns.items() if re.search(pattern, question.lower())), "")

"""How a checkpoint does on questions, one by one: EM and F1, by what is asked for and by how long the answer is.

A checkpoint and rows in, facts out; knows no page and no optimiser.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.span.decoding import Decoded
from bertlab.tasks.span.metrics import answer_f1, exact_match, script_of, worded
from bertlab.tasks.span.predict import answer_all, measured, spoken
from bertlab.tasks.span.squad import labelled
from bertlab.text.readers.rows import evenly_spaced
from bertlab.training.error_analysis.results import Examination, Given, Group, Judged

AT_ONCE = 16  # questions between two steps of a progress bar

# a question is of the first kind that has one of these in it
QUESTION_WORDS = {
    "en": {word: rf"\b{word}\b" for word in ("why", "when", "where", "who", "which", "how", "what")}
    | {"who": r"\b(who|whom|whose)\b", "how many": r"\bhow (many|much|long|old|far|large)\b"},
    "ko": {
        "왜": "왜|이유",
        "언제": "언제",
        "어디": "어디|어느 (곳|나라|도시)",
        "누구": "누구|누가",
        "몇·얼마": "몇|얼마",
        "어떻게": "어떻게|어떤 (방법|방식)",
        "무엇": "무엇|무슨|뭐|어떤|어느|이름",
    },
}
_ASKED_FIRST = ("how many",)
_LENGTHS = ((0, "0"), (1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"))


def examine_questions(loaded: Checkpoint, rows: Given, spec: TaskSpec, most: int, progress: Callable) -> Examination:
    """`examine.examine` for questions. Raises DataError where they are not `labelled`."""
    chosen = [rows.rows[row] for row in evenly_spaced(len(rows), most)]
    spec = spoken(spec, rows.rows)
    script = script_of(spec)
    unanswerable = any(not row["answers"]["text"] for row in chosen)
    if not labelled(rows.rows, unanswerable):
        raise DataError(f"{rows.name} has no labels, so nothing can be measured on it")
    spec = spec.replace(unanswerable=unanswerable)
    decoded: list[Decoded] = []
    windows = {"max_tokens": loaded.max_tokens_for(spec), "stride": loaded.stride}
    for first in progress(range(0, len(chosen), AT_ONCE)):
        decoded += answer_all(loaded.model, loaded.tokenizer, chosen[first : first + AT_ONCE], **windows)
    texts = {row["id"]: found.text for row, found in zip(chosen, decoded, strict=True)}
    margins = {row["id"]: found.no_answer_margin for row, found in zip(chosen, decoded, strict=True)}
    tau = (loaded.null_threshold or 0.0) if unanswerable else None
    told = measured(texts, margins, chosen, spec, tau)
    judged, exact = [], []
    for row, found in zip(chosen, decoded, strict=True):
        said = "" if unanswerable and found.no_answer_margin > tau else found.text
        golds = worded(row["answers"]["text"], script)
        exact.append(max(exact_match(said, gold, script) for gold in golds))
        f1 = max(answer_f1(said, gold, float(unanswerable), script) for gold in golds)
        chance = _chance(found, golds, unanswerable, script)
        judged.append(Judged(row["id"], (row["question"], row["context"]), golds[0], said, f1, chance))
    by_word, by_length = defaultdict(list), defaultdict(list)
    for number, row in enumerate(judged):
        by_word[question_word(row.texts[0], spec.language)].append(number)
        by_length[_length(row.given)].append(number)
    order = [name for _, name in _LENGTHS] + ["9+"]
    groups = {
        "question": [*sorted(by_word.items(), key=lambda item: -len(item[1]))],
        "length": [(name, by_length[name]) for name in order if name in by_length],
    }
    shown = (
        "rouge_w", "f1", "exact_match", "has_answer_f1", "no_answer_f1", "best_rouge_w", "best_f1", "null_threshold",
        "total",
    )  # fmt: skip
    return Examination(
        rows.name, spec, {name: told[name] for name in shown if name in told}, tuple(judged), len(rows), rows.left_out,
        groups={by: tuple(_group(name, own, judged, exact) for name, own in found) for by, found in groups.items()},
    )  # fmt: skip


def _chance(found: Decoded, golds: Sequence[str], unanswerable: bool, script: str) -> float:
    """The share of the given answers in a softmax over the n-best, and over "no answer" where that may be said."""
    said = [(span.text, span.score) for span in found.spans]
    if unanswerable:
        said.append(("", found.no_answer_score))
    scores = np.array([value for _, value in said])
    if not len(scores):
        return 0.0
    shares = np.exp(scores - scores.max())
    right = [any(exact_match(text, gold, script) for gold in golds) for text, _ in said]
    return float(shares[right].sum() / shares.sum())


def question_word(question: str, language: str = "en") -> str:
    """What a question asks for, by its question word; "" for one without.

    >>> question_word("In how many years?"), question_word("To whom?"), question_word("Name the mill.")
    ('how many', 'who', '')
    """
    table = QUESTION_WORDS[language]
    order = [*(name for name in _ASKED_FIRST if name in table), *table]
    return next((name for name in order if re.search(table[name], question.lower())), "")


def _length(answer: str) -> str:
    words = len(answer.split())
    return next((name for most, name in _LENGTHS if words <= most), "9+")


def _group(name: str, rows: Sequence[int], judged: Sequence[Judged], exact: Sequence[float]) -> Group:
    em, f1 = (100 * float(np.mean([of(row) for row in rows])) for of in (exact.__getitem__, lambda r: judged[r].score))
    return Group(name, tuple(rows), em, f1)

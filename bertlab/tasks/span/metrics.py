"""Metrics for predicted answers: exact match, F1 and ROUGE-W, computed as in the scripts of SQuAD, KorQuAD and KLUE."""

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np

from bertlab.config.errors import DataError
from bertlab.config.languages import languages
from bertlab.config.tasks import TaskSpec

_PUNCTUATION = str.maketrans("", "", string.punctuation)  # table for `str.translate` that deletes ASCII punctuation
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
# table for `str.translate` that replaces quotation marks and brackets with spaces
_KOREAN_MARKS = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))


def normalise_answer(text: str) -> str:
    """Normalise an answer as SQuAD does: lower case, no ASCII punctuation, no a/an/the, single spaces.

    >>> normalise_answer("  The  tea-pot, a   kettle!")
    'teapot kettle'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def normalise_korean_answer(text: str) -> str:
    """Normalise an answer as KorQuAD does: like SQuAD, but quotes and brackets become spaces, and articles remain.

    Source: evaluate-korquad_v1.0.py (Lim et al. 2019, arXiv 1909.07005).

    >>> normalise_korean_answer("《주전자》와(과) 찻잔.")
    '주전자 와 과 찻잔'
    """
    return " ".join(text.translate(_KOREAN_MARKS).lower().translate(_PUNCTUATION).split())


def normalise_klue_answer(text: str) -> str:
    """Normalise an answer as KLUE-MRC does: lower case, no ASCII punctuation, single spaces; Korean brackets remain.

    Source: klue_baseline/metrics/utils.py of KLUE-benchmark/KLUE-baseline (Park et al. 2021, arXiv 2105.09680).

    >>> normalise_klue_answer("《주전자》와(과) 찻잔.")
    '《주전자》와과 찻잔'
    """
    return " ".join(text.lower().translate(_PUNCTUATION).split())


NORMALISERS = {"squad": normalise_answer, "korquad": normalise_korean_answer, "klue": normalise_klue_answer}
"""Evaluation script -> the function with which it normalises answers."""


def choose_script(spec: TaskSpec) -> str:
    """Choose the evaluation script for a task's answers: KLUE's for ROUGE-W, else that of the task's language.

    >>> from bertlab.config.tasks import TASKS
    >>> choose_script(TASKS["squad_v2"]), choose_script(TASKS["korquad"]), choose_script(TASKS["klue_mrc"])
    ('squad', 'korquad', 'klue')
    """
    if "rouge_w" in spec.metrics:
        return "klue"
    scripts = {code: language.answer_normaliser for code, language in languages().items() if language.answer_normaliser}
    if spec.language not in scripts:
        raise DataError("answer-language-unknown", language=repr(spec.language), languages=list(scripts))
    return scripts[spec.language]


def exact_match(prediction: str, gold: str, script: str = "squad") -> float:
    """Compute the exact match: 1.0 if both answers are equal after normalisation, otherwise 0.0.

    >>> exact_match("the kettle", "Kettle."), exact_match("kettles", "kettle")
    (1.0, 0.0)
    """
    normalise = NORMALISERS[script]
    return float(normalise(prediction) == normalise(gold))


def answer_f1(prediction: str, gold: str, score_if_empty: float = 0.0, script: str = "squad") -> float:
    """Compute the F1 of the words, or in Korean the characters, that `prediction` and `gold` have in common.

    Args:
        score_if_empty: the score if both answers are without words: 0 in the script of v1.1, 1 in the script of v2.0.
        script: the evaluation script: "squad" counts words; "korquad" and "klue" count characters.

    >>> answer_f1("the green kettle", "kettle of iron")  # precision 1/2, recall 1/3
    0.4
    """
    predicted, expected = (NORMALISERS[script](text).split() for text in (prediction, gold))
    if script != "squad":
        predicted, expected = "".join(predicted), "".join(expected)
    if not predicted and not expected:
        return score_if_empty
    return _f1((Counter(predicted) & Counter(expected)).total(), len(predicted), len(expected))


def rouge_w(prediction: str, gold: str) -> float:
    """Compute KLUE-MRC's ROUGE-W: F1 of the longest common substring, including spaces; 1 if both answers are empty.

    One difference from the script: in answers of 200 or more characters, the script ignores frequent characters when it
    calls `difflib`, and this function does not.

    Source: as for `normalise_klue_answer`; Park et al. 2021, section 3.7.

    >>> rouge_w("파란 주전자", "주전자")  # a substring of 3 characters; 6 predicted, 3 gold
    0.6666666666666666
    """
    predicted, expected = normalise_klue_answer(prediction), normalise_klue_answer(gold)
    if not predicted and not expected:
        return 1.0
    common = SequenceMatcher(None, predicted, expected, autojunk=False).find_longest_match().size
    return _f1(common, len(predicted), len(expected))


def _f1(num_common: int, num_predicted: int, num_expected: int) -> float:
    if not num_common:
        return 0.0
    precision, recall = num_common / num_predicted, num_common / num_expected
    return 2 * precision * recall / (precision + recall)


def drop_empty_golds(golds: Iterable[str], script: str) -> list[str]:
    """Drop gold answers without any word, as the scripts of v2.0 do; [""] if no answer remains."""
    return [gold for gold in golds if NORMALISERS[script](gold)] or [""]


def _score_answer(prediction: str, golds: Sequence[str], score_if_empty: float, script: str) -> dict[str, float]:
    """Compute every metric of the script for one question; each is the maximum over the gold answers."""
    scores = {
        "exact_match": max(exact_match(prediction, gold, script) for gold in golds),
        "f1": max(answer_f1(prediction, gold, score_if_empty, script) for gold in golds),
    }
    return scores | ({"rouge_w": max(rouge_w(prediction, gold) for gold in golds)} if script == "klue" else {})


def score_squad(
    predictions: Mapping[str, str],
    questions: Iterable[Mapping],
    version: str = "1.1",
    no_answer: Mapping[str, float] | None = None,
    threshold: float | None = None,
    script: str = "squad",
) -> dict[str, float]:
    """Score answers by exact match and F1 in percent, as SQuAD's `evaluate-v1.1.py` and `evaluate-v2.0.py` do.

    The score of a question is the highest of the scores for its gold answers. As in the scripts, a question without a
    prediction scores 0 in v1.1, and is excluded in v2.0.

    Args:
        predictions: question id -> predicted answer; "" means "no answer".
        questions: rows with id and answers, as in SQuAD. In v2.0, a row without answers counts as unanswerable, even in
            a test set whose answers are all hidden (see `squad.is_labelled`).
        version: "1.1" or "2.0".
        no_answer: v2.0 only: question id -> no-answer score; a higher score means that an answer is less likely.
        threshold: v2.0 only: if the no-answer score of a question is above it, the prediction counts as "".
        script: see `choose_script`.

    Returns:
        exact_match, f1 and, with the script of KLUE, rouge_w; total, the number of questions that were scored; missing,
        the number of questions without a prediction. For v2.0 also has_answer_* and no_answer_*, and with `no_answer`
        the best metrics at any threshold (best_*) and the thresholds that lead to them (best_*_threshold).

    >>> questions = [{"id": "q", "answers": {"text": ["a kettle", "the iron kettle"], "answer_start": [3, 9]}}]
    >>> score_squad({"q": "Iron kettle"}, questions)
    {'exact_match': 100.0, 'f1': 100.0, 'total': 1, 'missing': 0}
    """
    if version not in ("1.1", "2.0"):
        raise DataError("squad-version-unknown", version=version)
    if script not in NORMALISERS:
        raise DataError("answer-script-unknown", script=repr(script), scripts=list(NORMALISERS))
    answers = {row["id"]: list(row["answers"]["text"]) for row in questions}
    missing = sum(id not in predictions for id in answers)
    if missing == len(answers):
        raise DataError("predictions-for-other-questions", count=len(answers))
    if version == "1.1":
        return _score_v1(predictions, answers, script) | {"total": len(answers), "missing": missing}
    return _score_v2(predictions, answers, no_answer, threshold, script) | {"missing": missing}


def _score_v1(predictions: Mapping[str, str], answers: dict[str, list[str]], script: str) -> dict[str, float]:
    ids_without_answer = [id for id, golds in answers.items() if not golds]
    if ids_without_answer:
        if len(ids_without_answer) == len(answers):
            raise DataError("questions-without-answers", id=ids_without_answer[0])
        raise DataError("question-without-answer", id=ids_without_answer[0])
    rows = [_score_answer(predictions[id], golds, 0.0, script) for id, golds in answers.items() if id in predictions]
    return {name: 100 * sum(scores[name] for scores in rows) / len(answers) for name in rows[0]}


def _score_v2(
    predictions: Mapping[str, str],
    answers: dict[str, list[str]],
    no_answer: Mapping[str, float] | None,
    threshold: float | None,
    script: str,
) -> dict[str, float]:
    ids = [id for id in answers if id in predictions]
    if no_answer is None and threshold is not None:
        raise DataError("threshold-needs-scores")
    if no_answer is not None and (unscored := [id for id in ids if id not in no_answer]):
        raise DataError("no-answer-scores-missing", count=len(unscored), first=unscored[0])
    # as in the script, gold answers without any word are dropped, and "" is correct if no gold answer remains
    rows = [_score_answer(predictions[id], drop_empty_golds(answers[id], script), 1.0, script) for id in ids]
    scores = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    has_answer = np.array([bool(answers[id]) for id in ids])
    metrics: dict[str, float] = {}
    best_metrics: dict[str, float] = {}
    if no_answer is not None:
        margin = np.array([no_answer[id] for id in ids])
        has_prediction = np.array([bool(predictions[id]) for id in ids])
        for name, raw in scores.items():
            best_metrics[f"best_{name}"], best_metrics[f"best_{name}_threshold"] = _find_best_threshold(
                raw, margin, has_answer, has_prediction
            )
        if threshold is not None:
            scores = {name: np.where(margin > threshold, ~has_answer, raw) for name, raw in scores.items()}
    for group, members in (("", has_answer | True), ("has_answer_", has_answer), ("no_answer_", ~has_answer)):
        if members.any():
            metrics |= {group + name: float(100 * score[members].mean()) for name, score in scores.items()}
            metrics[f"{group}total"] = int(members.sum())
    return metrics | best_metrics


def _find_best_threshold(
    raw: np.ndarray, margin: np.ndarray, has_answer: np.ndarray, has_prediction: np.ndarray
) -> tuple[float, float]:
    """Find the best score in percent and the threshold that leads to it, as `find_best_thresh` of the script does.

    The search begins with a threshold below all margins, where every answer is "". Whenever the threshold rises above
    the margin of a question, the predicted span of that question replaces the answer "".

    Args:
        raw: for each question, the score of the predicted span, 0 to 1.
        has_prediction: for each question, whether the predicted span is not "".
    """
    order = np.argsort(margin, kind="stable")
    # how much the sum of the scores changes if the answer of a question is its predicted span instead of ""
    gain = np.where(has_answer, raw, np.where(has_prediction, -1.0, 0.0))[order]
    score_sums = np.concatenate([[0.0], np.cumsum(gain)]) + np.count_nonzero(~has_answer)
    best_index = int(score_sums.argmax())
    # if it is best to answer no question, the script returns 0, which suits probabilities, but not negative margins
    below_all_margins = 0.0 if margin.min() > 0 else float(margin.min()) - 1.0
    threshold = float(margin[order[best_index - 1]]) if best_index else below_all_margins
    return float(100 * score_sums[best_index] / len(raw)), threshold


def score_with_threshold(
    answers: Mapping[str, str],
    margins: Mapping[str, float],
    rows: Sequence[Mapping],
    spec: TaskSpec,
    threshold: float | None = None,
) -> dict[str, float]:
    """Score a model's answers; in v2.0 the prediction is "no answer" if the margin exceeds the threshold tau.

    Args:
        margins: question id -> no-answer score minus the best span's score.
        rows: questions with id and answers, as in SQuAD.
        threshold: tau; None tunes it on these rows for the best F1 (ROUGE-W for KLUE-MRC), as section 4.3 of the paper
            does on the dev set.

    Returns:
        The metrics of `score_squad` in percent; in v2.0 also null_threshold, the tau that was used.
    """
    script = choose_script(spec)
    if not spec.unanswerable:
        return score_squad(answers, rows, "1.1", script=script)
    if threshold is None:
        best_threshold = score_squad(answers, rows, "2.0", margins, script=script)[f"best_{spec.metrics[0]}_threshold"]
        # The threshold is halfway to the next margin, so that predictions stay the same if rounded weights change a
        # margin slightly.
        next_margin = min((m for m in margins.values() if best_threshold < m < math.inf), default=best_threshold)
        threshold = (best_threshold + next_margin) / 2
    return score_squad(answers, rows, "2.0", margins, threshold, script) | {"null_threshold": threshold}

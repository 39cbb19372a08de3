"""How good answers to questions are: exact match, F1 and ROUGE-W as SQuAD's, KorQuAD's and KLUE's scripts count them.

Plain texts in, plain values out: knows no model and no files.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np

from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_KOREAN_MARKS = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))


def normalised_answer(text: str) -> str:
    """What SQuAD compares: lower case, no ASCII punctuation, no a/an/the, single spaces.

    >>> normalised_answer("  The  tea-pot, a   kettle!")
    'teapot kettle'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def normalised_korean_answer(text: str) -> str:
    """What KorQuAD compares: as SQuAD, but there are no articles, and quotes and brackets part words.

    Source: evaluate-korquad_v1.0.py (Lim et al. 2019, arXiv 1909.07005).

    >>> normalised_korean_answer("《주전자》와(과) 찻잔.")
    '주전자 와 과 찻잔'
    """
    return " ".join(text.translate(_KOREAN_MARKS).lower().translate(_PUNCTUATION).split())


def normalised_klue_answer(text: str) -> str:
    """What KLUE-MRC compares: lower case, no ASCII punctuation, single spaces; Korean quotes and brackets stay.

    Its script means to take those too, as KorQuAD's does, but its pattern wants all of them in a row and so never fits.

    Source: klue_baseline/metrics/utils.py of KLUE-benchmark/KLUE-baseline (Park et al. 2021, arXiv 2105.09680).

    >>> normalised_klue_answer("《주전자》와(과) 찻잔.")
    '《주전자》와과 찻잔'
    """
    return " ".join(text.lower().translate(_PUNCTUATION).split())


_NORMALISED = {"squad": normalised_answer, "korquad": normalised_korean_answer, "klue": normalised_klue_answer}


def script_of(spec: TaskSpec) -> str:
    """Whose script measures a task's answers: KLUE-MRC's where it wants ROUGE-W, else KorQuAD's in Korean.

    Raises:
        DataError: a language that no script is for.

    >>> from bertlab.config.tasks import TASKS
    >>> script_of(TASKS["squad_v2"]), script_of(TASKS["korquad"]), script_of(TASKS["klue_mrc"])
    ('squad', 'korquad', 'klue')
    """
    if "rouge_w" in spec.metrics:
        return "klue"
    scripts = {"en": "squad", "ko": "korquad"}
    if spec.language not in scripts:
        raise DataError(f"no way to compare answers in {spec.language!r} is known: {' or '.join(scripts)}")
    return scripts[spec.language]


def exact_match(prediction: str, gold: str, script: str = "squad") -> float:
    """1.0 if both are the same once normalised, else 0.0.

    >>> exact_match("the kettle", "Kettle."), exact_match("kettles", "kettle")
    (1.0, 0.0)
    """
    normalised = _NORMALISED[script]
    return float(normalised(prediction) == normalised(gold))


def answer_f1(prediction: str, gold: str, both_empty: float = 0.0, script: str = "squad") -> float:
    """Harmonic mean of the precision and recall of the words of `prediction`, as a bag; of its characters in Korean.

    Args:
        both_empty: what two answers without any word get: 0 in the script of v1.1, 1 in that of v2.0.
        script: "squad" counts words, "korquad" and "klue" characters.

    >>> answer_f1("the green kettle", "kettle of iron")  # 1 of 2 words right, 1 of 3 found
    0.4
    """
    predicted, wanted = (_NORMALISED[script](text).split() for text in (prediction, gold))
    if script != "squad":
        predicted, wanted = "".join(predicted), "".join(wanted)
    if not predicted and not wanted:
        return both_empty
    return _f1((Counter(predicted) & Counter(wanted)).total(), len(predicted), len(wanted))


def rouge_w(prediction: str, gold: str) -> float:
    """KLUE-MRC's ROUGE-W: F1 of the longest run of characters (spaces too) that both have; 1 if both are empty.

    The name is that of ROUGE's weighted longest common subsequence (Lin 2004), which prizes runs; KLUE's script takes
    that to its end and counts one run alone. Here every character counts, also in answers of 200 characters and more,
    where its `difflib` passes over common ones.

    Source: as for `normalised_klue_answer`; Park et al. 2021, section 3.7.

    >>> rouge_w("파란 주전자", "주전자")  # a run of 3, of 6 said and of 3 wanted
    0.6666666666666666
    """
    predicted, wanted = normalised_klue_answer(prediction), normalised_klue_answer(gold)
    if not predicted and not wanted:
        return 1.0
    run = SequenceMatcher(None, predicted, wanted, autojunk=False).find_longest_match().size
    return _f1(run, len(predicted), len(wanted))


def _f1(same: int, predicted: int, wanted: int) -> float:
    if not same:
        return 0.0
    precision, recall = same / predicted, same / wanted
    return 2 * precision * recall / (precision + recall)


def worded(golds: Iterable[str], script: str) -> list[str]:
    """The given answers that hold a word, as the scripts count them in v2.0; "" where there is none."""
    return [gold for gold in golds if _NORMALISED[script](gold)] or [""]


def _scores(prediction: str, golds: Sequence[str], both_empty: float, script: str) -> dict[str, float]:
    """The best score over a question's answers, by every measure of the script."""
    found = {
        "exact_match": max(exact_match(prediction, gold, script) for gold in golds),
        "f1": max(answer_f1(prediction, gold, both_empty, script) for gold in golds),
    }
    return found | ({"rouge_w": max(rouge_w(prediction, gold) for gold in golds)} if script == "klue" else {})


def squad(
    predictions: Mapping[str, str],
    golds: Iterable[Mapping],
    version: str = "1.1",
    no_answer: Mapping[str, float] | None = None,
    threshold: float | None = None,
    script: str = "squad",
) -> dict[str, float]:
    """Exact match and F1 in percent, as SQuAD's `evaluate-v1.1.py` and `evaluate-v2.0.py` define them; by KLUE's script
    ROUGE-W too.

    Each question takes its best score over its gold answers. In v1.1 a question without prediction scores 0; in v2.0 it
    is left out, as the script does. `missing` counts them.

    Args:
        golds: rows with id and answers (SQuAD's columns, see `bertlab.tasks.span.squad`). In v2.0 one without any
            answer is taken to have none, even if that is all of them, so a test set is to be refused before
            (`tasks.span.squad.labelled`).
        no_answer: v2.0 only: a score for each id, high where there is no answer (a probability or a margin of logits).
        threshold: v2.0 only: a question whose no_answer score is above it is taken to be answered "".
        script: whose way to compare answers: "squad", "korquad" or "klue", see `script_of`.

    Returns:
        exact_match, f1, by KLUE's script rouge_w; total, missing; for v2.0 also these figures and the total of the
        questions with and without answer (has_answer_*, no_answer_*), and with `no_answer` the best that any threshold
        reaches (best_exact_match, best_f1, best_rouge_w) and those thresholds.

    Raises:
        DataError: nothing to score, v1.1 rows without answers, an unknown version, or no score for a question.

    >>> golds = [{"id": "q", "answers": {"text": ["a kettle", "the iron kettle"], "answer_start": [3, 9]}}]
    >>> squad({"q": "Iron kettle"}, golds)
    {'exact_match': 100.0, 'f1': 100.0, 'total': 1, 'missing': 0}
    """
    if version not in ("1.1", "2.0"):
        raise DataError(f"SQuAD {version} is not known: 1.1 or 2.0")
    if script not in _NORMALISED:
        raise DataError(f"no script {script!r} is known: {', '.join(_NORMALISED)}")
    answers = {row["id"]: list(row["answers"]["text"]) for row in golds}
    missing = sum(id not in predictions for id in answers)
    if missing == len(answers):
        raise DataError(f"none of the {len(answers)} questions is answered: are these predictions for another file?")
    if version == "1.1":
        return _squad_v1(predictions, answers, script) | {"total": len(answers), "missing": missing}
    return _squad_v2(predictions, answers, no_answer, threshold, script) | {"missing": missing}


def _squad_v1(predictions: Mapping[str, str], answers: dict[str, list[str]], script: str) -> dict[str, float]:
    unanswerable = [id for id, golds in answers.items() if not golds]
    if unanswerable:
        what = (
            "this a test set without answers, or SQuAD v2.0" if len(unanswerable) == len(answers) else "this SQuAD v2.0"
        )
        raise DataError(f"question {unanswerable[0]} has no gold answer: is {what}?")
    found = [_scores(predictions[id], golds, 0.0, script) for id, golds in answers.items() if id in predictions]
    return {name: 100 * sum(scores[name] for scores in found) / len(answers) for name in found[0]}


def _squad_v2(
    predictions: Mapping[str, str],
    answers: dict[str, list[str]],
    no_answer: Mapping[str, float] | None,
    threshold: float | None,
    script: str,
) -> dict[str, float]:
    ids = [id for id in answers if id in predictions]
    if no_answer is None and threshold is not None:
        raise DataError("a threshold needs no-answer scores to be held against")
    if no_answer is not None and (unscored := [id for id in ids if id not in no_answer]):
        raise DataError(f"{len(unscored)} questions have no no-answer score, the first is {unscored[0]}")
    # As in the script: golds without any word do not count, and what has none left is answered rightly by "".
    rows = [_scores(predictions[id], worded(answers[id], script), 1.0, script) for id in ids]
    scores = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    has_answer = np.array([bool(answers[id]) for id in ids])
    found: dict[str, float] = {}
    best: dict[str, float] = {}
    if no_answer is not None:
        margin = np.array([no_answer[id] for id in ids])
        given = np.array([bool(predictions[id]) for id in ids])
        for name, raw in scores.items():
            best[f"best_{name}"], best[f"best_{name}_threshold"] = _best_threshold(raw, margin, has_answer, given)
        if threshold is not None:
            scores = {name: np.where(margin > threshold, ~has_answer, raw) for name, raw in scores.items()}
    for group, members in (("", has_answer | True), ("has_answer_", has_answer), ("no_answer_", ~has_answer)):
        if members.any():
            found |= {group + name: float(100 * score[members].mean()) for name, score in scores.items()}
            found[f"{group}total"] = int(members.sum())
    return found | best


def _best_threshold(raw: np.ndarray, margin: np.ndarray, has_answer: np.ndarray, given: np.ndarray):
    """The best score in percent, and the threshold that reaches it: `find_best_thresh` of the official script.

    Raising the threshold past a question lets its own prediction count in place of "".
    """
    order = np.argsort(margin, kind="stable")
    gain = np.where(has_answer, raw, np.where(given, -1.0, 0.0))[order]
    reached = np.concatenate([[0.0], np.cumsum(gain)]) + np.count_nonzero(~has_answer)
    best = int(reached.argmax())
    # The script says 0 for "answer nothing", which holds for probabilities but not for margins below 0.
    nothing = 0.0 if margin.min() > 0 else float(margin.min()) - 1.0
    return float(100 * reached[best] / len(raw)), float(margin[order[best - 1]]) if best else nothing

"""How good answers to questions are: exact match and F1 as SQuAD's and KorQuAD's scripts count them.

Plain texts in, plain values out: knows no model and no files.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from bertlab.spec.errors import DataError

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


def _korean_characters(text: str) -> list[str]:
    return [character for word in normalised_korean_answer(text).split() for character in word]


def _english_words(text: str) -> list[str]:
    return normalised_answer(text).split()


# by language: what an exact match compares, and the bag that F1 counts; KorQuAD's is one of characters
_COMPARED = {"en": (normalised_answer, _english_words), "ko": (normalised_korean_answer, _korean_characters)}


def exact_match(prediction: str, gold: str, language: str = "en") -> float:
    """1.0 if both are the same once normalised, else 0.0.

    >>> exact_match("the kettle", "Kettle."), exact_match("kettles", "kettle")
    (1.0, 0.0)
    """
    normalised, _ = _COMPARED[language]
    return float(normalised(prediction) == normalised(gold))


def answer_f1(prediction: str, gold: str, both_empty: float = 0.0, language: str = "en") -> float:
    """Harmonic mean of the precision and recall of the words of `prediction`, as a bag; of its characters in Korean.

    Args:
        both_empty: what two answers without any word get: 0 in the script of v1.1, 1 in that of v2.0.
        language: "en" as SQuAD counts, "ko" as KorQuAD does.

    >>> answer_f1("the green kettle", "kettle of iron")  # 1 of 2 words right, 1 of 3 found
    0.4
    """
    _, bag = _COMPARED[language]
    predicted, wanted = bag(prediction), bag(gold)
    if not predicted and not wanted:
        return both_empty
    same = (Counter(predicted) & Counter(wanted)).total()
    if not same:
        return 0.0
    precision, recall = same / len(predicted), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def squad(
    predictions: Mapping[str, str],
    golds: Iterable[Mapping],
    version: str = "1.1",
    no_answer: Mapping[str, float] | None = None,
    threshold: float | None = None,
    language: str = "en",
) -> dict[str, float]:
    """Exact match and F1 in percent, as SQuAD's `evaluate-v1.1.py` and `evaluate-v2.0.py` define them.

    Each question takes its best score over its gold answers. In v1.1 a question without prediction scores 0; in v2.0 it
    is left out, as the script does. `missing` counts them.

    Args:
        golds: rows with id and answers (SQuAD's columns, see `bertlab.text.squad`). In v2.0 one without any answer is
            taken to have none, even if that is all of them, so a test set is to be refused before
            (`text.squad.labelled`).
        no_answer: v2.0 only: a score for each id, high where there is no answer (a probability or a margin of logits).
        threshold: v2.0 only: a question whose no_answer score is above it is taken to be answered "".
        language: "ko" compares as KorQuAD's script does; with 2.0 that is F1 where KLUE-MRC reports ROUGE-W.

    Returns:
        exact_match, f1, total, missing; for v2.0 also the two figures and the total of the questions with and without
        answer (has_answer_*, no_answer_*), and with `no_answer` the best that any threshold reaches (best_exact_match,
        best_f1) and those thresholds.

    Raises:
        DataError: nothing to score, v1.1 rows without answers, an unknown version, or no score for a question.

    >>> golds = [{"id": "q", "answers": {"text": ["a kettle", "the iron kettle"], "answer_start": [3, 9]}}]
    >>> squad({"q": "Iron kettle"}, golds)
    {'exact_match': 100.0, 'f1': 100.0, 'total': 1, 'missing': 0}
    """
    if version not in ("1.1", "2.0"):
        raise DataError(f"SQuAD {version} is not known: 1.1 or 2.0")
    if language not in _COMPARED:
        raise DataError(f"no way to compare answers in {language!r} is known: {' or '.join(_COMPARED)}")
    answers = {row["id"]: list(row["answers"]["text"]) for row in golds}
    missing = sum(id not in predictions for id in answers)
    if missing == len(answers):
        raise DataError(f"none of the {len(answers)} questions is answered: are these predictions for another file?")
    if version == "1.1":
        return _squad_v1(predictions, answers, language) | {"total": len(answers), "missing": missing}
    return _squad_v2(predictions, answers, no_answer, threshold, language) | {"missing": missing}


def _squad_v1(predictions: Mapping[str, str], answers: dict[str, list[str]], language: str) -> dict[str, float]:
    unanswerable = [id for id, golds in answers.items() if not golds]
    if unanswerable:
        what = (
            "this a test set without answers, or SQuAD v2.0" if len(unanswerable) == len(answers) else "this SQuAD v2.0"
        )
        raise DataError(f"question {unanswerable[0]} has no gold answer: is {what}?")
    pairs = [(predictions[id], golds) for id, golds in answers.items() if id in predictions]
    exact = sum(max(exact_match(text, gold, language) for gold in golds) for text, golds in pairs)
    f1 = sum(max(answer_f1(text, gold, language=language) for gold in golds) for text, golds in pairs)
    return {"exact_match": 100 * exact / len(answers), "f1": 100 * f1 / len(answers)}


def _squad_v2(
    predictions: Mapping[str, str],
    answers: dict[str, list[str]],
    no_answer: Mapping[str, float] | None,
    threshold: float | None,
    language: str,
) -> dict[str, float]:
    normalised, _ = _COMPARED[language]
    ids = [id for id in answers if id in predictions]
    if no_answer is None and threshold is not None:
        raise DataError("a threshold needs no-answer scores to be held against")
    if no_answer is not None and (unscored := [id for id in ids if id not in no_answer]):
        raise DataError(f"{len(unscored)} questions have no no-answer score, the first is {unscored[0]}")
    # As in the script: golds without any word do not count, and what has none left is answered rightly by "".
    golds = {id: [gold for gold in answers[id] if normalised(gold)] or [""] for id in ids}
    exact = np.array([max(exact_match(predictions[id], gold, language) for gold in golds[id]) for id in ids])
    f1 = np.array([max(answer_f1(predictions[id], gold, 1.0, language) for gold in golds[id]) for id in ids])
    has_answer = np.array([bool(answers[id]) for id in ids])
    scores = {"exact_match": exact, "f1": f1}
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

"""How good an answer is: masked accuracy, bits per character, the measures of GLUE and of entities, SQuAD's, KorQuAD's.

Plain values in, plain values out: knows no model and no files.

Shape legend: P predicted (masked) positions.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bertlab.spec.errors import DataError
from bertlab.text.tags import entity_spans

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_KOREAN_MARKS = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))


def masked_accuracy(predicted_P: np.ndarray, labels_P: np.ndarray, ignored: int = -100) -> float:
    """Share in 0..1 of the masked pieces whose most probable piece is the original; `ignored` labels do not count.

    >>> masked_accuracy(np.array([7, 8, 9]), np.array([7, 5, -100]))
    0.5
    """
    counted = np.asarray(labels_P) != ignored
    if not counted.any():
        raise DataError("no masked position to measure an accuracy on")
    return float((np.asarray(predicted_P) == np.asarray(labels_P))[counted].mean())


def bits_per_character(nats: float, characters: int) -> float:
    """Cost of the masked pieces, spread over the characters they hide: nats / ln 2 / characters.

    Unlike a loss per piece, it compares models with different vocabularies.

    Args:
        nats: sum (not mean) over the masked positions of -ln P(original piece).
        characters: sum over the same positions of `piece_characters`.

    >>> bits_per_character(3 * math.log(2), 6)
    0.5
    """
    if characters <= 0:
        raise DataError("no characters to spread the bits over")
    return nats / math.log(2) / characters


def piece_characters(piece: str) -> int:
    """Characters a piece stands for: those it is written with, less "##"; a special one such as [UNK] counts as 1.

    >>> [piece_characters(piece) for piece in ("tea", "##pot", "##", "#", "[UNK]")]
    [3, 3, 2, 1, 1]
    """
    if piece.startswith("[") and piece.endswith("]") and len(piece) > 2:
        return 1
    return len(piece) - 2 if piece.startswith("##") and len(piece) > 2 else len(piece)


# -- labels and values -------------------------------------------------------------------------------------------


def accuracy(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Share of equal entries.

    >>> accuracy(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
    0.75
    """
    return float((_same_size(gold, predicted) == np.asarray(predicted)).mean())


def f1(gold: np.ndarray, predicted: np.ndarray, positive: int = 1) -> float:
    """Harmonic mean of precision and recall of one label; 0 where it is neither there nor predicted (as scikit-learn).

    >>> f1(np.array([0, 1, 1, 1]), np.array([1, 1, 1, 0]))
    0.6666666666666666
    """
    gold, predicted = _same_size(gold, predicted) == positive, np.asarray(predicted) == positive
    return _f1(int((gold & predicted).sum()), int(predicted.sum()), int(gold.sum()))


def f1_from_3(gold: np.ndarray, predicted: np.ndarray) -> float:
    """F1 of values of 3 and more, as KLUE-STS wants beside Pearson's r (Park et al. 2021, section 3.2)."""
    return f1(_same_size(gold, predicted) >= 3, np.asarray(predicted) >= 3)


def matthews(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Matthews' correlation of two labellings, of any number of labels (Gorodkin 2004); 0 where one has one label only.

    >>> matthews(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    0.5773502691896258
    """
    gold = _same_size(gold, predicted)
    _, codes = np.unique(np.concatenate([gold, np.asarray(predicted)]), return_inverse=True)
    labels = codes.max() + 1
    table = np.bincount(codes[: len(gold)] * labels + codes[len(gold) :], minlength=labels**2).reshape(labels, labels)
    table = table.astype(np.float64)
    total, right, gold_K, predicted_K = table.sum(), np.trace(table), table.sum(1), table.sum(0)
    spread = (total**2 - predicted_K @ predicted_K) * (total**2 - gold_K @ gold_K)
    return float((right * total - gold_K @ predicted_K) / math.sqrt(spread)) if spread else 0.0


def pearson(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Pearson's r; NaN where either is constant (as scipy).

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])), 4)
    0.982
    """
    x, y = _same_size(gold, predicted).astype(np.float64), np.asarray(predicted, np.float64)
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return math.nan
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x / np.linalg.norm(x)) @ (y / np.linalg.norm(y)), -1, 1))


def spearman(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Spearman's rho: Pearson's r of the ranks, equals sharing theirs; NaN where either is constant (as scipy).

    >>> round(spearman(np.array([1, 2, 3]), np.array([10, 20, 400])), 12)
    1.0
    """
    return pearson(_ranks(_same_size(gold, predicted)), _ranks(np.asarray(predicted)))


def _ranks(values: np.ndarray) -> np.ndarray:
    """
    >>> _ranks(np.array([5, 1, 5])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes]


def _same_size(gold: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    if len(gold) != len(predicted) or not len(gold):
        raise DataError(f"{len(predicted)} predictions for {len(gold)} rows")
    return np.asarray(gold)


def _f1(right: int, predicted: int, gold: int) -> float:
    """F1 out of counts, as 2PR / (P + R)."""
    return 2 * right / (predicted + gold) if predicted + gold else 0.0


# -- entities ----------------------------------------------------------------------------------------------------


def entities(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 of whole entities (type, first and last word), over all sentences, as `seqeval` does by
    default; and the mean of the types' F1.

    >>> entities([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])["precision"]
    0.5
    """
    found: dict[str, Counter] = {"right": Counter(), "predicted": Counter(), "gold": Counter()}
    for number, (ours, theirs) in enumerate(zip(gold, predicted, strict=True)):
        if len(ours) != len(theirs):
            raise DataError(f"sentence {number} has {len(ours)} tags and {len(theirs)} predicted ones")
        wanted, said = set(entity_spans(ours)), set(entity_spans(theirs))
        for name, spans in (("right", wanted & said), ("predicted", said), ("gold", wanted)):
            found[name].update(kind for kind, _, _ in spans)
    right, said, wanted = (found[name].total() for name in ("right", "predicted", "gold"))
    kinds = found["gold"].keys() | found["predicted"].keys()
    by_kind = [_f1(found["right"][kind], found["predicted"][kind], found["gold"][kind]) for kind in sorted(kinds)]
    return {
        "precision": right / said if said else 0.0,
        "recall": right / wanted if wanted else 0.0,
        "f1": _f1(right, said, wanted),
        "f1_macro": float(np.mean(by_kind)) if by_kind else 0.0,
    }


def character_f1_macro(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Mean over the tags, O left out, of the F1 of single tags: KLUE-NER's second measure (Park et al. 2021, section
    3.4).

    >>> character_f1_macro([["B-PS", "I-PS", "O"]], [["B-PS", "O", "O"]])
    0.5
    """
    ours, theirs = [tag for tags in gold for tag in tags], [tag for tags in predicted for tag in tags]
    right = Counter(tag for tag, other in zip(ours, theirs, strict=True) if tag == other)
    wanted, said = Counter(ours), Counter(theirs)
    kinds = sorted((wanted.keys() | said.keys()) - {"O"})
    return float(np.mean([_f1(right[kind], said[kind], wanted[kind]) for kind in kinds])) if kinds else 0.0


LABEL_METRICS = {
    "accuracy": accuracy, "f1": f1, "matthews": matthews, "pearson": pearson, "spearman": spearman,
    "f1_from_3": f1_from_3,
}  # fmt: skip


# -- SQuAD -------------------------------------------------------------------------------------------------------


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
        golds: rows with id and answers (SQuAD's columns, see `bertlab.text.squad`).
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
    if not has_answer.any():
        raise DataError(f"none of the {len(ids)} questions has a gold answer: is this a test set without answers?")
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

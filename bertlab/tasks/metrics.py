"""How good labels, values and tags are: the measures of GLUE, and of entities.

Plain values in, plain values out: knows no model and no files.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertlab.config.errors import DataError
from bertlab.tasks.entity_spans import entity_spans


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
        raise DataError("predictions-count-differs", predictions=len(predicted), rows=len(gold))
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
            raise DataError("tags-count-differs", sentence=number, tags=len(ours), predicted=len(theirs))
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

"""Metrics for predicted labels, values and tags: those of GLUE and KLUE, and entity F1.

Shape legend: K labels.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertlab.config.errors import DataError
from bertlab.tasks.entity_spans import find_entity_spans


def accuracy(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the share of predictions that equal the label.

    >>> accuracy(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
    0.75
    """
    gold, predicted = _as_arrays(gold, predicted)
    return float((gold == predicted).mean())


def f1(gold: np.ndarray, predicted: np.ndarray, positive: int = 1) -> float:
    """Compute the F1 of the label `positive`; 0 if no row has it as label or prediction (as in scikit-learn).

    >>> f1(np.array([0, 1, 1, 1]), np.array([1, 1, 1, 0]))
    0.6666666666666666
    """
    gold, predicted = _as_arrays(gold, predicted)
    is_gold, is_predicted = gold == positive, predicted == positive
    return _compute_f1(int((is_gold & is_predicted).sum()), int(is_predicted.sum()), int(is_gold.sum()))


def f1_from_3(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the F1 of "the value is at least 3": the second metric of KLUE-STS (Park et al. 2021, section 3.2)."""
    gold, predicted = _as_arrays(gold, predicted)
    return f1(gold >= 3, predicted >= 3)


def matthews(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the Matthews correlation, for two or more labels (Gorodkin 2004); 0 if either argument is constant.

    >>> matthews(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    0.5773502691896258
    """
    gold, predicted = _as_arrays(gold, predicted)
    _, codes = np.unique(np.concatenate([gold, predicted]), return_inverse=True)
    num_labels = codes.max() + 1
    table = np.bincount(codes[: len(gold)] * num_labels + codes[len(gold) :], minlength=num_labels**2).reshape(
        num_labels, num_labels
    )
    table = table.astype(np.float64)
    total, correct, gold_K, predicted_K = table.sum(), np.trace(table), table.sum(1), table.sum(0)
    squared_norm = (total**2 - predicted_K @ predicted_K) * (total**2 - gold_K @ gold_K)
    return float((correct * total - gold_K @ predicted_K) / math.sqrt(squared_norm)) if squared_norm else 0.0


def pearson(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute Pearson's r; NaN if either argument is constant (as in SciPy).

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])), 4)
    0.982
    """
    x, y = (values.astype(np.float64) for values in _as_arrays(gold, predicted))
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return math.nan
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x / np.linalg.norm(x)) @ (y / np.linalg.norm(y)), -1, 1))


def spearman(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute Spearman's rho: Pearson's r of the ranks, with ties averaged; NaN if either is constant (as in SciPy).

    >>> round(spearman(np.array([1, 2, 3]), np.array([10, 20, 400])), 12)
    1.0
    """
    gold, predicted = _as_arrays(gold, predicted)
    return pearson(_ranks(gold), _ranks(predicted))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Rank the values from 1; equal values get the mean of their ranks.

    >>> _ranks(np.array([5, 1, 5])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes]


def _as_arrays(gold: Sequence, predicted: Sequence) -> tuple[np.ndarray, np.ndarray]:
    """Convert both arguments to arrays; raise DataError if their lengths differ or are 0."""
    if len(gold) != len(predicted) or not len(gold):
        raise DataError("predictions-count-differs", predictions=len(predicted), rows=len(gold))
    return np.asarray(gold), np.asarray(predicted)


def _compute_f1(num_correct: int, num_predicted: int, num_gold: int) -> float:
    """Compute F1 = 2PR / (P + R) from counts; 0 if all counts are 0."""
    return 2 * num_correct / (num_predicted + num_gold) if num_predicted + num_gold else 0.0


# -- entities ----------------------------------------------------------------------------------------------------


def compute_entity_metrics(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, strict: bool = False
) -> dict[str, float]:
    """Compute precision, recall and F1 over all entities, and the mean of the F1 of the entity types.

    A predicted entity is correct if a gold entity has the same type, first word and last word. The counts are summed
    over all sentences, as `seqeval` does by default, and the metrics are fractions in 0..1.

    Args:
        gold: the correct tags of every sentence.
        predicted: the predicted tags of every sentence.
        strict: whether only entities that begin with a B-tag count, as in `seqeval`'s strict mode with IOB2.

    Raises:
        DataError: a sentence has a different number of gold and predicted tags.

    >>> compute_entity_metrics([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])["precision"]
    0.5
    """
    correct_by_type, predicted_by_type, gold_by_type = Counter(), Counter(), Counter()
    for index, (gold_tags, predicted_tags) in enumerate(zip(gold, predicted, strict=True)):
        if len(gold_tags) != len(predicted_tags):
            raise DataError(
                "tag-predictions-count-differs", sentence=index, tags=len(gold_tags), predicted=len(predicted_tags)
            )
        gold_spans, predicted_spans = (
            {span for span in find_entity_spans(tags) if not strict or tags[span[1]].startswith("B")}
            for tags in (gold_tags, predicted_tags)
        )
        correct_by_type.update(type for type, _, _ in gold_spans & predicted_spans)
        predicted_by_type.update(type for type, _, _ in predicted_spans)
        gold_by_type.update(type for type, _, _ in gold_spans)
    correct_count, predicted_count = correct_by_type.total(), predicted_by_type.total()
    gold_count = gold_by_type.total()
    types = sorted(gold_by_type.keys() | predicted_by_type.keys())
    f1_by_type = [_compute_f1(correct_by_type[type], predicted_by_type[type], gold_by_type[type]) for type in types]
    return {
        "precision": correct_count / predicted_count if predicted_count else 0.0,
        "recall": correct_count / gold_count if gold_count else 0.0,
        "f1": _compute_f1(correct_count, predicted_count, gold_count),
        "f1_macro": float(np.mean(f1_by_type)) if f1_by_type else 0.0,
    }


def character_f1_macro(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Compute the mean of the F1 of all character tags except O: the second metric of KLUE-NER.

    Source: Park et al. 2021, section 3.4.

    >>> character_f1_macro([["B-PS", "I-PS", "O"]], [["B-PS", "O", "O"]])
    0.5
    """
    gold_tags, predicted_tags = ([tag for tags in rows for tag in tags] for rows in (gold, predicted))
    correct_counts = Counter(tag for tag, other in zip(gold_tags, predicted_tags, strict=True) if tag == other)
    gold_counts, predicted_counts = Counter(gold_tags), Counter(predicted_tags)
    names = sorted((gold_counts.keys() | predicted_counts.keys()) - {"O"})
    return (
        float(np.mean([_compute_f1(correct_counts[n], predicted_counts[n], gold_counts[n]) for n in names]))
        if names
        else 0.0
    )


def prefix_metrics(metrics: dict, split: str, is_first: bool) -> dict:
    """Add a prefix to the names of the metrics of a split, so that the metrics of several splits can be told apart.

    The names of the first split stay unchanged. The prefix is the part of the split's name after the first "_" or,
    without "_", the whole name.

    >>> prefix_metrics({"accuracy": 71.0}, "validation_mismatched", is_first=False)
    {'mismatched_accuracy': 71.0}
    """
    if is_first:
        return metrics
    prefix = split.partition("_")[2] or split
    return {f"{prefix}_{name}": value for name, value in metrics.items()}


# name of a metric in `TaskSpec.metrics` -> the function that computes it from labels and predictions
LABEL_METRICS = {
    "accuracy": accuracy, "f1": f1, "matthews": matthews, "pearson": pearson, "spearman": spearman,
    "f1_from_3": f1_from_3,
}  # fmt: skip

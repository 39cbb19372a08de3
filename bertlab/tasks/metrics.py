"""Metrics for predicted labels, values and tags: those of GLUE and KLUE, and entity F1.

scikit-learn, SciPy and seqeval compute them; they are imported on the first use, because the import takes a second.
"""

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from bertlab.config.errors import BertlabError, DataError
from bertlab.tasks.examples import Examples


def accuracy(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the share of predictions that equal the label.

    >>> accuracy(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
    0.75
    """
    gold, predicted = _as_arrays(gold, predicted)
    return float((gold == predicted).mean())


def f1(gold: np.ndarray, predicted: np.ndarray, positive: int = 1) -> float:
    """Compute the F1 of the label `positive`; 0 if no row has it as label or prediction.

    >>> f1(np.array([0, 1, 1, 1]), np.array([1, 1, 1, 0]))
    0.6666666666666666
    """
    from sklearn.metrics import f1_score

    gold, predicted = _as_arrays(gold, predicted)
    return float(f1_score(gold == positive, predicted == positive, zero_division=0))


def f1_from_3(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the F1 of "the value is at least 3": the second metric of KLUE-STS (Park et al. 2021, section 3.2)."""
    gold, predicted = _as_arrays(gold, predicted)
    return f1(gold >= 3, predicted >= 3)


def matthews(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the Matthews correlation, for two or more labels (Gorodkin 2004); 0 if either argument is constant.

    >>> round(matthews(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 12)
    0.57735026919
    """
    from sklearn.metrics import matthews_corrcoef

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning if there is only one label
        return float(matthews_corrcoef(*_as_arrays(gold, predicted)))


def pearson(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute Pearson's r; NaN if either argument is constant.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])), 4)
    0.982
    """
    from scipy.stats import pearsonr

    return _correlate(pearsonr, gold, predicted)


def spearman(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute Spearman's rho, with the ranks of ties averaged; NaN if either argument is constant.

    >>> round(spearman(np.array([1, 2, 3]), np.array([10, 20, 400])), 12)
    1.0
    """
    from scipy.stats import spearmanr

    return _correlate(spearmanr, gold, predicted)


def _correlate(correlation: Callable, gold: Sequence, predicted: Sequence) -> float:
    x, y = (values.astype(np.float64) for values in _as_arrays(gold, predicted))
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():  # SciPy warns about constants
        return math.nan
    return float(correlation(x, y).statistic)


def _as_arrays(gold: Sequence, predicted: Sequence) -> tuple[np.ndarray, np.ndarray]:
    """Convert both arguments to arrays; raise DataError if their lengths differ or are 0."""
    if len(gold) != len(predicted) or not len(gold):
        raise DataError("predictions-count-differs", predictions=len(predicted), rows=len(gold))
    return np.asarray(gold), np.asarray(predicted)


# -- entities


def compute_entity_metrics(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, strict: bool = False
) -> dict[str, float]:
    """Compute precision, recall and F1 over all entities, and the mean of the F1 of the entity types; all in 0..1.

    Args:
        gold: the correct tags of every sentence.
        predicted: the predicted tags of every sentence.
        strict: whether only entities that begin with a B-tag count (`seqeval`'s strict mode with IOB2).

    >>> compute_entity_metrics([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])["precision"]
    0.5
    """
    from seqeval.metrics.sequence_labeling import precision_recall_fscore_support
    from seqeval.metrics.v1 import precision_recall_fscore_support as strict_scores
    from seqeval.scheme import IOB2

    for index, (gold_tags, predicted_tags) in enumerate(zip(gold, predicted, strict=True)):
        if len(gold_tags) != len(predicted_tags):
            raise DataError(
                "tag-predictions-count-differs", sentence=index, tags=len(gold_tags), predicted=len(predicted_tags)
            )
    score, options = (strict_scores, {"scheme": IOB2}) if strict else (precision_recall_fscore_support, {})
    gold, predicted = list(map(list, gold)), list(map(list, predicted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about sentences without entities, and about single-letter tags
        options |= {"zero_division": 0}
        precision, recall, f1_micro, _ = score(gold, predicted, average="micro", **options)
        *_, f1_by_type, _ = score(gold, predicted, average=None, **options)
    names = ("precision", "recall", "f1", "f1_macro")
    macro = np.mean(f1_by_type) if len(f1_by_type) else 0.0
    return dict(zip(names, map(float, (precision, recall, f1_micro, macro)), strict=True))


def character_f1_macro(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Compute the mean of the F1 of all character tags except O: the second metric of KLUE-NER.

    Source: Park et al. 2021, section 3.4.

    >>> character_f1_macro([["B-PS", "I-PS", "O"]], [["B-PS", "O", "O"]])
    0.5
    """
    from sklearn.metrics import f1_score

    gold_tags, predicted_tags = ([tag for tags in rows for tag in tags] for rows in (gold, predicted))
    names = sorted({*gold_tags, *predicted_tags} - {"O"})
    if not names:
        return 0.0
    return float(f1_score(gold_tags, predicted_tags, labels=names, average="macro", zero_division=0))


# -- metrics of a task


def score_targets(examples: Examples, predictions: Sequence) -> dict[str, float]:
    """Compute the metrics of predicted labels, choices or values, as fractions."""
    labels = examples.spec.labels
    gold, predicted = np.array([row.target for row in examples]), np.array(predictions)
    if labels:
        # F1 is computed for label 1 in the order of the task; the checkpoint may have another order
        task_index = np.array([labels.index(name) if name in labels else len(labels) for name in examples.labels])
        gold, predicted = task_index[gold], task_index[predicted]
    return {name: LABEL_METRICS[name](gold, predicted) for name in examples.spec.metrics}


def in_percent(score: Callable[[Examples, Sequence], dict]) -> Callable[[Examples, Sequence], dict]:
    """Turn a function that computes a task's metrics as fractions into one that returns them as leaderboards show them.

    A correlation that is undefined, because all labels or all predictions are equal, counts as 0. The result also has
    the number of examples. The function raises BertlabError if the examples have no labels.
    """

    def compute(examples: Examples, predictions: Sequence) -> dict:
        if not examples.is_labelled:
            raise BertlabError("rows-without-labels", name=examples.name)
        fractions = score(examples, predictions)
        metrics = {name: 100 * float(np.nan_to_num(fractions[name])) for name in examples.spec.metrics}
        return metrics | {"examples": len(examples)}

    return compute


def prefix_metrics(metrics: dict, split: str, is_first: bool) -> dict:
    """Add a prefix to the metrics of every split but the first: what follows "_" in the split's name, or the name.

    >>> prefix_metrics({"accuracy": 71.0}, "validation_mismatched", is_first=False)
    {'mismatched_accuracy': 71.0}
    """
    if is_first:
        return metrics
    prefix = split.partition("_")[2] or split
    return {f"{prefix}_{name}": value for name, value in metrics.items()}


# name of a metric in `TaskSpec.metrics` -> the function that computes it from labels and predictions
LABEL_METRICS = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
    "f1_from_3": f1_from_3,
}

"""Measures equal to scikit-learn's, scipy's and seqeval's on random answers, ties and degenerate ones included."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats
import seqeval.metrics
import sklearn.metrics
from seqeval.metrics.sequence_labeling import get_entities
from support.errors import raises_error

from bertlab.config.errors import DataError
from bertlab.tasks.entity_spans import entity_spans
from bertlab.tasks.metrics import (
    accuracy,
    character_f1_macro,
    entity_metrics,
    f1,
    f1_from_3,
    matthews,
    pearson,
    spearman,
)

LABELLINGS = [
    (np.random.default_rng(seed).integers(0, labels, size), np.random.default_rng(seed + 99).integers(0, labels, size))
    for seed, (labels, size) in enumerate([(2, 50), (2, 7), (3, 40), (5, 200), (2, 1), (1, 9)])
] + [(np.zeros(6, int), np.ones(6, int)), (np.ones(6, int), np.ones(6, int)), (np.array([0, 1] * 4), np.ones(8, int))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(len(LABELLINGS)))
def test_labels(case):
    gold, said = LABELLINGS[case]
    assert accuracy(gold, said) == pytest.approx(sklearn.metrics.accuracy_score(gold, said))
    assert matthews(gold, said) == pytest.approx(sklearn.metrics.matthews_corrcoef(gold, said))
    wanted = sklearn.metrics.f1_score(gold == 1, said == 1, zero_division=0)
    assert f1(gold, said) == pytest.approx(wanted)


VALUES = [
    *[(rng.normal(size=30), rng.normal(size=30)) for rng in map(np.random.default_rng, range(3))],
    *[(rng.integers(0, 4, 30), rng.integers(0, 4, 30) / 4) for rng in map(np.random.default_rng, range(3))],
    (np.arange(9.0), np.arange(9.0) ** 3),
    (np.arange(9.0), -np.arange(9.0)),
    (np.arange(5.0), np.ones(5)),
    (np.ones(5), np.ones(5)),
    (1e8 + np.arange(6.0), np.array([1, 3, 2, 4, 6, 5.0])),
]


@pytest.mark.parametrize("case", range(len(VALUES)))
def test_values(case):
    gold, said = VALUES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = (scipy.stats.pearsonr(gold, said).statistic, scipy.stats.spearmanr(gold, said).statistic)
    found = (pearson(gold, said), spearman(gold, said))
    assert found == pytest.approx(wanted, nan_ok=True)


def test_f1_from_3():
    gold, said = np.array([0.0, 3.0, 4.2, 2.9]), np.array([3.1, 3.0, 1.0, 0.0])
    assert f1_from_3(gold, said) == pytest.approx(sklearn.metrics.f1_score(gold >= 3, said >= 3))


TAGS = ["O", "B-A", "I-A", "B-B", "I-B", "E-A", "S-B", "B", "I"]


def sentences(seed: int, tags=TAGS):
    rng = np.random.default_rng(seed)
    return [[tags[i] for i in rng.integers(0, len(tags), rng.integers(1, 12))] for _ in range(40)]


@pytest.mark.parametrize("seed", range(6))
def test_entities(seed):
    tags = TAGS[:5] if seed % 2 else TAGS
    gold = sentences(seed, tags)
    rng = np.random.default_rng(seed)
    said = [[tag if rng.random() < 0.6 else tags[rng.integers(len(tags))] for tag in row] for row in gold]
    for row in (*gold, *said):
        assert entity_spans(row) == get_entities(row)
    found = entity_metrics(gold, said)
    for name in ("precision", "recall", "f1"):
        wanted = getattr(seqeval.metrics, f"{name}_score")(gold, said, zero_division=0)
        assert found[name] == pytest.approx(wanted), name
    macro = seqeval.metrics.f1_score(gold, said, average="macro", zero_division=0)
    assert found["f1_macro"] == pytest.approx(macro)
    flat, other = ([tag for row in rows for tag in row] for rows in (gold, said))
    kinds = sorted({*flat, *other} - {"O"})
    wanted = sklearn.metrics.f1_score(flat, other, labels=kinds, average="macro", zero_division=0)
    assert character_f1_macro(gold, said) == pytest.approx(wanted)


def test_nothing_to_find():
    found = entity_metrics([["O", "O"]], [["O", "O"]])
    assert set(found.values()) == {0.0}
    assert character_f1_macro([["O"]], [["O"]]) == 0.0


def test_unequal_sizes():
    for measure in (accuracy, f1, matthews, pearson, spearman):
        with raises_error(DataError, "predictions-count-differs", predictions=1, rows=2):
            measure(np.array([0, 1]), np.array([0]))
        with pytest.raises(DataError):
            measure(np.array([]), np.array([]))
    with raises_error(DataError, "tag-predictions-count-differs", sentence=0, tags=2, predicted=1):
        entity_metrics([["O", "O"]], [["O"]])
    assert math.isnan(pearson(np.array([1.0]), np.array([1.0])))

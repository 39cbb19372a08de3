"""Metrics equal those of scikit-learn, SciPy and seqeval on random predictions, ties and degenerate cases."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
import scipy.stats
import seqeval.metrics
import sklearn.metrics
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2
from support.errors import raises_error
from support.task_rows import read_examples

from bertlab.config.errors import DataError
from bertlab.config.tasks import get_task
from bertlab.tasks.entity_spans import choose_tags, find_entity_spans
from bertlab.tasks.metrics import (
    accuracy,
    character_f1_macro,
    compute_entity_metrics,
    f1,
    f1_from_3,
    matthews,
    pearson,
    spearman,
)
from bertlab.tasks.registry import TASK_TYPES
from bertlab.text.readers.rows import Rows

LABELLINGS = [
    (np.random.default_rng(seed).integers(0, labels, size), np.random.default_rng(seed + 99).integers(0, labels, size))
    for seed, (labels, size) in enumerate([(2, 50), (2, 7), (3, 40), (5, 200), (2, 1), (1, 9)])
] + [(np.zeros(6, int), np.ones(6, int)), (np.ones(6, int), np.ones(6, int)), (np.array([0, 1] * 4), np.ones(8, int))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(len(LABELLINGS)))
def test_label_metrics_equal_those_of_scikit_learn(case):
    gold, predicted = LABELLINGS[case]
    assert accuracy(gold, predicted) == pytest.approx(sklearn.metrics.accuracy_score(gold, predicted))
    assert matthews(gold, predicted) == pytest.approx(sklearn.metrics.matthews_corrcoef(gold, predicted))
    expected = sklearn.metrics.f1_score(gold == 1, predicted == 1, zero_division=0)
    assert f1(gold, predicted) == pytest.approx(expected)


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
def test_correlations_equal_those_of_scipy(case):
    gold, predicted = VALUES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = (scipy.stats.pearsonr(gold, predicted).statistic, scipy.stats.spearmanr(gold, predicted).statistic)
    found = (pearson(gold, predicted), spearman(gold, predicted))
    assert found == pytest.approx(expected, nan_ok=True)


def test_f1_from_3_equals_that_of_scikit_learn():
    gold, predicted = np.array([0.0, 3.0, 4.2, 2.9]), np.array([3.1, 3.0, 1.0, 0.0])
    assert f1_from_3(gold, predicted) == pytest.approx(sklearn.metrics.f1_score(gold >= 3, predicted >= 3))


TAGS = ["O", "B-A", "I-A", "B-B", "I-B", "E-A", "S-B", "B", "I"]


def sentences(seed: int, tags=TAGS):
    rng = np.random.default_rng(seed)
    return [[tags[i] for i in rng.integers(0, len(tags), rng.integers(1, 12))] for _ in range(40)]


@pytest.mark.parametrize("seed", range(6))
def test_entity_metrics_equal_those_of_seqeval(seed):
    tags = TAGS[:5] if seed % 2 else TAGS
    gold = sentences(seed, tags)
    rng = np.random.default_rng(seed)
    predicted = [[tag if rng.random() < 0.6 else tags[rng.integers(len(tags))] for tag in row] for row in gold]
    for row in (*gold, *predicted):
        assert find_entity_spans(row) == get_entities(row)
    found = compute_entity_metrics(gold, predicted)
    for name in ("precision", "recall", "f1"):
        expected = getattr(seqeval.metrics, f"{name}_score")(gold, predicted, zero_division=0)
        assert found[name] == pytest.approx(expected), name
    macro = seqeval.metrics.f1_score(gold, predicted, average="macro", zero_division=0)
    assert found["f1_macro"] == pytest.approx(macro)
    flat, other = ([tag for row in rows for tag in row] for rows in (gold, predicted))
    tags = sorted({*flat, *other} - {"O"})
    expected = sklearn.metrics.f1_score(flat, other, labels=tags, average="macro", zero_division=0)
    assert character_f1_macro(gold, predicted) == pytest.approx(expected)


def test_the_chosen_tags_are_the_most_probable_valid_sequence():
    """Compared with all sequences of four tags; a sequence is valid if no I-tag stands alone and no word is cut."""
    labels = ("O", "B-PS", "I-PS", "B-LC", "I-LC")
    rng = np.random.default_rng(0)
    for _ in range(50):
        log_probs_UK, is_inside_word = np.log(rng.dirichlet(np.ones(5) / 2, 4)), rng.random(4) < 0.5

        def is_valid(tags, is_inside_word=is_inside_word):
            names = ["O", *(labels[tag] for tag in tags)]
            return all(
                (tag[0] != "I" or (previous != "O" and previous[2:] == tag[2:]))
                and not (inside and previous != "O" and tag[0] == "B")
                for previous, tag, inside in zip(names, names[1:], is_inside_word, strict=False)
            )

        scores = {tags: sum(log_probs_UK[range(4), tags]) for tags in product(range(5), repeat=4) if is_valid(tags)}
        assert tuple(choose_tags(log_probs_UK, labels, is_inside_word)) == max(scores, key=scores.get)


def test_tags_without_a_rule_are_chosen_independently():
    log_probs_UK = np.log([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]])
    for labels in (("NOUN", "VERB"), ("O", "I-PS")):
        assert choose_tags(log_probs_UK, labels, [False] * 3) == [1, 1, 0]
    assert choose_tags(np.zeros((0, 2)), ("O", "B-PS"), []) == []


@pytest.mark.parametrize("seed", range(3))
def test_strict_entity_metrics_equal_those_of_klue(seed):
    """KLUE joins all sentences into one, with [CLS] and [SEP], whose tags are O, between them."""
    gold, rng = sentences(seed, TAGS[:5]), np.random.default_rng(seed)
    predicted = [[tag if rng.random() < 0.7 else TAGS[rng.integers(5)] for tag in row] for row in gold]
    for row in gold:  # gold tags are valid IOB2; predicted ones may begin an entity with an I-tag
        for index, tag in enumerate(row):
            if tag[0] == "I" and row[index - 1 : index] not in ([f"B{tag[1:]}"], [tag]):
                row[index] = f"B{tag[1:]}"
    joined = [[tag for row in rows for tag in ("O", *row, "O")] for rows in (gold, predicted)]
    found = compute_entity_metrics(gold, predicted, strict=True)
    for name, average in (("f1_macro", "macro"), ("f1", "micro")):
        expected = seqeval.metrics.f1_score(
            joined[:1], joined[1:], average=average, mode="strict", scheme=IOB2, zero_division=0
        )
        assert found[name] == pytest.approx(expected), name
    assert found["f1"] != compute_entity_metrics(gold, predicted)["f1"]


def test_klue_ner_ignores_spaces():
    spec = get_task("klue_ner")
    tokens, gold = list("김 철수가"), ["B-PS", "I-PS", "I-PS", "I-PS", "O"]
    examples = read_examples(Rows("rows", ("tokens", "ner_tags"), [{"tokens": tokens, "ner_tags": gold}]), spec)
    metrics = TASK_TYPES["tagging"].compute_raw_metrics
    assert metrics(examples, [["B-PS", "O", "I-PS", "I-PS", "O"]])["entity_f1_macro"] == 1.0
    assert metrics(examples, [["I-PS", "I-PS", "I-PS", "I-PS", "O"]])["entity_f1_macro"] == 0.0, "no B-tag"


def test_metrics_are_0_without_entities():
    found = compute_entity_metrics([["O", "O"]], [["O", "O"]])
    assert set(found.values()) == {0.0}
    assert character_f1_macro([["O"]], [["O"]]) == 0.0


def test_predictions_of_another_size_raise_an_error():
    for metric in (accuracy, f1, matthews, pearson, spearman):
        with raises_error(DataError, "predictions-count-differs", predictions=1, rows=2):
            metric(np.array([0, 1]), np.array([0]))
        with pytest.raises(DataError):
            metric(np.array([]), np.array([]))
    with raises_error(DataError, "tag-predictions-count-differs", sentence=0, tags=2, predicted=1):
        compute_entity_metrics([["O", "O"]], [["O"]])
    assert math.isnan(pearson(np.array([1.0]), np.array([1.0])))

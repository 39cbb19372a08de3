"""Metrics of labels, values and tags, against values computed by hand and the entities that seqeval finds."""

import math
from itertools import product

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities
from support.errors import raises_error
from support.task_rows import read_examples

from bertlab.config.errors import DataError
from bertlab.config.tasks import get_task
from bertlab.tasks import metrics
from bertlab.tasks.entity_spans import choose_tags, find_entity_spans
from bertlab.tasks.metrics import character_f1_macro, compute_entity_metrics
from bertlab.tasks.tagging import compute_tag_metrics
from bertlab.text.readers.rows import Rows


@pytest.mark.parametrize(
    ("name", "gold", "predicted", "expected"),
    [
        ("accuracy", [0, 1, 2, 2], [0, 1, 2, 0], 0.75),
        ("f1", [0, 1, 1, 1, 0], [1, 1, 1, 0, 0], 2 / 3),
        ("f1", [0, 2, 2], [0, 0, 2], 0.0),  # no row has label 1
        ("matthews", [0, 0, 1, 1], [0, 1, 1, 1], 1 / 3**0.5),
        ("matthews", [0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 0, 1], 12 / (24 * 22) ** 0.5),
        ("matthews", [1, 1, 1], [1, 1, 1], 0.0),
        ("matthews", [0, 0], [1, 1], 0.0),
        ("pearson", [1, 2, 3], [1, 2, 4], 0.9819805060619659),
        ("pearson", [1e8, 1e8 + 1, 1e8 + 2], [2, 4, 6], 1.0),
        ("spearman", [1, 2, 3, 4], [10, 20, 20, 40], 0.9486832980505138),  # ranks 1, 2.5, 2.5, 4
        ("spearman", [1, 2, 3], [8, 4, 2], -1.0),
        ("pearson", [1, 2, 3], [5, 5, 5], math.nan),
        ("spearman", [1, 1, 1], [1, 2, 3], math.nan),
        ("pearson", [1], [2], math.nan),
        ("f1_from_3", [0.0, 3.0, 4.2, 2.9], [3.1, 3.0, 1.0, 0.0], 0.5),
    ],
)
@pytest.mark.filterwarnings("error")
def test_metrics_equal_values_computed_by_hand(name, gold, predicted, expected):
    value = metrics.LABEL_METRICS[name](np.array(gold), np.array(predicted))
    assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", metrics.LABEL_METRICS)
def test_predictions_of_another_size_raise_an_error(name):
    with raises_error(DataError, "predictions-count-differs", predictions=1, rows=2):
        metrics.LABEL_METRICS[name](np.array([0, 1]), np.array([0]))
    with pytest.raises(DataError):
        metrics.LABEL_METRICS[name](np.array([]), np.array([]))


TAGS = ["O", "B-A", "I-A", "B-B", "I-B", "E-A", "S-B", "B", "I"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_entities_equal_those_of_seqeval(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        row = [TAGS[i] for i in rng.integers(0, len(TAGS), rng.integers(1, 12))]
        assert find_entity_spans(row) == get_entities(row)


@pytest.mark.filterwarnings("error")
def test_entity_metrics_equal_values_computed_by_hand():
    gold = [["B-A", "I-A", "O", "B-B"], ["I-B", "O"]]  # A 0-1, B 3; B 0, which begins with an I-tag
    predicted = [["B-A", "I-A", "O", "I-B"], ["B-B", "B-A"]]  # A 0-1, B 3; B 0, A 1
    found = compute_entity_metrics(gold, predicted)
    assert found == pytest.approx({"precision": 3 / 4, "recall": 1, "f1": 6 / 7, "f1_macro": (2 / 3 + 1) / 2})
    # strictly, A 0-1 and B 3 are the gold entities, and A 0-1, B 0 and A 1 the predicted ones
    strict = compute_entity_metrics(gold, predicted, strict=True)
    assert strict == pytest.approx({"precision": 1 / 3, "recall": 1 / 2, "f1": 2 / 5, "f1_macro": (2 / 3 + 0) / 2})
    assert character_f1_macro(gold, predicted) == pytest.approx((2 / 3 + 1 + 0 + 0) / 4)
    for is_strict in (False, True):
        assert set(compute_entity_metrics([["O", "O"]], [["O", "O"]], strict=is_strict).values()) == {0.0}
    assert character_f1_macro([["O"]], [["O"]]) == 0.0
    with raises_error(DataError, "tag-predictions-count-differs", sentence=0, tags=2, predicted=1):
        compute_entity_metrics([["O", "O"]], [["O"]])


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


def test_klue_ner_ignores_spaces():
    spec = get_task("klue_ner")
    tokens, gold = list("김 철수가"), ["B-PS", "I-PS", "I-PS", "I-PS", "O"]
    examples = read_examples(Rows("rows", ("tokens", "ner_tags"), [{"tokens": tokens, "ner_tags": gold}]), spec)
    assert compute_tag_metrics(examples, [["B-PS", "O", "I-PS", "I-PS", "O"]])["entity_f1_macro"] == 1.0
    assert compute_tag_metrics(examples, [["I-PS"] * 4 + ["O"]])["entity_f1_macro"] == 0.0, "no B-tag"

"""Metrics of question answering, against values computed by hand and a reference implementation."""

import math
import os
import random
import re
import string
from pathlib import Path

import pytest
from support.errors import raises_error

from bertlab.config.errors import DataError
from bertlab.tasks.span.metrics import answer_f1, exact_match, normalise_answer, score_squad
from bertlab.training.pretraining.metrics import bits_per_character


def gold(id, *texts):
    return {"id": id, "answers": {"text": list(texts), "answer_start": [0] * len(texts)}}


# -- reference implementation


def reference_words(text):
    lower = "".join(" " if c.isspace() else c for c in text.lower() if c not in string.punctuation)
    # an article is a whole word, but the characters around it need not be spaces
    return re.sub(r"(?<!\w)(?:the|an|a)(?!\w)", " ", lower).split()


def reference_f1(prediction, answer, version):
    a, b = reference_words(prediction), reference_words(answer)
    if version == "2.0" and (not a or not b):
        return float(a == b)
    rest, same = list(b), 0
    for word in a:
        if word in rest:
            rest.remove(word)
            same += 1
    return 2 * same / (len(a) + len(b)) if same else 0.0


def reference_v2_at(predictions, golds, scores, threshold):
    """Mean exact match and F1 when a question whose score is above the threshold is answered ""."""
    exact = f1 = 0.0
    for row in golds:
        texts = [t for t in row["answers"]["text"] if reference_words(t)] or [""]
        if scores[row["id"]] > threshold:
            # The script counts "" as right exactly where the question has no answers at all.
            exact += not row["answers"]["text"]
            f1 += not row["answers"]["text"]
        else:
            prediction = predictions[row["id"]]
            exact += max(reference_words(prediction) == reference_words(t) for t in texts)
            f1 += max(reference_f1(prediction, t, "2.0") for t in texts)
    return 100 * exact / len(golds), 100 * f1 / len(golds)


WORDS = ["the", "a", "an", "Tea", "tea-pot", "kettle,", "KETTLE", "iron", "-", "'s", "주전자", "\u00a0", "“the”", "42"]


def random_answer(rng):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(5)))


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_score_squad_agrees_with_the_reference(version):
    rng = random.Random(5)
    golds = [gold(str(i), *(random_answer(rng) for _ in range(rng.randrange(version == "1.1", 4)))) for i in range(400)]
    predictions = {row["id"]: random_answer(rng) for row in golds}
    exact, f1 = [], []
    for row in golds:
        texts = row["answers"]["text"]
        if version == "2.0":
            texts = [t for t in texts if reference_words(t)] or [""]
        exact.append(max(reference_words(predictions[row["id"]]) == reference_words(t) for t in texts))
        f1.append(max(reference_f1(predictions[row["id"]], t, version) for t in texts))
    result = score_squad(predictions, golds, version)
    assert result["exact_match"] == pytest.approx(100 * sum(exact) / 400)
    assert result["f1"] == pytest.approx(100 * sum(f1) / 400)
    assert 0 < result["exact_match"] < result["f1"] < 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Tea.", "tea"),
        ("a an the", ""),
        ("theatre another", "theatre another"),
        ("U.S.A.", "usa"),
        ("it's the-best", "its thebest"),
        ("“the” tea", "“ ” tea"),
        ("\tA\ncup\u00a0of  tea ", "cup of tea"),
        ("한국의 주전자", "한국의 주전자"),
        ("", ""),
    ],
)
def test_answers_are_normalised(text, expected):
    assert normalise_answer(text) == expected


@pytest.mark.parametrize(
    ("prediction", "answer", "expected"),
    [
        ("green tea", "green tea", 1.0),
        ("green tea", "tea", 2 / 3),
        ("tea tea", "tea", 2 / 3),
        ("tea", "kettle", 0.0),
        ("", "kettle", 0.0),
        ("the", "a", 0.0),
        ("one two three", "three two four five", 4 / 7),
    ],
)
def test_f1_equals_values_computed_by_hand(prediction, answer, expected):
    assert answer_f1(prediction, answer) == pytest.approx(expected)


def test_v1_uses_the_best_gold_answer_and_scores_missing_answers_0():
    golds = [gold("a", "green tea", "tea"), gold("b", "kettle"), gold("c", "iron cup")]
    assert score_squad({"a": "the tea", "c": "iron", "zzz": "else"}, golds) == pytest.approx(
        {"exact_match": 100 / 3, "f1": 100 * (1 + 2 / 3) / 3, "total": 3, "missing": 1}
    )
    assert exact_match("a", "the") == 1.0, "both without a word are the same text, though their v1.1 F1 is 0"


def test_v2_equals_metrics_computed_by_hand():
    golds = [gold("has", "green tea"), gold("has2", "cup"), gold("none"), gold("none2"), gold("odd", "the")]
    predictions = {"has": "tea", "has2": "", "none": "", "none2": "kettle", "odd": ""}
    result = score_squad(predictions, golds, "2.0")
    assert result["exact_match"] == pytest.approx(40.0)  # none, odd
    assert result["f1"] == pytest.approx(100 * (2 / 3 + 1 + 1) / 5)
    assert (result["total"], result["has_answer_total"], result["no_answer_total"]) == (5, 3, 2)
    assert result["has_answer_f1"] == pytest.approx(100 * (2 / 3 + 1) / 3)
    assert result["no_answer_exact_match"] == result["no_answer_f1"] == 50.0
    assert score_squad({"has": "green tea"}, golds, "2.0")["f1"] == 100.0, "the script leaves unanswered questions out"
    assert score_squad({"has": "green tea"}, golds, "2.0")["missing"] == 4


def test_the_best_threshold_beats_all_other_thresholds():
    rng = random.Random(7)
    for trial in range(30):
        golds = [gold(str(i), *(["green tea"] * rng.randrange(2))) for i in range(12)]
        predictions = {row["id"]: rng.choice(["green tea", "tea", "kettle"]) for row in golds}
        scores = {row["id"]: rng.uniform(-3, 3) for row in golds}
        result = score_squad(predictions, golds, "2.0", no_answer=scores)
        metrics_at = [
            reference_v2_at(predictions, golds, scores, t) for t in [*scores.values(), min(scores.values()) - 1]
        ]
        for place, name in enumerate(("exact_match", "f1")):
            assert result[f"best_{name}"] == pytest.approx(max(metrics[place] for metrics in metrics_at)), trial
            threshold = result[f"best_{name}_threshold"]
            assert reference_v2_at(predictions, golds, scores, threshold)[place] == pytest.approx(
                result[f"best_{name}"]
            )
            metrics = score_squad(predictions, golds, "2.0", no_answer=scores, threshold=threshold)
            assert metrics[name] == pytest.approx(result[f"best_{name}"])


@pytest.mark.parametrize(
    ("arguments", "id", "params"),
    [
        (({}, [gold("a", "tea")]), "predictions-for-other-questions", {"count": 1}),
        (({"a": "tea"}, []), "predictions-for-other-questions", {"count": 0}),
        (({"a": "tea"}, [gold("a")]), "questions-without-answers", {"id": "a"}),
        (({"a": "tea"}, [gold("a"), gold("b", "tea")]), "question-without-answer", {"id": "a"}),
        (({"a": "tea"}, [gold("a", "tea")], "3"), "squad-version-unknown", {"version": "3"}),
        (({"a": "tea"}, [gold("a", "tea")], "2.0", {}), "no-answer-scores-missing", {"count": 1, "first": "a"}),
        (({"a": "tea"}, [gold("a", "tea")], "2.0", None, 0.5), "threshold-needs-scores", {}),
    ],
)
def test_questions_that_cannot_be_scored_raise_an_error(arguments, id, params):
    with raises_error(DataError, id, **params):
        score_squad(*arguments)


def test_bits_per_character_of_a_uniform_guess():
    # A uniform guess among 256 tokens of one character each costs 8 bits a character.
    assert bits_per_character(10 * math.log(256), 10) == pytest.approx(8.0)
    with pytest.raises(DataError):
        bits_per_character(1.0, 0)


def test_real_gold_answers_score_100_against_themselves():
    if "BERTLAB_DATA" not in os.environ:
        pytest.skip("BERTLAB_DATA names no data directory")
    from bertlab.tasks.span.squad import read_rows

    tasks = Path(os.environ["BERTLAB_DATA"]) / "tasks"
    for file, version in (("squad", "1.1"), ("squad_v2", "2.0")):
        golds = read_rows(tasks / file, "validation")
        predictions = {row["id"]: next(filter(normalise_answer, row["answers"]["text"]), "") for row in golds}
        result = score_squad(predictions, golds, version)
        assert (result["exact_match"], result["total"], result["missing"]) == (100.0, len(golds), 0)
        assert result["f1"] == 100.0

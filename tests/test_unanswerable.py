"""Generated unanswerable questions: what each method changes, and reproducibility by seed."""

import re

import pytest
from support.errors import raises_error

from bertlab.config.errors import DataError
from bertlab.tasks.span.squad import read_rows
from bertlab.tasks.span.unanswerable import add_unanswerable

PASSAGES = [
    "The mill was built in 1787 by John Carter on the east bank of the river. It ground corn for the whole valley. "
    "In 1850 Mary Ellis bought the mill from the town. Its largest stone came from Wales.",
    "The railway reached the valley in 1861. The first station was opened by Thomas Reed near the mill. "
    "It closed in 1964 and the last train was empty.",
    "A school stands where the market of the valley once was. Anna Price taught there until 1902. "
    "The school has forty pupils and a garden.",
]
QUESTIONS = [
    (0, "Who built the mill in 1787?", "John Carter"),
    (0, "In what year was the mill bought by Mary Ellis?", "1850"),
    (0, "Where did the largest stone of the mill come from?", "Wales"),
    (0, "On which bank of the river was the mill built by John Carter?", "east"),
    (1, "Who opened the first station of the valley?", "Thomas Reed"),
    (1, "When did the railway reach the valley?", "1861"),
    (1, "In what year did the station close?", "1964"),
    (2, "Until when did Anna Price teach in the school of the valley?", "1902"),
    (2, "How many pupils has the school?", "forty"),
]


def rows() -> list[dict]:
    return [
        {"id": f"q{number}", "title": "Valley", "context": PASSAGES[p], "question": question,
         "answers": {"text": [answer], "answer_start": [PASSAGES[p].index(answer)]}}
        for number, (p, question, answer) in enumerate(QUESTIONS)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def generated() -> list[tuple[dict, dict, str]]:
    """(original row, generated row, method), over many seeds."""
    triples, by_id = [], {row["id"]: row for row in rows()}
    for seed in range(60):
        for row in add_unanswerable(rows(), 1.0, seed)[len(QUESTIONS) :]:
            id, method = row["id"].split(".", 1)
            triples.append((by_id[id], row, method))
    return triples


def test_the_requested_number_of_rows_is_appended():
    for share, count in ((1.0, 9), (0.5, 4), (1 / 9, 1)):
        out = add_unanswerable(rows(), share, seed=3)
        assert out[: len(QUESTIONS)] == rows()
        assert len(out) == len(QUESTIONS) + count
        assert len({row["id"] for row in out}) == len(out)
        assert all(row["answers"] == {"text": [], "answer_start": []} for row in out[len(QUESTIONS) :])


def test_the_seed_determines_the_generated_rows():
    assert add_unanswerable(rows(), 0.5, seed=1) == add_unanswerable(rows(), 0.5, seed=1)
    assert add_unanswerable(rows(), 0.5, seed=1) != add_unanswerable(rows(), 0.5, seed=2)


def test_every_method_is_used(generated):
    methods = {"removed", "elsewhere", "elsewhere.fitted", "swapped", "opposite", "negated"}
    assert {method for _, _, method in generated} >= methods


def test_each_method_changes_only_its_part_of_the_row(generated):
    for original, row, method in generated:
        answer, changed = original["answers"]["text"][0], row["question"] != original["question"]
        if method == "removed":
            assert not changed, row
            assert answer not in row["context"], row
            assert row["context"] == row["context"].strip()
            assert len(row["context"]) < len(original["context"])
        elif method.startswith("elsewhere"):
            assert row["context"] != original["context"], row
            assert answer not in row["context"], row
            assert changed == (method == "elsewhere.fitted"), row
        else:
            assert changed, row
            assert row["context"] == original["context"], row
        if method == "elsewhere.fitted":
            names = re.findall(r"\d+|(?<=\s)[A-Z]\w+", row["question"])
            assert names, row
            assert all(name in row["context"] for name in names), row
        if method == "swapped":
            new = set(row["question"].split()) - set(original["question"].split())
            assert new, row
            assert all(word.strip("?.,") not in answer for word in new), row


def test_negated_questions_are_grammatical(generated):
    questions = {row["question"] for _, row, method in generated if method == "negated"}
    assert any(re.search(r"\bdidn't\b", question) for question in questions)
    assert not any(re.search(r"\b(did|does|do) (not|never)\b", question) for question in questions), questions


@pytest.mark.parametrize("share", [0, -0.5, 1.01, float("nan")])
def test_a_share_out_of_range_raises_an_error(share):
    with raises_error(DataError, "unanswerable-share-invalid"):
        add_unanswerable(rows(), share)


def test_rows_without_a_possible_change_raise_an_error():
    row = {"id": "k", "title": "", "context": "물이 끓는다.", "question": "무엇이 끓는가?"}
    with raises_error(DataError, "unanswerable-none-made"):
        add_unanswerable([{**row, "answers": {"text": ["물"], "answer_start": [0]}}], 1.0)


def test_removed_answers_do_not_occur_in_real_passages(bertlab_data):
    original = read_rows(bertlab_data / "tasks/squad", "validation")[:800]
    by_id = {row["id"]: row for row in original}
    new = add_unanswerable(original, 0.5)[len(original) :]
    assert len(new) == 400
    for row in new:
        id, method = row["id"].split(".", 1)
        if method.startswith(("removed", "elsewhere")):
            assert by_id[id]["answers"]["text"][0] not in row["context"], row

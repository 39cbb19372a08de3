"""Questions made unanswerable: what each way may and may not do, and that the same seed makes the same ones."""

import re

import pytest
from support.errors import raises_error

from bertlab.config.errors import DataError
from bertlab.tasks.span.squad import read_squad
from bertlab.tasks.span.unanswerable import add_unanswerable

PASSAGES = [
    "The mill was built in 1787 by John Carter on the east bank of the river. It ground corn for the whole valley. "
    "In 1850 Mary Ellis bought the mill from the town. Its largest stone came from Wales.",
    "The railway reached the valley in 1861. The first station was opened by Thomas Reed near the mill. "
    "It closed in 1964 and the last train was empty.",
    "A school stands where the market of the valley once was. Anna Price taught there until 1902. "
    "The school has forty pupils and a garden.",
]
ASKED = [
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
        {
            "id": f"q{number}",
            "title": "Valley",
            "context": PASSAGES[p],
            "question": question,
            "answers": {"text": [answer], "answer_start": [PASSAGES[p].index(answer)]},
        }
        for number, (p, question, answer) in enumerate(ASKED)
    ]


@pytest.fixture(scope="module")
def made() -> list[tuple[dict, dict, str]]:
    """Origin, made row and way, over many seeds."""
    found, by_id = [], {row["id"]: row for row in rows()}
    for seed in range(60):
        for row in add_unanswerable(rows(), 1.0, seed)[len(ASKED) :]:
            id, way = row["id"].split(".", 1)
            found.append((by_id[id], row, way))
    return found


def test_rows_stay_and_as_many_come_as_asked():
    for share, more in ((1.0, 9), (0.5, 4), (1 / 9, 1)):
        out = add_unanswerable(rows(), share, seed=3)
        assert out[: len(ASKED)] == rows()
        assert len(out) == len(ASKED) + more
        assert len({row["id"] for row in out}) == len(out)
        assert all(row["answers"] == {"text": [], "answer_start": []} for row in out[len(ASKED) :])


def test_the_same_seed_makes_the_same_and_another_others():
    assert add_unanswerable(rows(), 0.5, seed=1) == add_unanswerable(rows(), 0.5, seed=1)
    assert add_unanswerable(rows(), 0.5, seed=1) != add_unanswerable(rows(), 0.5, seed=2)


def test_every_way_is_taken(made):
    assert {way for _, _, way in made} >= {"removed", "elsewhere", "elsewhere.fitted", "swapped", "opposite", "negated"}


def test_what_each_way_does(made):
    for origin, row, way in made:
        answer, changed = origin["answers"]["text"][0], row["question"] != origin["question"]
        if way == "removed":
            assert not changed, row
            assert answer not in row["context"], row
            assert row["context"] == row["context"].strip()
            assert len(row["context"]) < len(origin["context"])
        elif way.startswith("elsewhere"):
            assert row["context"] != origin["context"], row
            assert answer not in row["context"], row
            assert changed == (way == "elsewhere.fitted"), row
        else:
            assert changed, row
            assert row["context"] == origin["context"], row
        if way == "elsewhere.fitted":
            names = re.findall(r"\d+|(?<=\s)[A-Z]\w+", row["question"])
            assert names, row
            assert all(name in row["context"] for name in names), row
        if way == "swapped":
            new = set(row["question"].split()) - set(origin["question"].split())
            assert new, row
            assert all(word.strip("?.,") not in answer for word in new), row


def test_negation_reads_as_english(made):
    questions = {row["question"] for _, row, way in made if way == "negated"}
    assert any(re.search(r"\bdidn't\b", question) for question in questions)
    assert not any(re.search(r"\b(did|does|do) (not|never)\b", question) for question in questions), questions


@pytest.mark.parametrize("share", [0, -0.5, 1.01, float("nan")])
def test_a_share_out_of_range_is_refused(share):
    with raises_error(DataError, "unanswerable-share-invalid"):
        add_unanswerable(rows(), share)


def test_rows_that_nothing_fits_are_refused():
    row = {"id": "k", "title": "", "context": "물이 끓는다.", "question": "무엇이 끓는가?"}
    with raises_error(DataError, "unanswerable-none-made"):
        add_unanswerable([{**row, "answers": {"text": ["물"], "answer_start": [0]}}], 1.0)


def test_on_real_rows_no_answer_is_left_where_it_was_taken_out(bertlab_data):
    own = read_squad(bertlab_data / "tasks/squad/validation.parquet")[:800]
    by_id = {row["id"]: row for row in own}
    new = add_unanswerable(own, 0.5)[len(own) :]
    assert len(new) == 400
    for row in new:
        id, way = row["id"].split(".", 1)
        if way.startswith(("removed", "elsewhere")):
            assert by_id[id]["answers"]["text"][0] not in row["context"], row

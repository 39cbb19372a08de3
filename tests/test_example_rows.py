"""Example rows made from templates, and the evaluation of a checkpoint on them."""

import json
import re

import pytest

from bertlab.config.languages import read_data
from bertlab.config.tasks import TASKS
from bertlab.tasks.example_rows import generate_rows, write_example_rows
from bertlab.training.error_analysis import read_labelled_rows

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG")
SUITABLE = {"sst2": ("negative", "positive"), "stsb": (), "comve": (), "swag": (), "wikiann_en": TAGS, "squad": (),
            "squad_v2": ()}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("task", SUITABLE)
def test_five_hundred_different_rows_are_read_as_rows_of_the_task(tmp_path, task, language):
    path = write_example_rows(tmp_path / "rows.jsonl", TASKS[task], SUITABLE[task], language)
    texts = [{**json.loads(line), TASKS[task].id: ""} for line in path.read_text(encoding="utf-8").splitlines()]
    assert len({json.dumps(row) for row in texts}) == 500
    assert not [row for row in texts if re.search(r"[{}]", json.dumps({**row, "answers": ""})[1:-1])], "unfilled slots"
    rows = read_labelled_rows(path, TASKS[task], "validation")
    assert len(rows) == 500
    assert not rows.invalid_rows


def test_seed_determines_the_rows():
    spec = TASKS["stsb"]
    assert generate_rows(spec, seed=1) == generate_rows(spec, seed=1) != generate_rows(spec, seed=2)


def test_no_rows_for_tasks_that_the_templates_do_not_suit():
    assert generate_rows(TASKS["mnli"], ("entailment", "neutral", "contradiction")) == []
    assert generate_rows(TASKS["sst2"], ("one", "two", "three", "four", "five")) == []


@pytest.mark.parametrize("language", ["en", "ko"])
def test_labels_follow_from_the_templates(language):
    templates = read_data("example_rows", language)["classification"]
    for row in generate_rows(TASKS["sst2"], ("bad", "good"), language, count=200):
        last = max([*templates["good"], *templates["bad"], *templates["verdict"], *templates["complaint"]],
                   key=lambda phrase: (row["sentence"].rfind(phrase), len(phrase)))  # fmt: skip
        assert row["label"] == ("good" if last in (*templates["good"], *templates["verdict"]) else "bad"), row


@pytest.mark.parametrize("language", ["en", "ko"])
def test_answers_stand_in_their_passages_and_some_questions_have_none(language):
    rows = generate_rows(TASKS["squad_v2"], language=language)
    for row in rows:
        for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True):
            assert row["context"][start : start + len(text)] == text
    share = sum(not row["answers"]["text"] for row in rows) / len(rows)
    assert 0.2 < share < 0.6
    assert all(row["answers"]["text"] for row in generate_rows(TASKS["squad"], language=language))


def test_tags_that_the_checkpoint_lacks_become_o():
    rows = generate_rows(TASKS["wikiann_en"], ("O", "B-PER", "I-PER"))
    assert {tag for row in rows for tag in row["ner_tags"]} == {"O", "B-PER", "I-PER"}


def test_an_article_is_not_part_of_a_name():
    for row in generate_rows(TASKS["wikiann_en"], TAGS):
        assert len(row["tokens"]) == len(row["ner_tags"])
        assert all(
            tag == "O" for word, tag in zip(row["tokens"], row["ner_tags"], strict=True) if word in ("the", "The")
        )

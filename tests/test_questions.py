"""Question answering: invalid rows, tables of questions, the threshold of "no answer", KorQuAD and KLUE."""

import collections
import csv
import json
import random
import string
from dataclasses import replace

import pytest
from support.errors import raises_error, raises_row_error
from support.stories import question_row
from support.task_rows import read_squad

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import get_task
from bertlab.tasks.span.metrics import answer_f1, choose_script, exact_match, rouge_w, score_squad, score_with_threshold
from bertlab.tasks.span.squad import SQUAD, select_trainable_rows
from bertlab.tasks.span.task import set_detected_language
from bertlab.tasks.training_data import make_finetuning_model
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.story_world.rows import ROW_TASKS, make_rows
from bertlab.training.evaluate import EvaluateConfig, evaluate
from bertlab.training.evaluate import run as run_evaluate
from bertlab.training.finetune import FinetuneConfig, finetune, read_data
from bertlab.training.optimizers import OptimConfig


def write(path, rows: list[dict]) -> str:
    article = [{"context": row["context"], "qas": [_qa(row)]} for row in rows]
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": article}]}))
    return str(path)


def _qa(row: dict) -> dict:
    answers = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
    return {
        "id": row["id"],
        "question": row["question"],
        "answers": [{"text": t, "answer_start": s} for t, s in answers],
    }


# -- invalid rows


def invalid_questions() -> list[dict]:
    rows = [question_row(number) for number in range(6)]
    rows[1]["id"] = "0"
    rows[2]["context"] = " \n"
    rows[3]["question"] = ""
    rows[4]["answers"] = {"text": ["a unicorn"], "answer_start": [3]}
    return rows


@pytest.mark.parametrize(("row", "id"), [(1, "row-id-repeated"), (2, "cell-blank"), (3, "cell-blank")])
def test_an_invalid_question_raises_an_error_with_its_row(tmp_path, row, id):
    rows = invalid_questions()
    with raises_row_error(id, row=2):
        read_squad(write(tmp_path / "rows.json", [rows[0], rows[row]]))


def test_invalid_questions_are_skipped_and_reported(tmp_path, capsys):
    skipped_rows = InvalidRows("skip", max_printed=2)
    questions = read_squad(write(tmp_path / "rows.json", invalid_questions()), skipped_rows)
    assert [row["id"] for row in questions] == ["0", "4", "5"]
    assert len(skipped_rows) == 3
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "row 2 (id 0): repeats" in lines[0]
    assert lines[2].endswith("not printed")
    with raises_error(DataError, "no-questions"):
        read_squad(write(tmp_path / "none.json", invalid_questions()[2:3]), InvalidRows("skip"))


# -- tables of questions


def write_table(path, rows: list[dict], **columns: list):
    """Write questions as a table in CSV or JSON lines, with the columns of `CUSTOM_SPEC`."""
    flat = [{"text": row["context"], "query": row["question"], "reply": row["answers"]["text"][0]} for row in rows]
    for name, values in columns.items():
        for row, value in zip(flat, values, strict=True):
            row[name] = value
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(flat[0]))
            writer.writeheader()
            writer.writerows(flat)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in flat), encoding="utf-8")
    return path


CUSTOM_SPEC = SQUAD.replace(text=("text", "query"), label=("reply",))


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.json"])
def test_a_table_of_questions_is_read_by_its_columns(tmp_path, name):
    stories = [question_row(number) for number in range(4)]
    path = write_table(tmp_path / name, stories)
    read = read_squad(path, spec=CUSTOM_SPEC)
    keys = ("id", "context", "question", "answers")
    assert [{key: row[key] for key in keys} for row in read] == [{key: row[key] for key in keys} for row in stories]
    assert read[1]["where"] == (str(path), 2, None)
    (tmp_path / "list.json").write_text(json.dumps([{**row, "answers": row["answers"]["text"]} for row in stories]))
    assert [row["answers"] for row in read_squad(tmp_path / "list.json")] == [row["answers"] for row in stories]


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl"])
def test_an_answer_starts_at_the_character_in_answer_start(tmp_path, name):
    """The answer occurs twice; without answer_start it is placed at the first occurrence."""
    stories = [{**question_row(0), "context": "tea or tea", "answers": {"text": [text]}} for text in ("tea", "tea", "")]
    path = write_table(tmp_path / name, stories, answer_start=[7, "", ""], key=["x", "y", "z"])
    read = read_squad(path, spec=CUSTOM_SPEC.replace(id="key"))
    assert [row["answers"]["answer_start"] for row in read] == [[7], [0], []]
    assert [row["id"] for row in read] == ["x", "y", "z"]


def test_answers_missing_from_their_passage_are_evaluated_but_not_trained_on(tmp_path):
    stories = [question_row(number) for number in range(4)]
    stories[2]["answers"]["text"] = ["a unicorn"]
    rows = read_squad(write_table(tmp_path / "mine.csv", stories), spec=CUSTOM_SPEC)
    predictions = {row["id"]: row["answers"]["text"][0] for row in rows}
    assert score_squad(predictions, rows)["exact_match"] == 100.0
    with raises_row_error("answer-not-in-passage", row=3, answer="'a unicorn'"):
        select_trainable_rows(rows, False)
    trainable = select_trainable_rows(rows, False, skipped_rows := InvalidRows("skip", max_printed=0))
    assert [row["where"][1] for row in trainable] == [1, 2, 4]
    assert len(skipped_rows) == 1
    with raises_row_error("cell-not-number", row=4):
        read_squad(
            write_table(tmp_path / "mine.csv", [question_row(0)] * 4, answer_start=[*[""] * 3, "here"]),
            spec=CUSTOM_SPEC,
        )


@pytest.mark.parametrize(
    ("answers", "id"),
    [
        ({"text": ["tea"]}, "answers-without-fields"),
        ({"text": ["tea"], "answer_start": [1, 2]}, "answer-starts-differ"),
        ({"text": [5], "answer_start": [0]}, "answer-not-text"),
        ({"text": ["tea"], "answer_start": [True]}, "cell-not-number"),
    ],
)
def test_malformed_answers_raise_an_error_with_their_row(tmp_path, answers, id):
    (tmp_path / "mine.json").write_text(json.dumps([{**question_row(0), "answers": answers}]))
    with raises_row_error(id, row=1):
        read_squad(tmp_path / "mine.json")


def test_skipped_rows_are_reported_with_their_number_in_the_file(tmp_path, tiny_checkpoint, capsys):
    stories = [question_row(number) for number in range(6)]
    stories[1]["question"] = " "
    stories[3]["answers"] = {"text": ["a unicorn"], "answer_start": [3]}
    data = write(tmp_path / "rows.json", stories)
    list(finetune(config(tmp_path, tiny_checkpoint, task="squad", data=data, invalid="skip")))
    first, second = (line for line in capsys.readouterr().err.splitlines() if line.startswith("skipped"))
    assert "rows.json row 2 (id 1): " in first
    assert "rows.json row 4 (id 3): " in second


def config(tmp_path, base, **changes) -> FinetuneConfig:
    settings = {
        "task": "squad_v2", "from_": str(base), "out": tmp_path / "run", "epochs": 0.1, "batch_size": 8,
        "max_tokens": 64, "dropout": 0.0, "precision": "float32", "device": "cpu", "threads": 1,
        "data": write(tmp_path / "train.json", [question_row(number) for number in range(60)]),
    }  # fmt: skip
    return FinetuneConfig(**{**settings, **changes})


def test_finetune_stops_at_a_missing_answer_or_skips_it(tmp_path, tiny_checkpoint):
    invalid_file = write(tmp_path / "invalid_questions.json", invalid_questions()[4:])
    with raises_row_error("answer-not-in-passage"):
        list(finetune(config(tmp_path, tiny_checkpoint, data=invalid_file)))
    list(finetune(config(tmp_path, tiny_checkpoint, data=invalid_file, invalid="skip")))
    assert checkpoint.load(tmp_path / "run" / "checkpoint").record["skipped"] == 1
    only = write(tmp_path / "only.json", invalid_questions()[4:5])
    with raises_error(DataError, "no-trainable-row"):
        list(finetune(config(tmp_path, tiny_checkpoint, data=only, invalid="skip", out=tmp_path / "none")))


def test_make_unanswerable_needs_a_task_with_unanswerable_questions(tmp_path, tiny_checkpoint):
    with raises_error(BertlabError, "flag-needs-unanswerable", flag="--make-unanswerable"):
        list(finetune(config(tmp_path, tiny_checkpoint, task="squad", make_unanswerable=0.5)))


def write_unanswered(path, count: int = 6, **more) -> str:
    """Questions in a file of JSON lines, none of which has an answer."""
    rows = [{**question_row(number), "answers": {"text": [], "answer_start": []}, **more} for number in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("name", ["squad", "squad_v2"])
def test_a_dev_set_without_answers_cannot_be_evaluated(tmp_path, name):
    with raises_error(DataError, "questions-without-answers"):
        score_squad({"1": ""}, [{**question_row(1), "answers": {"text": [], "answer_start": []}}], "1.1")
    predictions = tmp_path / "predictions.json"
    predictions.write_text("{}")
    with raises_error(BertlabError, "evaluate-rows-without-labels"):
        evaluate(EvaluateConfig(name, data=write_unanswered(tmp_path / "dev.jsonl"), predictions=predictions))


def test_questions_marked_impossible_are_evaluated(tmp_path):
    data = write_unanswered(tmp_path / "dev.jsonl", 4, is_impossible=True)
    predictions = tmp_path / "predictions.json"
    predictions.write_text(json.dumps({"0": "", "1": "", "2": "", "3": "tea"}))
    metrics = evaluate(EvaluateConfig("squad_v2", data=data, predictions=predictions))
    assert (metrics["exact_match"], metrics["f1"], metrics["no_answer_total"]) == (75.0, 75.0, 4)
    assert "has_answer_f1" not in metrics
    rows = read_squad(data)
    tuned = score_with_threshold(
        {row["id"]: "tea" for row in rows}, {row["id"]: 1.0 for row in rows}, rows, get_task("squad_v2")
    )
    assert tuned["f1"] == 100.0
    with raises_error(BertlabError, "evaluate-rows-without-labels"):
        evaluate(EvaluateConfig("squad", data=data, predictions=predictions))


@pytest.mark.parametrize("cell", [True, "True", "1", 1, 1.0, False, "False", "0", None, ""])
def test_is_impossible_is_read_in_every_spelling(tmp_path, cell):
    (tmp_path / "mine.json").write_text(json.dumps([{**question_row(0), "is_impossible": cell}]))
    (row,) = read_squad(tmp_path / "mine.json")
    assert row.get("is_impossible", False) is (not row["answers"]["text"]) is (cell in (True, "True", "1", 1.0))


@pytest.mark.parametrize("name", ["squad", "squad_v2"])
def test_questions_without_answers_cannot_be_trained_on(tmp_path, tiny_checkpoint, name):
    data = write_unanswered(tmp_path / "train.jsonl", is_impossible=True)
    with raises_error(DataError, "training-rows-without-labels"):
        read_data(config(tmp_path, tiny_checkpoint, task=name, data=data))


# -- the threshold


def test_a_span_head_is_kept_and_other_heads_are_dropped(tiny_model):
    kept_state = make_finetuning_model(tiny_model, "span", 0.0).state_dict()
    assert set(tiny_model.state_dict()) > set(kept_state)
    assert all((tensor == tiny_model.state_dict()[name]).all() for name, tensor in kept_state.items())


def test_the_margin_is_compared_with_the_threshold():
    rows = [question_row(0), {**question_row(1), "answers": {"text": [], "answer_start": []}}]
    answers, margins = {"0": rows[0]["answers"]["text"][0], "1": "a boat"}, {"0": -2.0, "1": 1.0}
    for tau, f1 in ((2.0, 50.0), (1.0, 50.0), (0.9, 100.0), (-2.0, 100.0), (-2.1, 50.0)):
        metrics = score_with_threshold(answers, margins, rows, get_task("squad_v2"), tau)
        assert (metrics["f1"], metrics["null_threshold"]) == (f1, tau)
    tuned = score_with_threshold(answers, margins, rows, get_task("squad_v2"))
    assert (tuned["f1"], tuned["null_threshold"]) == (100.0, -0.5)
    assert "null_threshold" not in score_with_threshold(answers, margins, rows[:1], get_task("squad"))


def official_best_threshold(scores, margins, has_answer, has_prediction):
    """`find_best_thresh` of evaluate-v2.0.py, written as a loop."""
    best = current = sum(not has for has in has_answer.values())
    threshold = 0.0
    for id in sorted(margins, key=lambda id: margins[id]):
        change = scores[id] if has_answer[id] else -1 if has_prediction[id] else 0
        current += change
        if current > best:
            best, threshold = current, margins[id]
    return 100 * best / len(scores), threshold


def test_best_metrics_and_thresholds_equal_those_of_the_official_loop():
    rng = random.Random(11)
    for _ in range(40):
        rows = [question_row(number) for number in range(30)]
        for row in rows[1:]:
            if rng.random() < 0.5:
                row["answers"] = {"text": [], "answer_start": []}
        answers = {row["id"]: rng.choice(["", "the door", "radio", *row["answers"]["text"]]) for row in rows}
        margins = {row["id"]: rng.random() for row in rows}
        metrics = score_squad(answers, rows, "2.0", margins)
        has_answer = {row["id"]: bool(row["answers"]["text"]) for row in rows}
        has_prediction = {id: bool(text) for id, text in answers.items()}
        for name in ("exact_match", "f1"):
            alone = {row["id"]: score_squad(answers, [row, rows[0]], "2.0")[name] for row in rows[1:]}
            first = score_squad(answers, rows[:1], "2.0")[name]
            raw = {id: (2 * both - first) / 100 for id, both in alone.items()} | {"0": first / 100}
            best, threshold = official_best_threshold(raw, margins, has_answer, has_prediction)
            assert metrics[f"best_{name}"] == pytest.approx(best)
            if threshold:
                assert metrics[f"best_{name}_threshold"] == threshold


def test_the_no_answer_threshold_of_a_run_is_used_by_answer_and_evaluate(
    tmp_path, tiny_checkpoint, monkeypatch, capsys
):
    dev = [question_row(number) for number in range(100, 130)]
    for row in dev[::2]:
        row["answers"] = {"text": [], "answer_start": []}
        row["question"] = "Who is the king of the sea?"
    validation = write(tmp_path / "dev.json", dev)
    settings = config(
        tmp_path, tiny_checkpoint, epochs=2, make_unanswerable=0.5, validation=validation, optim=OptimConfig(lr=1e-3)
    )
    list(finetune(settings))
    opened = bertlab.load(tmp_path / "run" / "checkpoint")
    record = opened.record
    assert record["made_unanswerable"] == 0.5
    metrics = record["validation"]
    assert metrics["f1"] == pytest.approx(metrics["best_f1"])
    assert record["null_threshold"] == metrics["null_threshold"] >= metrics["best_f1_threshold"]
    assert "no answer" in (tmp_path / "run" / "checkpoint" / "README.md").read_text()

    found = opened.answer(dev[0]["question"], dev[0]["context"])
    assert found.null_threshold == record["null_threshold"]
    margin = found.no_answer_margin
    assert margin == pytest.approx(found.no_answer_score - found.answers[0].score)
    for tau, refused in ((margin + 1e-3, False), (margin - 1e-3, True)):
        answers = opened.answer(dev[0]["question"], dev[0]["context"], threshold=tau)
        assert answers.refused is refused
        assert answers.text == ("" if refused else found.answers[0].text)
        assert answers.answers == found.answers, "the threshold does not change the spans"

    evaluate_config = EvaluateConfig("squad_v2", data=validation, checkpoint=str(opened.path), max_tokens=64, json=True)
    again = evaluate(evaluate_config)
    assert again == pytest.approx(metrics, abs=0.01), "the checkpoint stores weights in half precision"
    evaluate(replace(evaluate_config, threshold=1e9, out=tmp_path / "answers.json"))
    assert all(json.loads((tmp_path / "answers.json").read_text()).values())
    always = evaluate(replace(evaluate_config, threshold=-1e9, out=tmp_path / "answers.json"))
    assert always["no_answer_f1"] == 100.0
    assert not any(json.loads((tmp_path / "answers.json").read_text()).values())

    record_without_threshold = {key: value for key, value in record.items() if key != "null_threshold"}
    checkpoint.write_record(opened.path, record_without_threshold, "")
    assert bertlab.load(opened.path).answer(dev[0]["question"], dev[0]["context"]).null_threshold is None
    assert evaluate(evaluate_config)["null_threshold"] == 0.0
    run_evaluate(replace(evaluate_config, record=True))
    assert checkpoint.load(opened.path).null_threshold == pytest.approx(metrics["null_threshold"], abs=0.01)

    answerable = write(tmp_path / "answerable.json", dev[1::2])
    recorded = checkpoint.load(opened.path).record
    run_evaluate(replace(evaluate_config, task="squad", data=answerable, record=True))
    after = checkpoint.load(opened.path).record
    other = after.pop("other_tasks")["squad"]
    assert after == recorded, "metrics of another task replace nothing"
    assert (other["metrics"]["total"], other["measured_on"]) == (15, "answerable.json")
    assert "bertlab evaluate squad --checkpoint" in (opened.path / "README.md").read_text()


def test_thresholds_need_squad_v2(tiny_checkpoint):
    with raises_error(BertlabError, "flag-needs-unanswerable", flag="--threshold"):
        evaluate(EvaluateConfig("squad", checkpoint=str(tiny_checkpoint), threshold=1.0))


# -- KorQuAD


def reference_korean(text: str) -> str:
    """`normalize_answer` of evaluate-korquad_v1.0.py, step by step."""
    for mark in "'\"《》<>〈〉()‘’":
        text = text.replace(mark, " ")
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(text.split())


def test_korean_answers_are_compared_as_korquad_does():
    rng = random.Random(3)
    pieces = ["주전자", "《찻잔》", "와", "(과)", "‘차’", "Tea-Pot,", " ", "  ", "1,787년", "'", "the", "한국은행"]
    rows, answers, exact, f1 = [], {}, 0, 0.0
    for number in range(300):
        gold, predicted = ("".join(rng.choice(pieces) for _ in range(rng.randrange(1, 5))) for _ in range(2))
        predicted = gold if rng.random() < 0.2 else predicted
        rows.append({"id": str(number), "answers": {"text": [gold], "answer_start": [0]}})
        answers[str(number)] = predicted
        exact += reference_korean(gold) == reference_korean(predicted)
        a, b = ([c for c in reference_korean(text) if not c.isspace()] for text in (predicted, gold))
        common = sum((collections.Counter(a) & collections.Counter(b)).values())
        f1 += 2 * common / (len(a) + len(b)) if common else 0.0
    metrics = score_squad(answers, rows, script="korquad")
    assert metrics["exact_match"] == pytest.approx(100 * exact / 300)
    assert metrics["f1"] == pytest.approx(100 * f1 / 300)
    with raises_error(DataError, "answer-language-unknown", language="'fr'"):
        choose_script(SQUAD.replace(language="fr"))


def test_questions_of_the_korean_story_world_are_compared_as_korquad_does():
    for language, script in (("ko", "korquad"), ("en", "squad")):
        rows = list(make_rows("questions", language, 0, 20))
        for name in (ROW_TASKS["questions"].find_task(language), "squad_v2"):
            assert choose_script(set_detected_language(get_task(name), rows)) == script
    assert set_detected_language(get_task("korquad"), [{"question": "Who?"}]).language == "ko"


def test_the_korquad_answers_score_100_against_themselves(bertlab_data):
    rows = read_squad(bertlab_data / "tasks/korean/korquad/KorQuAD_v1.0_dev.json.gz")
    metrics = score_squad({row["id"]: row["answers"]["text"][0] for row in rows}, rows, script="korquad")
    assert (metrics["exact_match"], metrics["f1"], metrics["total"]) == (100.0, 100.0, 5774)


# -- KLUE-MRC


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("주전자", "주전자", 1.0),
        ("", "", 1.0),
        ("...", "", 1.0),  # normalisation leaves nothing of it
        ("", "주전자", 0.0),
        ("주전자", "", 0.0),
        ("찻잔", "주전자", 0.0),
        ("주전자를", "주전자", 6 / 7),  # the run is 3 of the 4 predicted characters and 3 of the 3 correct ones
        ("1874년 봄", "1874년", 10 / 12),  # 5 of 7, since the space counts, and 5 of 5
        ("가나다라", "가나마라", 0.5),  # a run of two; ROUGE-L would also count the fourth character
        ("다가나", "가나다", 2 / 3),  # only the longest run counts
        ("The Tea-Pot", "teapot", 12 / 16),  # case and punctuation are ignored, articles are not: 6 of 10, 6 of 6
        ("《주전자》", "주전자", 6 / 8),  # the script of KLUE keeps these brackets
    ],
)
def test_rouge_w_equals_values_computed_by_hand(prediction, gold, expected):
    assert rouge_w(prediction, gold) == pytest.approx(expected)


def test_rouge_w_equals_a_brute_force_search():
    rng = random.Random(5)
    for length in (8, 300):
        for _ in range(20):
            a, b = ("".join(rng.choice("가나다") for _ in range(rng.randrange(1, length))) for _ in range(2))
            run = max(
                (j - i for i in range(len(a)) for j in range(i + 1, min(len(a), i + 30) + 1) if a[i:j] in b), default=0
            )
            assert rouge_w(a, b) == pytest.approx(2 * run / (len(a) + len(b)))


def test_klue_mrc_metrics_equal_those_of_its_script():
    spec = get_task("klue_mrc")
    texts = {"0": ["파란 주전자", "주전자"], "1": [], "2": ["1874년"], "3": ["《태백산맥》"]}
    rows = [{"id": id, "answers": {"text": golds, "answer_start": [0] * len(golds)}} for id, golds in texts.items()]
    answers = {"0": "주전자", "1": "찻잔", "2": "1874년 봄", "3": "태백산맥"}
    margins = {"0": -3.0, "1": 2.0, "2": -1.0, "3": -2.0}
    metrics = score_with_threshold(answers, margins, rows, spec, 0.0)
    expected = [1.0, 1.0, 10 / 12, 8 / 10]
    assert metrics["rouge_w"] == pytest.approx(25 * sum(expected))
    assert metrics["exact_match"] == 50.0
    assert metrics["has_answer_rouge_w"] == pytest.approx(100 * (sum(expected) - 1) / 3)
    assert metrics["no_answer_rouge_w"] == 100.0
    tuned = score_with_threshold(answers, margins, rows, spec)
    assert tuned["rouge_w"] == pytest.approx(tuned["best_rouge_w"]) == pytest.approx(metrics["rouge_w"])
    assert tuned["null_threshold"] == pytest.approx(0.5), "halfway from the best threshold to the next margin"
    assert exact_match("태백산맥", "《태백산맥》", "korquad") == 1.0
    assert answer_f1("태백산맥", "《태백산맥》", script="klue") == pytest.approx(0.8)
    assert "rouge_w" not in score_with_threshold(answers, margins, rows, get_task("squad_v2"), 0.0)

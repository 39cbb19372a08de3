"""Evaluation on labelled rows: results agree with the official metrics, and the page shows them."""

import csv
import io
import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from bertlab_app.widgets import evaluation_results
from bertlab_app.widgets.samples import format_sample_rows
from support.errors import raises_error
from support.figures import draw_from_code, read_charts, saved_figures, trace_values
from support.pages import HOSTILE, bodies, errors, open_page
from support.task_rows import jsonl, metrics_of, predictions_of, read_examples, rows_of
from support.texts import text

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TASKS
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.error_analysis import ErrorAnalysis
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.span.metrics import score_squad
from bertlab.tasks.span.windows import encode_questions
from bertlab.training.error_analysis import analyse_errors, find_task, read_labelled_rows

TEXTS = [{"sentence": f"Green tea number {n}.", "label": n % 2} for n in range(12)]


@pytest.fixture
def reviews(tmp_path):
    return jsonl(tmp_path / "reviews.jsonl", [*TEXTS, {"sentence": "Odd.", "label": "neither"}])


def open_rows(path, **parameters):
    """The page with the rows of a file or a directory."""
    return open_page("evaluation", rows=str(path), **{"from": "path"}, **parameters)


def loaded_of(shipped, name):
    return checkpoint.load(shipped / name)


@pytest.mark.parametrize(("name", "task"), [("sst2", "sst2"), ("wikiann_en", "")])
def test_metrics_equal_those_of_evaluate_and_cells_add_up(shipped, tmp_path, name, task):
    loaded = loaded_of(shipped, name)
    tagged = [{"tokens": ["Green", "tea", "and", "Clara"], "ner_tags": ["O", "O", "O", "B-PER"]} for _ in range(9)]
    path = jsonl(tmp_path / "rows.jsonl", TEXTS if task else tagged)
    spec = find_task(loaded, task, () if task else ("tokens",), "" if task else "ner_tags")
    rows = read_labelled_rows(path, spec)
    analysis = analyse_errors(loaded, rows, spec, 500)
    examples = read_examples(rows, analysis.spec, loaded.config.labels)
    assert analysis.metrics == metrics_of(examples, predictions_of(loaded, examples, 64))
    counts_GP = analysis.confusion.counts_GP
    if task:
        assert counts_GP.sum() == len(analysis.rows) == 12
        assert 100 * np.trace(counts_GP) / 12 == pytest.approx(analysis.metrics["accuracy"])
    else:
        person = analysis.confusion.names.index("PER")
        assert counts_GP[person].sum() == 9, "every labelled name is counted once in its row"
        correct, predicted = np.trace(counts_GP), counts_GP[:, [n != "" for n in analysis.confusion.names]].sum()
        assert 100 * 2 * correct / (9 + predicted) == pytest.approx(analysis.metrics["entity_f1"])
    probabilities = [analysis.rows[row].probability for row in analysis.sort_by_difficulty()]
    assert probabilities == sorted(probabilities)
    with torch.inference_mode():
        assert all(0 <= row.probability <= 1 for row in analysis.rows)


def test_questions_are_scored_as_the_official_script_does(shipped, tmp_path):
    loaded = loaded_of(shipped, "squad")
    questions = rows_of(TASKS["squad_v2"], 12)
    path = tmp_path / "dev.json"
    paragraphs = [
        {"context": row["context"], "qas": [{
            "id": row["id"], "question": row["question"],
            "answers": [{"text": a, "answer_start": s} for a, s in zip(*row["answers"].values(), strict=True)],
        }]} for row in questions
    ]  # fmt: skip
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    spec = find_task(loaded)
    analysis = analyse_errors(loaded, read_labelled_rows(path, spec), spec, 500)
    official = score_squad({row.id: row.prediction for row in analysis.rows}, questions, "2.0")
    assert analysis.metrics["f1"] == pytest.approx(official["f1"])
    assert 100 * np.mean([row.score for row in analysis.rows]) == pytest.approx(official["f1"])
    for groups in analysis.groups.values():
        assert sorted(row for group in groups for row in group.rows) == list(range(12))
        weighed = sum(group.exact_match * len(group.rows) for group in groups) / 12
        assert weighed == pytest.approx(official["exact_match"])


def test_largest_error_is_hardest(shipped, tmp_path, tiny_model, tiny_tokenizer):
    model = FastBert(tiny_model.config, ("regress",))
    path = checkpoint.save(tmp_path / "sts", model, tiny_tokenizer, {}, dtype=torch.float32)
    data = jsonl(tmp_path / "rows.jsonl", [{"a": f"Tea {n}.", "b": "Tea.", "y": n} for n in (1, 2, 900)])
    loaded = checkpoint.load(path)
    spec = find_task(loaded, "", ("a", "b"), "y")
    analysis = analyse_errors(loaded, read_labelled_rows(data, spec), spec)
    assert analysis.rows[analysis.sort_by_difficulty()[0]].gold == "900"
    assert analysis.confusion is None


def test_limited_rows_are_sampled_evenly(shipped, tmp_path):
    loaded = loaded_of(shipped, "sst2")
    path = jsonl(tmp_path / "rows.jsonl", [{"sentence": f"Tea {n}.", "label": n % 2, "idx": n} for n in range(9)])
    spec = find_task(loaded, "sst2")
    analysis = analyse_errors(loaded, read_labelled_rows(path, spec), spec, 3)
    assert [row.id for row in analysis.rows] == ["0", "4", "8"]
    assert analysis.total == 9


def test_invalid_rows_are_reported(shipped, tmp_path):
    loaded = loaded_of(shipped, "sst2")
    path = jsonl(tmp_path / "rows.jsonl", [{"sentence": "Tea.", "label": "neither"}])
    spec = find_task(loaded, "sst2")
    with raises_error(DataError, "no-usable-row-because"):
        analyse_errors(loaded, read_labelled_rows(path, spec), spec)


def test_unreadable_rows_are_skipped_or_stop(shipped, tmp_path):
    loaded, spec = loaded_of(shipped, "sst2"), TASKS["sst2"]
    path = jsonl(tmp_path / "rows.jsonl", TEXTS)
    path.write_text(path.read_text().replace("number 2", 'number "2'), encoding="utf-8")
    rows = read_labelled_rows(path, spec)
    analysis = analyse_errors(loaded, rows, spec)
    assert (len(analysis.rows), analysis.num_valid, analysis.total, len(analysis.invalid_rows)) == (11, 11, 12, 1)
    assert [row.id for row in analysis.rows][:3] == ["0", "1", "3"], "ids are the numbers of the rows in the file"
    with raises_error(DataError, "invalid-row-stops"):
        read_labelled_rows(path, spec, invalid="stop")
    path.write_text('{"sentence": \n' * 3, encoding="utf-8")
    with raises_error(DataError, "no-usable-row-because"):
        read_labelled_rows(path, spec)


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("damage", ['{"sentence": "Odd.", "label"', '{"sentence": "Odd.", "label": "neither"}'])
def test_the_switch_decides_whether_invalid_rows_are_skipped(shipped, language, damage, monkeypatch):
    lines = [*map(json.dumps, TEXTS[:2]), damage, *map(json.dumps, TEXTS[2:4]), damage]
    content = "\n".join(lines).encode()
    app = open_page("evaluation", **{"from": "upload", "lang": language})
    app = app.file_uploader(key="evaluation-upload").set_value(("mine.jsonl", content, "application/json")).run()
    app = next(b for b in app.button if "play_arrow" in (b.icon or "")).click().run()
    assert not app.exception, app.exception[0].message
    assert not errors(app)
    coverage = text("evaluation-coverage-all-valid", language, count=4, total=4, invalid=2)
    assert coverage in [caption.value for caption in app.caption]
    start = text("evaluation-invalid-rows", language, count=2, first="mine.jsonl")
    (note,) = [body for body in bodies(app) if start in body]
    assert "mine.jsonl row 3" in note or "mine.jsonl 3행" in note
    assert "skip" not in app.query_params

    (switch,) = [toggle for toggle in app.toggle if toggle.label == text("evaluation-skip-invalid", language)]
    app = switch.set_value(False).run()
    assert app.query_params["skip"] in ("0", ["0"])
    buttons = [b for b in app.button if "play_arrow" in (b.icon or "")]
    app = buttons[0].click().run() if buttons else app
    assert not app.exception, app.exception[0].message
    (error,) = errors(app)
    assert text("evaluation-skip-invalid", language) in error
    assert "--invalid" not in error
    assert "/tmp" not in error
    assert not read_charts(app)


def test_the_page_evaluates_shows_a_cell_and_opens_the_attention_page(shipped, reviews, monkeypatch):
    app = open_rows(reviews)
    assert not read_charts(app), "nothing is evaluated before the button is clicked"
    app = next(b for b in app.button if b.label.startswith("Evaluate")).click().run()
    assert not app.exception, app.exception[0].message
    assert not errors(app)
    assert any("unknown label" in body for body in bodies(app)), "the row that is left out is named"
    assert text("evaluation-coverage-all-valid", count=12, total=12, invalid=1) in [
        caption.value for caption in app.caption
    ]
    (menu,), (chart,) = saved_figures(app), read_charts(app)
    assert {"label", "prediction", "count"} <= menu["columns"].keys()
    assert menu["subject"].keys() == {"checkpoint", "task_type", "data"}
    assert menu["subject"]["data"] == str(reviews)
    assert trace_values(json.loads(draw_from_code(menu["code"], monkeypatch).to_json())) == trace_values(chart)
    ran = app.query_params["ran"]
    again = open_rows(reviews, ran=ran if isinstance(ran, str) else ran[0], cell="0.0")
    assert len(read_charts(again)) == 1, "a link shows what its sender saw"
    opening = [b for b in again.button if (b.key or "").startswith("open-")]
    assert opening
    opening[0].click().run()
    assert again.session_state["url.values"]["a"].startswith("Green tea number")


def test_a_changed_file_is_evaluated_again(shipped, tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", TEXTS)
    app = open_rows(path)
    app = next(b for b in app.button if "play_arrow" in (b.icon or "")).click().run()
    assert text("evaluation-coverage-all", count=12, total=12, invalid=0) in [caption.value for caption in app.caption]
    jsonl(path, TEXTS[:4])
    os.utime(path, (1, 1))
    app = app.run()
    assert not app.exception, app.exception[0].message
    assert text("evaluation-coverage-all", count=4, total=4, invalid=0) in [caption.value for caption in app.caption]


def test_uploaded_rows_are_evaluated_and_ragged_row_is_reported(shipped):
    app = open_page("evaluation", **{"from": "upload"})
    rows = [*TEXTS, {"label": 1}, {"sentence": "Odd.", "label": 0}]
    content = "\n".join(map(json.dumps, rows)).encode()
    app = app.file_uploader(key="evaluation-upload").set_value(("mine.jsonl", content, "application/json")).run()
    app = next(b for b in app.button if "play_arrow" in (b.icon or "")).click().run()
    assert not app.exception, app.exception[0].message
    assert not errors(app)
    assert text("evaluation-coverage-all-valid", count=13, total=13, invalid=1) in [
        caption.value for caption in app.caption
    ]
    (left_out,) = [body for body in bodies(app) if "mine.jsonl row 13" in body]
    assert "/tmp" not in left_out


@pytest.mark.parametrize("measure", ["classify", "tag", "answer"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_sample_rows_can_be_tried(shipped, measure, language):
    app = open_page("evaluation", measure=measure, lang=language, **{"from": "path"})
    app = next(b for b in app.button if "content_paste" in (b.icon or "")).click().run()
    app = next(b for b in app.button if "play_arrow" in (b.icon or "")).click().run()
    assert not app.exception, app.exception[0].message
    assert not errors(app)
    assert len(read_charts(app)) == 1


@pytest.mark.parametrize("measure", ["classify", "tag", "answer", "choose"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_example_rows_are_evaluated_on_arrival(shipped, measure, language):
    app = open_page("evaluation", measure=measure, lang=language, most="50")
    assert not errors(app)
    assert len(read_charts(app)) == 1
    assert text("evaluation-coverage-sample", language, count=50, total=500) in [c.value for c in app.caption]
    assert "from" not in app.query_params


def test_a_link_with_a_path_opens_the_path(shipped, tmp_path):
    app = open_rows("/nowhere/at.csv")
    assert len(errors(app)) == 1
    assert app.query_params["from"] == "path"


def test_code_of_an_evaluation_of_example_rows_repeats_it(shipped, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    app = open_page("evaluation", measure="classify", most="50")
    (saved,) = saved_figures(app)
    redrawn = json.loads(draw_from_code(saved["code"], monkeypatch).to_json())
    assert trace_values(redrawn) == trace_values(read_charts(app)[0])


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_sample_rows_of_regression_are_graded_pairs(language):
    task = TASKS["stsb" if language == "en" else "klue_sts"]
    rows = list(csv.DictReader(io.StringIO(format_sample_rows(task, (), language))))
    grades = [float(row[task.label[0]]) for row in rows]
    assert (max(grades), min(grades)) == (5, 0)
    assert len(set(grades)) >= 4
    assert len({row[column] for row in rows for column in task.text}) == 2 * len(rows)


def test_the_shipped_stsb_checkpoint_agrees_with_the_sample_rows(tmp_path):
    loaded = bertlab.load("stsb").loaded
    spec, path = find_task(loaded), tmp_path / "rows.csv"
    path.write_text(format_sample_rows(spec, (), "en"), encoding="utf-8")
    assert analyse_errors(loaded, read_labelled_rows(path, spec), spec).metrics["pearson"] > 80


@pytest.mark.parametrize("language", ["en", "ko"])
def test_invalid_rows_are_counted_and_listed(shipped, tmp_path, language):
    bad = [{"sentence": "Odd.", "label": f"<i>{n}"} for n in range(23)]
    path = jsonl(tmp_path / "rows.jsonl", [*TEXTS[:2], *bad, *TEXTS[2:4]])
    app = open_rows(path, lang=language)
    app = next(b for b in app.button if "play_arrow" in (b.icon or "")).click().run()
    assert not app.exception, app.exception[0].message
    shares = text("evaluation-coverage-all-valid", language, count=4, total=4, invalid=23)
    assert shares in [caption.value for caption in app.caption]
    listed = text("evaluation-invalid-rows-first", language, shown=20, count=23)
    assert listed in [expander.label for expander in app.expander]
    (names,) = [body for body in bodies(app) if "<li" in body]
    assert names.count("<li") == 20
    assert "&lt;i&gt;19" in names
    assert "<i>" not in names


@pytest.mark.parametrize(
    ("kind", "evaluated", "total", "invalid", "id"),
    [
        ("classification", 4, 4, 0, "evaluation-coverage-all"),
        ("classification", 2, 6, 2, "evaluation-coverage-sample-valid"),
        ("span", 4, 4, 2, "evaluation-coverage-all-valid"),
        ("span", 2, 4, 0, "evaluation-coverage-sample"),
        ("regression", 1, 2, 1, "evaluation-coverage-single-valid"),
    ],
)
def test_coverage_of_metrics(monkeypatch, kind, evaluated, total, invalid, id):
    monkeypatch.setattr(evaluation_results, "t", lambda key, **values: text(key, **values))
    left_out = ("row 1 is empty",) * invalid
    usable = total if kind == "span" else total - invalid  # questions are counted without invalid ones
    analysis = ErrorAnalysis(
        "rows", TASK_TYPES[kind].make_default_spec(), {}, (None,) * evaluated, total, usable, left_out
    )
    assert evaluation_results.describe_coverage(analysis) == text(id, count=evaluated, total=usable, invalid=invalid)


def test_correlations_are_not_percentages(shipped, tmp_path, tiny_model, tiny_tokenizer):
    path = checkpoint.save(tmp_path / "sts", FastBert(tiny_model.config, ("regress",)), tiny_tokenizer, {})
    rows = jsonl(tmp_path / "rows.jsonl", rows_of(TASKS["stsb"], 6))
    app = open_rows(rows, checkpoint=str(path), task="stsb")
    app = next(b for b in app.button if "play_arrow" in (b.icon or "")).click().run()
    assert not app.exception, app.exception[0].message
    (figures,) = [body for body in bodies(app) if "Pearson" in body]
    assert "%" not in figures


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_pasted_questions_are_evaluated_and_invalid_row_is_reported(shipped, delimiter):
    table = "context,question,answer\nThe mill is old.,What is old?,The mill\nTea is hot., ,Tea\n".replace(
        ",", delimiter
    )
    app = open_page("evaluation", measure="answer", **{"from": "paste"})
    app = app.text_area(key="pasted").set_value(table).run()
    app = next(b for b in app.button if "play_arrow" in (b.icon or "")).click().run()
    assert not app.exception, app.exception[0].message
    assert not errors(app)
    assert any("row 2: has only spaces in" in body for body in bodies(app))
    assert text("evaluation-coverage-single-valid", count=1, total=1, invalid=1) in [
        caption.value for caption in app.caption
    ]


def test_error_analysis_uses_the_windows_of_evaluate(shipped, tmp_path):
    loaded = replace(loaded_of(shipped, "squad"), record={"settings": {"stride": 5}})
    text = "The keeper of the old mill carried the lantern. " * 12
    questions = [{"id": str(n), "context": text, "question": "Who?", "answer": "mill"} for n in range(2)]
    spec = find_task(loaded, "squad")
    rows = read_labelled_rows(jsonl(tmp_path / "rows.jsonl", questions), spec)
    analysis, examples = analyse_errors(loaded, rows, spec, 500), read_examples(rows, spec)
    features = encode_questions(loaded.tokenizer, examples, loaded.config.max_tokens, stride=5)
    decoded = TASK_TYPES["span"].compute_outputs(loaded.model, features)
    assert [row.prediction for row in analysis.rows] == [one.text for one in decoded]


@pytest.mark.parametrize("task", ["klue_mrc", "squad_v2"])
def test_error_analysis_of_korean_questions_uses_the_metrics_of_their_task(shipped, tmp_path, task):
    loaded = loaded_of(shipped, "squad")
    text = "강가의 방앗간은 1874년에 지었다."
    questions = [
        {"id": str(n), "context": text, "question": "언제?", "answer": "1874년" if n else ""} for n in range(4)
    ]
    spec = find_task(loaded, task)
    rows = read_labelled_rows(jsonl(tmp_path / "rows.jsonl", questions), spec)
    analysis = analyse_errors(loaded, rows, spec, 500)
    assert ("rouge_w" in analysis.metrics) is (task == "klue_mrc")
    for groups in analysis.groups.values():
        weighed = sum(group.exact_match * len(group.rows) for group in groups) / 4
        assert weighed == pytest.approx(analysis.metrics["exact_match"])


@pytest.mark.parametrize("rows", ["/nowhere/at.csv", "x" * 5000, "a\0b", "~nobody-of-that-name/x", HOSTILE[:45]])
def test_unreadable_rows_are_reported_in_one_line(shipped, rows):
    app = open_rows(rows)
    assert len(errors(app)) == 1
    assert "<script" not in errors(app)[0]


def test_checkpoint_without_suitable_task_head_is_replaced(shipped):
    app = open_page("evaluation", checkpoint="bare")
    assert not errors(app)
    assert sum(text("checkpoint-replaced", chosen="bare", used="sst2") in body for body in bodies(app)) == 1

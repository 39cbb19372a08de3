"""The pages that look at training runs, without a browser."""

import json
import os
import re
import shutil
import time

import pytest
from bertlab_app import url
from bertlab_app.data import training_runs
from support.figures import draw_from_code, read_charts, saved_figures, trace_values
from support.pages import HOSTILE, bodies, errors, open_page
from support.texts import text

from bertlab.checkpoints import history
from bertlab.config.languages import list_message_ids
from bertlab.views import curves, payload


@pytest.fixture
def several(runs, tmp_path, monkeypatch):
    """A directory with the finished run, one under way, one that stopped and one that diverged; none is shipped."""
    monkeypatch.setenv("BERTLAB_RUNS", str(tmp_path / "none"))
    for name in ("done", "going", "stopped", "gone"):
        shutil.copytree(runs / "learner", tmp_path / name)
    for name in ("going", "stopped", "gone"):
        shutil.rmtree(tmp_path / name / "checkpoint")
    with (tmp_path / "gone" / "log.jsonl").open("a") as file:
        file.write(json.dumps({"step": 41, "loss": float("nan")}) + "\n")
    with (tmp_path / "going" / "log.jsonl").open("a") as file:
        file.write('{"step": 41, "tokens": 4100, "loss": 4.5}\n{"step": 42, "lo')
    long_ago = time.time() - 3600
    os.utime(tmp_path / "stopped" / "log.jsonl", (long_ago, long_ago))
    return tmp_path


def page_text(app) -> str:
    return "\n".join(bodies(app))


def test_every_run_of_a_directory_is_drawn_with_its_status(shipped, several):
    app = open_page("training", runs=str(several))
    assert app.multiselect[0].value == ["done", "going", "gone", "stopped"]
    assert len(read_charts(app)) == 4
    row = r'<th scope="row"[^>]*>(\w+)</th><td><span>state</span>(\w+)</td><td><span>steps</span>(\d+)</td>'
    assert re.findall(row, page_text(app)) == [
        ("done", "finished", "40"), ("going", "running", "41"), ("gone", "diverged", "41"),
        ("stopped", "stopped", "40"),
    ]  # fmt: skip
    assert text("training-stopped", run="stopped", step=40, minutes=6).partition("6")[0] in page_text(app)
    assert len(errors(app)) == 1
    assert "gone diverged" in errors(app)[0]


def test_the_runs_selected_at_first_are_of_one_command(shipped, several):
    """Pre-training and fine-tuning have no curve in common."""
    newest = time.time() + 60
    for name, settings in (("gone", {"task": "sst2"}), ("going", {"task": "cola"}), ("done", {"corpus": "texts"})):
        (several / name / "run.json").write_text(json.dumps(settings))
    os.utime(several / "going" / "log.jsonl", (newest, newest))
    app = open_page("training", runs=str(several))
    assert app.multiselect[0].value == ["going", "gone"]


@pytest.mark.parametrize(("newest", "expected"), [("going", ["done", "going"]), ("gone", ["gone", "stopped"])])
def test_the_page_opens_on_runs_of_one_language(shipped, several, monkeypatch, newest, expected):
    """Losses over different vocabularies cannot be compared."""
    language_of = training_runs.read_language
    korean = ("gone", "stopped")
    monkeypatch.setattr(training_runs, "read_language", lambda run: "ko" if run.name in korean else language_of(run))
    later = time.time() + 60
    os.utime(several / newest / "log.jsonl", (later, later))
    app = open_page("training", runs=str(several))
    assert app.multiselect[0].value == expected


@pytest.mark.parametrize(("language", "run"), [("en", "learner"), ("ko", "student")])
def test_the_page_opens_on_shipped_runs_of_the_interface_language(shipped, runs, tmp_path, monkeypatch, language, run):
    for name in ("learner", "student"):
        shutil.copytree(runs / "learner", tmp_path / name)
    monkeypatch.setenv("BERTLAB_RUNS", str(tmp_path))
    monkeypatch.setattr(training_runs, "read_language", lambda run: "ko" if run.name == "student" else "en")
    app = open_page("training", lang=language)
    assert app.multiselect[0].value == [run]
    assert app.multiselect[0].options == ["learner", "student"], "the other run can still be added"


def test_another_directory_selects_its_latest_runs_and_undo_restores_the_selection(shipped, several, monkeypatch):
    monkeypatch.setenv("BERTLAB_RUNS", str(several))
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 0.0)
    other = several / "other"
    for number in range(6):
        shutil.copytree(several / "done", other / f"run{number}")
        os.utime(other / f"run{number}" / "log.jsonl", (time.time() - 60 * number,) * 2)
    app = open_page("training")
    assert app.multiselect[0].value == ["done", "going", "gone", "stopped"]
    app.multiselect[0].set_value(["done"]).run()
    app.text_input(key="runs").set_value(str(other)).run()
    assert app.multiselect[0].value == ["run0", "run1", "run2", "run3"]
    app.text_input(key="runs").set_value("/nowhere/<b>").run()
    assert text("training-no-runs", directory="/nowhere/&lt;b&gt;") in errors(app)[0]
    assert app.multiselect[0].value == ["done", "going", "gone", "stopped"]
    app.button(key="undo").click().run()
    assert app.multiselect[0].value == ["run0", "run1", "run2", "run3"]
    app.button(key="undo").click().run()
    assert app.multiselect[0].value == ["done"]


def test_the_table_shows_the_mean_of_the_last_steps_and_held_out_metrics(shipped, several):
    rows = [{"step": n, "tokens": n, "seconds": n, "loss": 9.0 if n <= 20 else 2.0 + n % 2} for n in range(1, 121)]
    rows += [{"step": 60, "validation": {"masked_accuracy": 0.2}}, {"step": 120, "validation": {"mlm_loss": 1.5}}]
    rows[-1]["validation"]["masked_accuracy"] = 0.25
    log_of(several, "long", rows)
    app = open_page("training", runs=str(several), curves='["long","stopped"]')
    row = r"<span>loss, last 100 steps</span>(.*?)</td><td><span>held-out text</span>(.*?)</td>"
    assert re.findall(row, page_text(app))[0] == ("2.500", f"25.0% {text('training-masked_accuracy')}")
    assert curves.find_main_held_out_value(rows[:3]) is None


def test_a_figure_with_many_runs_is_higher():
    rows = [{"step": step, "tokens": step, "loss": 1.0} for step in range(3)]
    few, many = (curves.run_curves({f"run {n}": rows for n in range(count)}, "loss") for count in (2, 20))
    assert many.layout.height > few.layout.height + 20


def test_a_run_under_way_is_drawn_live_until_the_toggle_is_off(shipped, several):
    app = open_page("training", runs=str(several), curves='["done"]')
    assert not app.toggle
    app = open_page("training", runs=str(several), curves='["going"]')
    assert app.toggle(key="training-live").value
    app.toggle(key="training-live").set_value(False).run()
    assert len(read_charts(app)) == 4


def test_differing_settings_are_shown(shipped, several):
    for name, settings in {
        "gone": {"preset": "tiny", "optim": {"lr": 0.1}, "minutes": 2.0, "corpus": "/data/corpora/milk"},
        "stopped": {"task": "tea", "optim": {"lr": 0.5}, "minutes": None, "corpus": "/data/corpora/tea"},
    }.items():
        (several / name / "run.json").write_text(json.dumps(settings))
    app = open_page("training", runs=str(several), curves='["gone","stopped"]')
    cell = r'<th scope="row"[^>]*>([a-z.-]+)</th><td><span>gone</span>(.*?)</td><td><span>stopped</span>(.*?)</td>'
    assert re.findall(cell, page_text(app)) == [
        ("optim.lr", "0.1", "0.5"), ("minutes", "2.0", "–"),
        ("corpus", "/data/<wbr>corpora/<wbr>milk", "/data/<wbr>corpora/<wbr>tea"),
    ]  # fmt: skip
    app = open_page("training", runs=str(several), curves='["done","going"]')
    assert text("training-differing-settings") not in [heading.value for heading in app.subheader]
    (several / "going" / "run.json").write_text(json.dumps(history.read_settings(several / "done") | {"minutes": 9}))
    app = open_page("training", runs=str(several), curves='["done","going"]')
    row = r'<th scope="row"[^>]*>(\w+)</th><td><span>minutes</span>(.*?)</td>'
    assert re.findall(row, page_text(app)) == [("done", "2.0"), ("going", "9")]


def test_the_selection_stays_in_the_link_and_the_saved_code_redraws_its_figures(shipped, several, monkeypatch):
    app = open_page("training", runs=str(several), curves='["done","nowhere"]', over="seconds", scale="log")
    assert app.multiselect[0].value == ["done"]
    assert (app.query_params["over"], app.query_params["scale"]) == ("seconds", "log")
    assert json.loads(app.query_params["curves"]) == ["done"]
    charts = read_charts(app)
    for menu, chart in zip(saved_figures(app), charts, strict=True):
        assert trace_values(json.loads(draw_from_code(menu["code"], monkeypatch).to_json())) == trace_values(chart)
        assert set(menu["columns"]["run"]) == {"done"}
        assert {"split", "seconds"} < menu["columns"].keys()
    app.multiselect[0].set_value([]).run()
    assert text("training-no-selection") in page_text(app)


@pytest.mark.parametrize("directory", ["/nowhere", "~nobody-of-that-name", HOSTILE, "x" * 5000, "a\0b"])
def test_a_directory_without_runs_gets_one_line(shipped, monkeypatch, tmp_path, directory):
    monkeypatch.setenv("BERTLAB_RUNS", str(tmp_path))
    app = open_page("training", runs=directory)
    assert any("There is no training run here yet" in body for body in bodies(app))


def test_an_empty_log_and_a_hostile_name_are_drawn_as_text(shipped, several):
    (several / "<img src=x>").mkdir()
    (several / "<img src=x>" / "log.jsonl").write_text("")
    app = open_page("training", runs=str(several), curves='["<img src=x>"]')
    assert f"&lt;img src=x&gt;: {text('training-empty-log')}" in page_text(app)
    assert "<img" not in page_text(app)


def test_sample_sentences_are_shown_latest_first(shipped, several):
    with (several / "done" / "log.jsonl").open("a") as file:
        for step, token in ((10, "milk"), (40, "tea")):
            row = {
                "step": step,
                "samples": [{"text": "Hot [MASK].", "guesses": [[[token, 0.25], ["rain", 0.1]], [["now", 0.5]]]}],
            }
            file.write(json.dumps(row) + "\n")
    app = open_page("training", runs=str(several), curves='["done"]')
    table = app.dataframe[0].value
    assert list(table[text("training-predictions")]) == [
        f"{token} 25.0% · rain 10.0% | now 50.0%" for token in ("tea", "milk")
    ]
    assert list(table["steps"]) == [40, 10]


def test_invalid_sample_rows_are_ignored():
    rows = [
        {"step": 1, "samples": row}
        for row in (None, 3, "text", [4, {"guesses": []}, {"text": "x", "guesses": [["a"]]}])
    ]
    assert history.read_sample_predictions([*rows, {"step": 1}]) == []


def test_validation_results_are_drawn_at_their_steps():
    rows = [{"step": step, "seconds": 2.0 * step, "tokens": 10 * step, "loss": 5.0} for step in (1, 2, 3, 4)]
    rows += [{"step": 3, "tokens": 30, "validation": {"mlm_loss": 4.0, "nsp_loss": 0.5}}, {"step": 4, "validation": {}}]
    for x, place in (("step", 3), ("tokens", 30), ("seconds", 6.0)):
        figure = curves.run_curves({"a": rows}, "loss", x=x)
        diamonds = figure.data[-1]
        assert diamonds.mode == "markers"
        assert (list(diamonds.x), list(diamonds.y)) == ([place], [4.5])
    assert not curves.run_curves({"a": rows}, "learning_rate").data


def test_curves_of_rows_that_hold_no_numbers():
    rows = [{"step": 1}, {"step": 2, "loss": float("nan"), "tokens": 1}, {"step": "x", "loss": "y", "tokens": None}]
    for metric in curves.METRICS:
        assert all(len(trace.x) == 0 for trace in curves.run_curves({"a": rows}, metric).data)


def log_of(directory, name: str, rows: list[dict]) -> list[dict]:
    (directory / name).mkdir()
    (directory / name / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return rows


def step_of(step: int, **metrics) -> dict:
    return {"step": step, "tokens": 100 * step, "seconds": 0.5 * step, "learning_rate": 1e-3, **metrics}


@pytest.fixture
def ordered(tmp_path) -> list[dict]:
    """A pre-training run with sentence-order prediction (SOP)."""
    rows = [step_of(n, loss=6.0, mlm_loss=5.3, mlm_accuracy=0.1, order_loss=0.7, order_accuracy=0.6) for n in (1, 2, 3)]
    validation = {
        "masked_accuracy": 0.2,
        "mlm_loss": 5.0,
        "bits_per_character": 2.5,
        "order_accuracy": 0.55,
        "order_loss": 0.69,
    }
    return log_of(tmp_path, "ordered", [*rows, {"step": 3, "tokens": 300, "validation": validation}])


@pytest.fixture
def tuned(tmp_path) -> list[dict]:
    """A fine-tuning run whose metrics on held-out rows are in percent."""
    rows = [step_of(n, loss=0.7, accuracy=0.25 * n) for n in (1, 2, 3)]
    rows += [{"step": n, "tokens": 100 * n, "validation": {"f1": 80.0 + n, "accuracy": 70.0 + n}} for n in (2, 3)]
    return log_of(tmp_path, "tuned", rows)


def test_curves_of_a_run_with_sentence_order_prediction(ordered):
    drawn = [metric for metric in curves.METRICS if curves.has_metric(ordered, metric)]
    assert drawn == ["loss", "masked_accuracy", "order_accuracy", "bits_per_character", "learning_rate"]
    assert list(curves.run_curves({"a": ordered}, "loss").data[-1].y) == [pytest.approx(5.69)]
    accuracy = curves.run_curves({"a": ordered}, "order_accuracy").data
    assert list(accuracy[-2].y) == pytest.approx([0.6] * 3)
    assert list(accuracy[-1].y) == [0.55]
    (bits,) = curves.run_curves({"a": ordered}, "bits_per_character").data
    assert (list(bits.y), bits.showlegend, bits.name) == ([2.5], True, "a")


def test_curves_of_replaced_token_detection_have_the_weighted_loss(tmp_path):
    replaced = {"replaced_weighted_loss": 10.0, "replaced_precision": 0.8, "replaced_recall": 0.1}
    rows = [step_of(1, loss=15.0, mlm_loss=5.0, mlm_accuracy=0.1, **replaced)]
    rows += [{"step": 1, "tokens": 100, "validation": {"masked_accuracy": 0.2, "mlm_loss": 4.0, **replaced}}]
    log = log_of(tmp_path, "electra", rows)
    drawn = [metric for metric in curves.METRICS if curves.has_metric(log, metric)]
    assert drawn == ["loss", "masked_accuracy", "replaced_precision", "replaced_recall", "learning_rate"]
    assert [list(line.y) for line in curves.run_curves({"a": log}, "loss").data][-1] == [14.0]


def test_curves_of_fine_tuning_put_shares_and_percents_on_one_scale(tuned):
    drawn = [metric for metric in curves.METRICS if curves.has_metric(tuned, metric)]
    assert drawn == ["loss", "accuracy", "f1", "learning_rate"]
    lines = curves.run_curves({"a": tuned}, "accuracy").data
    assert list(lines[0].y) == [0.25, 0.5, 0.75]
    assert (list(lines[-1].x), list(lines[-1].y)) == ([200, 300], pytest.approx([0.72, 0.73]))
    (f1,) = curves.run_curves({"a": tuned}, "f1").data
    assert (list(f1.y), f1.mode) == (pytest.approx([0.82, 0.83]), "lines+markers")


def test_a_run_without_a_metric_is_not_in_its_figure(ordered, tuned):
    both = {"ordered": ordered, "tuned": tuned}
    assert {trace.name for trace in curves.run_curves(both, "accuracy").data if trace.name} == {
        "tuned",
        "tuned, held-out text",
    }
    alone, together = (curves.run_curves(runs, "accuracy").data[-1] for runs in ({"tuned": tuned}, both))
    assert alone.marker.color != together.marker.color, "a run has one colour in all its figures"


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_draws_and_names_every_metric_of_either_run(shipped, ordered, tuned, tmp_path, monkeypatch, language):
    monkeypatch.setenv("BERTLAB_RUNS", str(tmp_path / "none"))
    app = open_page("training", runs=str(tmp_path), lang=language)
    drawn = ["loss", "masked_accuracy", "order_accuracy", "bits_per_character", "accuracy", "f1", "learning_rate"]
    assert [menu["name"] for menu in saved_figures(app)] == [f"training-curve-{metric}" for metric in drawn]
    charts = read_charts(app)
    named = [chart["layout"]["yaxis"]["title"]["text"] for chart in charts]
    assert named[2] == text("training-order_accuracy", language)
    assert named[4] == text("metric-accuracy", language)
    for menu, chart in zip(saved_figures(app), charts, strict=True):
        assert trace_values(json.loads(draw_from_code(menu["code"], monkeypatch).to_json())) == trace_values(chart)


def test_every_metric_has_a_name():
    assert {f"training-{name}" for name in curves.METRICS.keys() - curves.TASK_METRICS.keys()} <= list_message_ids()
    assert {f"metric-{name}" for name in curves.TASK_METRICS} <= list_message_ids()


# -- the time machine ----------------------------------------------------------------------------------------------


def test_the_time_machine_opens_the_shipped_run(shipped, shipped_runs):
    app = open_page("time_machine", at="10", against="0")
    assert not errors(app)
    assert app.selectbox(key="run").value == "learner"
    views = [element for element in app.get("bidi_component") if element.proto.component_name == "bertlab_timeline"]
    assert len(views) == 1
    assert (app.query_params["at"], app.query_params["against"]) == ("10", "0")
    subject = payload.unpack(views[0].proto.bytes)[0]["options"]["subject"]
    assert subject["run"] == "learner"
    assert subject["text"] == app.text_input(key="then.en.a").value


@pytest.mark.parametrize(("language", "run"), [("en", "learner"), ("ko", "student")])
def test_the_time_machine_opens_on_a_run_of_the_reader_s_language(shipped, runs, tmp_path, monkeypatch, language, run):
    for name in ("learner", "student"):
        shutil.copytree(runs / "learner", tmp_path / name)
    monkeypatch.setenv("BERTLAB_RUNS", str(tmp_path))
    read_language = training_runs.read_language
    monkeypatch.setattr(
        training_runs, "read_language", lambda run: "ko" if run.name == "student" else read_language(run)
    )
    app = open_page("time_machine", lang=language)
    assert not errors(app)
    assert app.selectbox(key="run").value == run


def test_run_without_snapshots_is_reported_in_one_line(shipped, monkeypatch, tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "log.jsonl").write_text('{"step": 1, "loss": 5.0}\n')
    monkeypatch.setenv("BERTLAB_RUNS", str(tmp_path))
    app = open_page("time_machine")
    assert len(errors(app)) == 1
    assert "no snapshots" in errors(app)[0]


@pytest.mark.parametrize("name", ["/nowhere", "~nobody-of-that-name", "<img src=x>", "a\0b", "x" * 5000])
def test_missing_run_is_reported_in_one_line(shipped, shipped_runs, name):
    app = open_page("time_machine", run=name)
    assert len(errors(app)) == 1
    assert "<img" not in errors(app)[0]


def test_a_text_too_long_for_the_time_machine_is_reported_in_one_line(shipped, shipped_runs):
    app = open_page("time_machine", **{"then.en.a": "tea and bread " * 60})
    assert len(errors(app)) == 1
    assert "64" in errors(app)[0]


# -- before and after ----------------------------------------------------------------------------------------------


def test_two_checkpoints_side_by_side(shipped):
    app = open_page("compare")
    assert not errors(app)
    names = ["heads", "head", "drift", "moved-most"]
    assert [menu["name"] for menu in saved_figures(app)] == [f"compare-{name}" for name in names]
    app.select_slider(key="moved").set_value(0).run()
    assert app.query_params["moved"] == "0"


def test_comparing_inputs_of_different_length_reports_the_tokens_left_out(shipped):
    app = open_page("compare", between="inputs", a="green tea and bread", b="", a2="tea and bread", b2="")
    assert text("compare-tokens-left-out", first=1, second=0) in page_text(app)
    assert len(read_charts(app)) == 4
    app.text_input(key="a2").set_value("기차는 아침 일곱 시에 떠난다").run()
    assert len(errors(app)) == 1
    assert text("compare-nothing-shared") in errors(app)[0]


def test_the_checkpoint_that_compares_two_texts_can_be_chosen_on_the_page(shipped):
    app = open_page("compare", between="inputs", checkpoint="scratch")
    field = app.selectbox(key="compare.checkpoint")
    assert field.value == "scratch", "the field starts with the checkpoint of the sidebar"
    assert not field.disabled
    assert {menu["subject"]["checkpoint"] for menu in saved_figures(app)} == {"scratch"}
    field.set_value("squad").run()
    assert not app.exception, app.exception[0].message
    assert not errors(app)
    assert app.query_params["compare.checkpoint"] == "squad"
    assert {menu["subject"]["checkpoint"] for menu in saved_figures(app)} == {"squad"}
    assert app.selectbox(key="checkpoint").value == "scratch", "other pages still use the checkpoint of the sidebar"


def test_missing_checkpoint_is_reported_and_the_fields_stay(shipped):
    app = open_page("compare", after="/nowhere")
    assert len(errors(app)) == 1
    assert app.selectbox(key="after").value == "/nowhere"

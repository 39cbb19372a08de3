"""The page Faster serving: it shows the newest run of each task, and how to make one if there is none."""

import pytest
from support.figures import draw_from_code, read_charts, saved_figures, trace_values
from support.pages import bodies, errors, open_page
from support.serving_runs import make_run
from support.texts import text

from bertlab.abilities.cost import serving_rows as serve_rows
from bertlab.abilities.cost.serving_rows import PEERS, STEPS, append_run
from bertlab.config.languages import render
from bertlab.views.numbers import signed


@pytest.fixture
def rows(tmp_path, monkeypatch):
    path = tmp_path / "serving.jsonl"
    monkeypatch.setattr(serve_rows, "ROWS_PATH", path)
    return path


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_shows_every_step_with_its_reason(shipped, rows, language):
    append_run(make_run(), rows)
    app = open_page("serving", lang=language)
    assert not app.exception
    assert not errors(app)
    values = {metric.label: metric.value for metric in app.metric}
    assert values[render("serving-throughput", language)] == "70×"
    assert values[render("serving-change", language)] == render("serving-points", language, points=signed(-1.0, 2))
    (chart,) = read_charts(app)
    assert [round(value) for value in trace_values(chart)[0]["x"]] == [10, 60, 100, 100, 100, 700, 100, 100, 100]
    assert trace_values(chart)[0]["text"][5].endswith("700/s · 70×" if language == "en" else "700개 · 70×")
    blocks = "".join(bodies(app))
    for name in (*STEPS, *PEERS):
        assert render(f"figure-serving-{name}", language) in blocks
    assert "6 x 384" in blocks
    captions = [caption.value for caption in app.caption]
    assert render("serving-published", language, accuracy="92.7%", gap="4.7") in captions


def test_the_latency_of_another_task_is_in_the_address(shipped, rows, monkeypatch):
    append_run(make_run(), rows)
    append_run(make_run(task="nsmc", base="mine"), rows)
    app = open_page("serving", **{"serving-task": "nsmc", "serving-shown": "latency"})
    assert not errors(app)
    (chart,) = read_charts(app)
    assert trace_values(chart)[0]["text"] == ["2.0 ms"] * 9
    assert not any("92.7" in caption.value or "90.6" in caption.value for caption in app.caption)
    (saved,) = saved_figures(app)
    figure = draw_from_code(saved["code"], monkeypatch)
    assert list(figure.data[0].text) == ["2.0 ms"] * 9


@pytest.mark.parametrize(("language", "texts"), [("en", "sst2"), ("ko", "nsmc")])
def test_texts_in_the_language_of_the_interface_come_first(shipped, rows, language, texts):
    append_run(make_run(), rows)
    append_run(make_run(task="nsmc", base="mine"), rows)
    app = open_page("serving", lang=language)
    choice = next(group for group in app.button_group if group.label == render("serving-task", language))
    assert choice.options[0] == render(f"serving-task-{texts}", language)


def test_without_a_run_the_page_names_the_command(shipped, rows):
    app = open_page("serving")
    assert not app.exception
    assert app.code[0].value == "bertlab bench serve sst2 --record"
    assert any(text("serving-no-runs").split(".")[0] in body for body in bodies(app))


def test_a_damaged_file_is_one_line(shipped, rows):
    rows.write_text("{}\n")
    app = open_page("serving")
    assert not app.exception
    assert len(errors(app)) == 1

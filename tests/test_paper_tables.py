"""Tables 1 to 4 of the paper: published results, averages, and the command that puts ours beside them."""

import json
import shutil
from dataclasses import replace

import pytest
from bertlab_app.data.paper_results import find_results
from support.errors import command_error, raises_error
from support.figures import read_charts
from support.pages import bodies, errors, open_example_page
from support.task_rows import directory_of
from support.texts import text

from bertlab.cli import main
from bertlab.config.errors import BertlabError
from bertlab.config.korean_results import PUBLISHED_KOREAN
from bertlab.config.languages import render
from bertlab.config.paper import (
    COLUMNS,
    GLUE_METRICS,
    PUBLISHED,
    TASKS,
    compute_glue_average,
    compute_glue_task_scores,
    compute_paper_average,
)
from bertlab.config.tasks import get_task
from bertlab.training.paper.benchmarks import BENCHMARK_TABLES, summarise_benchmark
from bertlab.training.paper.config import ReproduceConfig
from bertlab.training.paper.reproduce import list_cells, read_benchmark, reproduce
from bertlab.views import benchmarks

WNLI = 62.3  # of all small models, in the README that publishes them
FIGURES = {"f1": 80.0, "accuracy": 70.0}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tasks")
    for name in ("mrpc", "rte", "mnli", "comve", "squad"):
        directory_of(directory / name, get_task(name))
    return directory


def make_config(data, out, checkpoint, **changes) -> ReproduceConfig:
    settings = {
        "table": "table1", "out": out, "data": data, "from_": str(checkpoint), "quick": True, "max_tokens": 32,
        "device": "cpu",
    }  # fmt: skip
    return ReproduceConfig(**{**settings, **changes})


# -- published results and averages ------------------------------------------------------------------------------


def test_glue_counts_a_task_with_two_metrics_as_their_mean():
    values = dict.fromkeys([f"{name}.{metric}" for name, metrics in GLUE_METRICS.items() for metric in metrics], 50.0)
    values |= {"mrpc.f1": 90.0, "mrpc.accuracy": 80.0, "mnli.accuracy": 70.0, "mnli.mismatched_accuracy": 72.0}
    # 85 for MRPC, 71 for MNLI and 50 for each of the other six
    assert compute_glue_average(values) == pytest.approx((85 + 71 + 6 * 50) / 8)
    del values["mrpc.accuracy"]
    assert "mrpc" not in compute_glue_task_scores(values)
    assert compute_glue_average(values) is None


@pytest.mark.parametrize("row", PUBLISHED["table1"], ids=lambda row: row.title)
def test_averages_of_the_published_rows_are_the_published_ones(row):
    if row.source.startswith("arXiv"):
        assert compute_paper_average(row.values) == pytest.approx(row.average, abs=0.051)
        assert compute_glue_average(row.values) is None
    else:
        scores = compute_glue_task_scores(row.values)
        assert len(scores) == 8
        assert (sum(scores.values()) + WNLI) / 9 == pytest.approx(row.average, abs=0.06)


def test_the_average_of_the_paper_needs_all_nine_columns():
    values = dict(PUBLISHED["table1"][0].values)
    del values["rte.accuracy"]
    assert compute_paper_average(values) is None


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_and_published_values_name_metrics_of_the_catalogue(table):
    for column in COLUMNS[table]:
        assert column.metric.removeprefix("mismatched_") in get_task(column.task).metrics
    for row in PUBLISHED[table]:
        assert row.split in ("test", "dev")
        assert all(name.partition(".")[0] in BENCHMARK_TABLES[table].columns for name in row.values)
    for each in TASKS:
        assert len(each.text_example) >= len(get_task(each.name).text) or get_task(each.name).kind == "multiple_choice"


# -- rows --------------------------------------------------------------------------------------------------------


def test_missing_columns_are_named_and_no_average_is_shown():
    table = summarise_benchmark("table1", "mine", {"mrpc": [{"figures": FIGURES}], "rte": [{"figures": FIGURES}]})
    assert [column["title"] for column in table["columns"]] == [column.title for column in COLUMNS["table1"]]
    assert table["missing"] == ["MNLI-m", "MNLI-mm", "QQP F1", "QNLI", "SST-2", "CoLA Matthews", "STS-B Spearman"]
    ours = table["rows"][-1]
    assert (ours["split"], ours["paper_average"], ours["glue_average"]) == ("validation", None, None)
    assert "only 2 of 8 tasks" in table["sentence"]
    assert "mine 75.0" in table["sentence"]
    assert "BERT base 77.7" in table["sentence"], "the mean of MRPC (88.9) and RTE (66.4)"
    line = next(line for line in benchmarks.markdown(table) if line.startswith("| mine"))
    assert line == "| mine | validation | – | – | – | – | – | – | – | 80.0 | 70.0 | – | – |"


def test_a_complete_row_has_both_averages_and_its_spread():
    figures = {"mismatched_accuracy": 60.0, "matthews": 10.0, "spearman": 80.0, "pearson": 82.0} | FIGURES
    seeds = [{"figures": figures}, {"figures": figures | {"matthews": 20.0}}]
    table = summarise_benchmark("table1", "mine", dict.fromkeys(GLUE_METRICS, seeds))
    ours = table["rows"][-1]
    assert table["missing"] == []
    assert ours["values"]["cola.matthews"] == 15.0
    assert ours["spreads"]["cola.matthews"] == pytest.approx(7.07, abs=0.01)
    assert ours["glue_average"] == pytest.approx((65 + 75 + 70 + 70 + 15 + 81 + 75 + 70) / 8)
    assert "15.0 ± 7.1" in "\n".join(benchmarks.markdown(table))


def test_comve_is_named_as_what_it_is_and_swag_as_missing():
    table = summarise_benchmark("table4", "mine", {"comve": [{"figures": {"accuracy": 72.1}}]})
    assert [column["title"] for column in table["columns"]] == ["SWAG", "ComVE (not in the paper)"]
    assert table["missing"] == ["SWAG"]


def test_the_figure_has_a_group_of_points_for_every_row():
    table = summarise_benchmark("table2", "<b>mine", {"squad": [{"figures": {"exact_match": 10.0, "f1": 20.0}}]})
    traces = benchmarks.figure(table).data
    assert len(traces) == len(PUBLISHED["table2"]) + 1
    assert list(traces[-1].y) == [10.0, 20.0]
    assert "<b>" not in traces[-1].name


# -- the command -------------------------------------------------------------------------------------------------


def test_only_tasks_at_hand_are_computed(data, tmp_path, tiny_checkpoint):
    config = make_config(data, tmp_path / "out", tiny_checkpoint)
    assert [cell.column for cell in list_cells(config)] == ["mnli", "mrpc", "rte"]
    assert [cell.column for cell in list_cells(replace(config, table="table4"))] == ["comve"]
    with raises_error(BertlabError, "reproduce-task-not-found", task="cola"):
        list(reproduce(replace(config, columns=("cola",))))
    with raises_error(BertlabError, "reproduce-task-not-found", task="squad_v2"):
        list(reproduce(replace(config, table="table3")))


def test_without_data_every_task_on_the_hub_is_a_column(tmp_path, tiny_checkpoint):
    config = make_config(None, tmp_path / "out", tiny_checkpoint)
    assert [cell.column for cell in list_cells(config)] == list(GLUE_METRICS)
    assert [cell.column for cell in list_cells(replace(config, table="table4"))] == ["swag"]


def test_the_command_fills_a_table_and_continues_it(data, tmp_path, tiny_checkpoint, capsys):
    words = ["reproduce", "table1", "--data", str(data), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "t1")]
    words += ["--quick", "--max-tokens", "32", "--device", "cpu"]
    assert main([*words, "--columns", "rte"]) == 0
    assert "only 1 of 8 tasks" in capsys.readouterr().out
    first = (tmp_path / "t1" / "ours-seed0" / "rte.json").read_text()
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "| BERT base | test | 84.6 | 83.4 | 71.2 |" in printed
    assert "Missing: QQP F1, QNLI, SST-2" in printed
    assert (tmp_path / "t1" / "ours-seed0" / "rte.json").read_text() == first
    table = json.loads((tmp_path / "t1" / "table1.json").read_text())
    assert {"mnli.accuracy", "mnli.mismatched_accuracy", "mrpc.f1", "rte.accuracy"} <= set(table["rows"][-1]["values"])
    assert "plotly" in (tmp_path / "t1" / "table1.html").read_text()


def test_squad_has_both_columns(data, tmp_path, tiny_checkpoint):
    config = make_config(data, tmp_path / "out", tiny_checkpoint, table="table2", epochs=0.5)
    assert [progress.activity for progress in reproduce(config)][-1] == "done"
    table = read_benchmark(config)
    assert set(table["rows"][-1]["values"]) >= {"squad.exact_match", "squad.f1"}
    assert table["missing"] == []


def test_the_grid_selects_the_best_of_its_runs(data, tmp_path, tiny_checkpoint, monkeypatch):
    monkeypatch.setattr("bertlab.training.hyperparameter_search.PAPER_LEARNING_RATES", (1e-3, 1e-9))
    monkeypatch.setattr("bertlab.training.hyperparameter_search.PAPER_BATCH_SIZES", (16,))
    monkeypatch.setattr("bertlab.training.hyperparameter_search.PAPER_EPOCHS", (1.0,))
    config = make_config(data, tmp_path / "out", tiny_checkpoint, quick=False, grid=True, columns=("rte",))
    shares = [progress.done for progress in reproduce(config)]
    assert shares == sorted(shares)
    cell = json.loads((tmp_path / "out" / "ours-seed0" / "rte.json").read_text())
    runs = [json.loads(line) for line in (tmp_path / "out/ours-seed0/rte/grid.jsonl").read_text().splitlines()]
    assert cell["runs"] == len(runs) == 2
    assert cell["value"] == max(run["figures"]["accuracy"] for run in runs)
    assert list(reproduce(config)) == []


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (["table1", "--quick", "--grid"], "reproduce-quick-with-grid"),
        (["table7", "--grid"], "reproduce-flag-for-benchmarks"),
        (["table1", "--columns", "wnli"], "reproduce-column-unknown"),
        (["table1", "--data", "{data}/nowhere"], "reproduce-data-not-found"),
    ],
)
def test_settings_that_do_not_fit_are_reported_before_training(words, id, data, tmp_path, tiny_checkpoint):
    words = [word.format(data=data) for word in words] + ["--from", str(tiny_checkpoint)]
    assert command_error("reproduce", *words, "--out", str(tmp_path / "out")).id == id


def test_help_lists_the_tables_and_their_flags(capsys):
    assert main(["reproduce", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for part in ("{table1,table2,table3,table4,table5", "--quick", "--grid", "table1: GLUE", "appendix A.3"):
        assert part in printed


# -- the page ----------------------------------------------------------------------------------------------------

RECORDS = {
    "sst2": ("sst2", {"accuracy": 88.76, "examples": 872}),
    "squad": ("squad_v2", {"exact_match": 61.6, "f1": 63.9, "total": 6307}),
    "comve": ("comve", {"accuracy": 72.1, "examples": 997}),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, checkpoints):
    """A copy of `checkpoints` whose records contain results on the tasks of the paper."""
    directory = shutil.copytree(checkpoints, tmp_path_factory.mktemp("recorded") / "checkpoints")
    for name, (objective, metrics) in RECORDS.items():
        path = directory / name / "bertlab.json"
        changes = {"objectives": [objective], "validation": metrics}
        if name == "squad":
            changes["other_tasks"] = {"squad": {"metrics": {"f1": 78.5, "total": 5665}, "measured_on": "v1.1"}}
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return directory


@pytest.fixture(autouse=True)
def results(recorded, monkeypatch):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(recorded))


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("name", ["mnli", "sst2", "squad_v2", "swag"])
def test_page_shows_an_example_and_the_published_results(name, language):
    app = open_example_page("paper", lang=language, **{"paper-task": name})
    assert not app.exception
    assert not errors(app)
    example = next(each for each in TASKS if each.name == name)
    assert any(example.text_example[0] in body and example.answer in body for body in bodies(app))
    assert any(metric.value == f"{example.training_rows:,}" for metric in app.metric)
    (chart,) = read_charts(app)
    systems = " ".join(chart["data"][0]["customdata"])
    assert "BERT large" in systems
    assert render("figure-split-validation", language) in systems or name in ("mnli", "swag")
    overview = next(body for body in bodies(app) if "rows-frame" in body)
    assert overview.count("<tr>") == 1 + len(TASKS)


def test_page_names_the_command_where_a_checkpoint_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = open_example_page("paper", **{"paper-task": "rte"})
    assert any(text("paper-no-checkpoint", task="RTE") in body for body in bodies(app))
    assert any("bertlab finetune rte --from strongest" in code.value for code in app.code)
    assert {button.key for button in app.button} == {"qr-code", "undo"}, "no button opens an example"


@pytest.mark.parametrize(
    ("name", "field", "value", "checkpoint"),
    [
        ("sst2", "judged", 0, "sst2"),
        ("squad", "question", 1, "squad"),
        ("squad_v2", "passage", 0, "squad"),
        ("swag", "ending3", 4, "comve"),
    ],
)
def test_button_opens_the_example_in_the_page_that_answers_it(name, field, value, checkpoint):
    app = open_example_page("paper", **{"paper-task": name})
    app.button[0].click().run()
    assert not app.exception
    example = next(each for each in TASKS if each.name == name)
    values = app.session_state["url.values"]
    assert values[field] == example.text_example[value]
    assert values["checkpoint"] == checkpoint


def test_overview_shows_our_best_result_and_the_published_ones():
    rows = {row.title: row for row in PUBLISHED["table1"]}
    app = open_example_page("paper")
    overview = next(body for body in bodies(app) if "rows-frame" in body)
    sst2 = next(row for row in overview.split("<tr>") if ">SST-2<" in row)
    assert "88.8" in sst2
    assert f"{rows['BERT base'].values['sst2.accuracy']}" in sst2
    mnli = next(row for row in overview.split("<tr>") if ">MNLI<" in row)
    assert mnli.endswith("–</td></tr>")


def test_korean_table_shows_published_results_and_ours(results, recorded):
    path = recorded / "sst2" / "bertlab.json"
    record = json.loads(path.read_text())
    try:
        path.write_text(json.dumps(record | {"objectives": ["nsmc"], "validation": {"accuracy": 84.36}}))
        app = open_example_page("paper", lang="ko")
    finally:
        path.write_text(json.dumps(record))
    assert not app.exception
    table = [body for body in bodies(app) if "rows-frame" in body][-1]
    ours, *published = table.split("<tr>")[2:]
    assert "84.36" in ours
    assert len(published) == len(PUBLISHED_KOREAN)
    assert "kpfBERT" in published[0]
    assert "87.67" in published[0]


def test_a_checkpoint_that_was_also_evaluated_on_another_task_has_a_result_there():
    (squad,) = [result for result in find_results() if result.task == "squad" and result.system == "squad"]
    assert (squad.num_rows, squad.values["squad.f1"]) == (5665, 78.5)


def test_results_of_a_reproduced_table_are_on_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = tmp_path / "runs" / "t1" / "ours-seed0"
    cells.mkdir(parents=True)
    (cells.parent / "reproduce.json").write_text(json.dumps({"table": "table1", "from_": "scratch"}))
    (cells / "rte.json").write_text(json.dumps({"figures": {"accuracy": 56.7, "examples": 277}}))
    (cells / "mrpc.json").write_text("{")
    (result,) = [result for result in find_results() if result.system == "t1: scratch"]
    assert (result.task, result.values["rte.accuracy"], result.num_rows, result.source) == ("rte", 56.7, 277, "")
    app = open_example_page("paper", **{"paper-task": "rte"})
    (chart,) = read_charts(app)
    assert any("t1: scratch" in label for label in chart["data"][0]["customdata"])
    assert any("277" in caption.value for caption in app.caption)

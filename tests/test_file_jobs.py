"""Jobs on whole files: rows, results, resuming, the process of the server, and the panel of the pages."""

import csv
import gzip
import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bertlab_app import access
from bertlab_app.classroom import current, roles
from bertlab_app.data import background, file_jobs, file_worker
from support.errors import raises_error
from support.pages import bodies, errors, open_page
from support.texts import text as interface_text

import bertlab
from bertlab.abilities.files import predictions as file_predictions
from bertlab.abilities.files import results as file_results
from bertlab.abilities.files.predictions import FileJob
from bertlab.cli.app import CLASSROOM_ADDRESS, CLASSROOM_KEY, CLASSROOM_LESSON
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.languages import Message
from bertlab.text.readers import file_scan
from bertlab.text.readers.file_scan import scan_file

ROWS = (
    "id,text,predicted\n1,Green tea.,a\n2,,b\n3,漢字 🙂 ᄒᆞᆫ글,c\n4,too short\n5,".encode()
    + b"br\xffoken,d\n6,"
    + b"tea " * 300
    + b",e\n7,Green tea.,f\n"
)


@pytest.fixture
def job(tmp_path, shipped):
    """job(content, command, name, settings) is the directory of a job on such a file."""

    def make(content: bytes, command: str = "classify", name: str = "input.csv", **settings):
        directory = tmp_path / "job"
        directory.mkdir(exist_ok=True)
        (directory / name).write_bytes(content)
        num_rows = scan_file(directory / name).num_rows
        settings = {"column": "text", "checkpoint": "sst2", "num_rows": num_rows} | settings
        file_predictions.write_job(directory, FileJob(name, name, command, **settings))
        return directory

    return make


@pytest.fixture
def server(tmp_path, monkeypatch, shipped):
    """An empty run directory, and no job."""
    monkeypatch.chdir(tmp_path)
    file_jobs._background_process.cache_clear()
    yield
    file_jobs._background_process().cancel()
    file_jobs._background_process.cache_clear()


def test_a_row_that_cannot_be_used_is_named_and_the_others_are_predicted(job):
    directory, judge = job(ROWS, language="ko"), bertlab.load("sst2")
    state = file_predictions.run_job(judge, directory)
    assert (state.status, state.done) == ("finished", 7)
    unusable = file_results.read_unusable(directory, 10)
    assert [row for row, _ in unusable] == [3, 4, 5, 6, 7]
    assert "0xff" in unusable[3][1]
    assert state.unusable == len(unusable)
    table = file_results.read_results(directory).to_pylist()
    assert table[0]["predicted"] == "a", "a column of the file keeps its name"
    assert table[0]["predicted_2"] == judge.classify("Green tea.").best.label
    assert table[0]["probability"] == table[6]["probability"]
    assert table[2]["text"] == "漢字 🙂 ᄒᆞᆫ글"
    content = file_results.export_results(directory, ".csv").read_bytes()
    assert [row["row"] for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig")))] == list("2345678")
    assert pq.read_table(file_results.export_results(directory, ".parquet")).num_rows == 7


def test_a_row_of_unknown_tokens_is_named(job):
    """Its prediction would depend on nothing but the number of its tokens."""
    directory = job("text\n🙂🔥\nᄒᆞᆫ글\nGreen tea 🙂.\n".encode(), language="ko")
    assert file_predictions.run_job(bertlab.load("sst2"), directory).unusable == 2
    reason = str(Message("file-job-text-unknown").render("ko"))
    assert file_results.read_unusable(directory, 10) == [(2, reason), (3, reason)]


def test_a_cancelled_job_continues_after_its_last_stored_row(job, monkeypatch):
    directory, judge = job(b"text\n" + b"".join(b"Tea %d.\n" % n for n in range(50))), bertlab.load("sst2")
    monkeypatch.setattr(file_predictions, "PART_ROWS", 16)
    predict, calls = judge.classify, []

    def classify(text, pair=None):
        calls.append(text)
        if len(calls) == 20:
            (directory / file_predictions.CANCEL).touch()
        return predict(text, pair)

    object.__setattr__(judge, "classify", classify)  # a session is frozen
    assert file_predictions.run_job(judge, directory).status == "cancelled"
    assert file_results.count_results(directory) == 32
    (directory / file_predictions.CANCEL).unlink()
    assert file_predictions.run_job(judge, directory).status == "finished"
    assert calls == [f"Tea {n}." for n in range(50)], "no row is predicted twice"
    assert file_results.read_results(directory)["text"].to_pylist() == calls


@pytest.mark.parametrize(("command", "checkpoint", "column"), [
    ("tag", "wikiann_en", "predicted_entities"), ("answer", "squad", "answer"), ("embed", "strongest", "vector"),
])  # fmt: skip
def test_every_command_predicts_lines_and_equal_lines_once(job, command, checkpoint, column):
    content = b"Green tea.\n\n" + b"Rain fell on the harbour.\n" * 300
    directory = job(content, command, "input.txt", checkpoint=checkpoint, question="Who fell?")
    session = bertlab.load(bertlab.default_checkpoint(command))
    assert file_predictions.run_job(session, directory).done == 301
    table = file_results.read_results(directory).to_pylist()
    assert [row["row"] for row in table[:3]] == [1, 3, 4], "the number of the line in the file"
    assert table[1][column] == table[300][column]
    assert file_results.export_results(directory, ".csv").stat().st_size


@pytest.mark.parametrize(("name", "content", "id"), [
    ("a.csv", b"", "file-empty"),
    ("a.csv", b"text\n", "file-without-rows"),
    ("a.txt", b"\n \n", "file-empty"),
    ("a.txt", b"tea\n" * 31, "file-job-too-many-rows"),
    ("a.jsonl", b"tea\n", "no-usable-row"),
    ("a.xlsx", b"tea\n", "file-format-unknown"),
    ("a.txt.gz", gzip.compress(bytes(20 << 20)), "compression-ratio-too-high"),
])  # fmt: skip
def test_a_file_that_cannot_be_used_has_one_clear_error(tmp_path, monkeypatch, name, content, id):
    monkeypatch.setattr(file_scan, "MAX_ROWS", 30 if id == "file-job-too-many-rows" else file_scan.MAX_ROWS)
    (tmp_path / name).write_bytes(content)
    with raises_error(DataError, id):
        scan_file(tmp_path / name)


def test_a_small_parquet_file_may_not_repeat_a_long_text(tmp_path, monkeypatch):
    monkeypatch.setattr(file_scan, "MAX_CHARACTERS", 10_000)
    pq.write_table(pa.table({"text": ["tea " * 100] * 200}), tmp_path / "a.parquet")
    with raises_error(DataError, "file-job-too-large"):
        scan_file(tmp_path / "a.parquet")


def start_job(title: str = "a.csv", content: bytes = b"text\nGreen tea.\n") -> str:
    settings = FileJob("", title, "classify", str(bertlab.find_shipped_checkpoints()["sst2"]), "text", num_rows=1)
    return file_jobs.start(settings, lambda stream: stream.write(content))


def test_one_job_at_a_time_which_an_ended_process_interrupts(server, monkeypatch):
    start = subprocess.Popen
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(background.subprocess, "Popen", lambda _, **options: start(command, **options))
    id = start_job("../../차 *bold*.csv")
    assert file_jobs.find(id).is_running
    for action in (start_job, lambda: file_jobs.resume(id), lambda: file_jobs.delete(id)):
        with raises_error(BertlabError, "file-job-busy"):
            action()
    assert not file_jobs.find(id).is_cancelling
    file_jobs.cancel(id)
    assert file_jobs.find(id).is_cancelling
    file_jobs._background_process().cancel()
    assert file_jobs.find(id).state.status == "interrupted"
    file_jobs.resume(id)
    assert not file_jobs.find(id).is_cancelling
    file_jobs._background_process().cancel()
    monkeypatch.setattr(background.subprocess, "Popen", start)
    assert file_worker.work(file_jobs.find(id).directory) == 0, "its file and its settings are complete"
    assert file_jobs.find(id).state.status == "finished"
    file_jobs.delete(id)
    assert file_jobs.list_jobs("classify") == []
    for unknown in (id, "../files", ""):
        with raises_error(DataError, "file-job-not-found"):
            file_jobs.find(unknown)


def test_the_panel_starts_a_job_which_another_visit_finds(server, monkeypatch):
    started = []
    monkeypatch.setattr(file_jobs, "_start_process", started.append)
    app = open_page("classify", lang="ko")
    app.file_uploader(key="files-upload-classify").set_value(("rows.csv", ROWS, "text/csv")).run()
    assert app.selectbox(key="files-text-classify").value == "text"
    app.button(key="files-start").click().run()
    assert not app.exception, app.exception[0].message
    (directory,) = started
    chosen = file_predictions.read_job(directory).checkpoint
    assert chosen == str(bertlab.find_shipped_checkpoints()["sst2"]), "the file is English, although the page is Korean"
    assert app.query_params["job"] in (directory.name, [directory.name])
    file_worker.work(directory)
    again = open_page("classify", job=directory.name)
    assert list(again.dataframe[-1].value["row"]) == list(range(2, 9))
    assert json.loads(again.dataframe[-1].proto.columns)["predicted_2"]["label"] == interface_text("batch-predicted")
    assert "upload-classify" not in [field.key for field in again.file_uploader], "one place takes files"
    assert interface_text("files-finished", total=7) in "".join(bodies(again))
    again.text_input(key="judged").set_value(" ").run()
    assert errors(again)
    assert again.query_params["job"] in (directory.name, [directory.name]), "an error of the page hides no job"
    again.button(key="files-delete").click().run()
    assert "job" not in again.query_params
    assert not directory.exists()
    (line,) = errors(open_page("classify", job=directory.name))
    assert "deleted" in line


def test_without_a_common_name_the_column_with_the_most_words_is_proposed_and_predictions_stand_beside_it(
    server, shipped
):
    table = b"id,link,kopf\n1,https://example.org/a-long-address-without-spaces,Green tea\n2,b,Rain again\n"
    app = open_page("classify")
    app.file_uploader(key="files-upload-classify").set_value(("rows.csv", table, "text/csv")).run()
    assert app.selectbox(key="files-text-classify").value == "kopf"
    job = FileJob("", "rows.csv", "classify", "sst2", "kopf", num_rows=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_jobs, "_start_process", file_worker.work)
        id = file_jobs.start(job, lambda stream: stream.write(table))
    columns = list(open_page("classify", job=id).dataframe[-1].value.columns)
    assert columns[:4] == ["row", "kopf", "predicted", "probability"]
    assert columns[-2:] == ["id", "link"]


def test_students_see_no_panel_and_no_files(server, tmp_path, monkeypatch):
    id = start_job()
    file = file_jobs.find(id).directory / "input.csv"
    assert access.is_allowed(file)
    for name, value in (
        (CLASSROOM_LESSON, str(tmp_path / "tea.toml")),
        (CLASSROOM_KEY, "k" * 20),
        (CLASSROOM_ADDRESS, "http://x/"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(roles, "read_cookie", lambda name: "")
    (tmp_path / "tea.toml").write_text('title="T"\nminutes=1\n[[steps]]\ntitle="L"\nsay="S"\npage="classify"')
    current.open_store.cache_clear()
    assert not access.is_allowed(file)
    keys = {"files-close", "files-cancel", f"files-open-{id}"}
    assert not keys & {button.key for button in open_page("classify", job=id).button}
    assert keys & {button.key for button in open_page("classify", job=id, key="k" * 20).button}
    current.open_store.cache_clear()

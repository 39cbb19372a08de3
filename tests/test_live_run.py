"""Train a BERT live: who may start a run, one at a time, cancelled, and what it leaves."""

import subprocess
import sys
import time

import pytest
from bertlab_app.classroom import current, roles
from bertlab_app.data import background, live_run, live_worker
from support.errors import raises_error
from support.pages import bodies, open_page
from support.texts import text as interface_text

from bertlab.checkpoints import history
from bertlab.cli.app import CLASSROOM_ADDRESS, CLASSROOM_KEY, CLASSROOM_LESSON
from bertlab.config.errors import BertlabError


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """An empty run directory, and no live run."""
    monkeypatch.chdir(tmp_path)
    live_run._background_process.cache_clear()
    yield tmp_path / "runs"
    live_run.cancel()
    live_run._background_process.cache_clear()


@pytest.fixture
def sleeping(monkeypatch):
    """Replace the process of a run by one that sleeps."""
    start = subprocess.Popen
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(background.subprocess, "Popen", lambda _, **options: start(command, **options))


def test_one_run_at_a_time_and_cancel(runs, sleeping):
    live_run.start("en")
    assert live_run.is_running()
    with raises_error(BertlabError, "live-run-busy"):
        live_run.start("en")
    live_run.cancel()
    assert not live_run.is_running()
    assert live_run.find_error() is None, "a cancelled run has not failed"


def test_a_run_that_takes_much_too_long_is_stopped(runs, sleeping, monkeypatch):
    live_run.start("en")
    now = time.monotonic() + live_run.MAX_SECONDS + 1
    monkeypatch.setattr(live_run.time, "monotonic", lambda: now)
    assert not live_run.is_running()


@pytest.mark.parametrize("text", ["too short", "x" * (live_run.MAX_CHARACTERS + 1)])
def test_a_text_has_a_length(runs, text):
    with raises_error(BertlabError, "live-text-length"):
        live_run.start("en", text)
    assert not runs.exists()


def test_the_reason_of_a_failure_is_shown(runs, monkeypatch):
    start = subprocess.Popen
    command = [sys.executable, "-c", "print('bertlab: no words'); raise SystemExit(2)"]
    monkeypatch.setattr(background.subprocess, "Popen", lambda _, **options: start(command, **options))
    live_run.start("ko")
    live_run._background_process().process.wait()
    assert live_run.find_error() == "bertlab: no words"


@pytest.mark.slow
@pytest.mark.parametrize(("language", "is_own_text"), [("ko", False), ("en", True)])
def test_a_run_leaves_a_log_and_snapshots(runs, language, is_own_text, monkeypatch):
    monkeypatch.setattr(live_worker, "TRAINING_SECONDS", 1)
    monkeypatch.setattr(live_worker, "NUM_STORIES", 60)
    text = "\n\n".join(f"The cat {n} slept on the mat. It was tired. The dog saw it." for n in range(60)) * is_own_text
    run = runs / "live-1"
    sentence = live_run._mask_sentence(text or "그는 서울에서 태어났다.")
    assert sentence.count("[MASK]") == 1
    assert live_worker.train(str(run), language, text, sentence) == 0
    assert history.read_sample_predictions(history.read_log(run))
    assert history.find_snapshots(run)
    assert live_run.find_latest().resolve() == run.resolve()
    shown = "".join(bodies(open_page("train_live", lang=language)))
    last = [row["step"] for row in history.read_log(run) if history.is_step(row)][-1]
    values = {"step": f"{last:,}", "accuracy": "|"}
    line = interface_text("train-live-accuracy", language, **values).split("|")[0]
    assert line in shown, "the class reads the accuracy as a number"


def test_a_student_can_only_watch(runs, monkeypatch, tmp_path):
    for name, value in (
        (CLASSROOM_LESSON, str(tmp_path / "tea.toml")),
        (CLASSROOM_KEY, "k" * 20),
        (CLASSROOM_ADDRESS, "http://x/"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(roles, "read_cookie", lambda name: "")
    (tmp_path / "tea.toml").write_text('title="T"\nminutes=1\n[[steps]]\ntitle="L"\nsay="S"\npage="train-live"')
    current.open_store.cache_clear()
    assert "train-live-start" not in {button.key for button in open_page("train_live").get("button")}
    assert "train-live-start" in {button.key for button in open_page("train_live", key="k" * 20).get("button")}
    current.open_store.cache_clear()

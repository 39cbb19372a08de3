"""The file of a class: state and guesses, also after the server was killed."""

import csv
import io
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from support.errors import raises_error

from bertlab.classroom import store as module
from bertlab.classroom.store import ClassStore
from bertlab.config.errors import BertlabError


@pytest.fixture
def store(tmp_path):
    store = ClassStore(tmp_path / "classroom", "tea")
    yield store
    store.close()


def open_question(store, step=0):
    store.go_to(step)
    store.set_phase("open")


def test_only_an_open_question_of_the_current_step_takes_guesses(store):
    assert (store.get_state().step, store.get_state().phase) == (0, "closed")
    assert not store.record_guess("a", 0, "1")
    open_question(store, 2)
    assert store.record_guess("a", 2, "1")
    assert not store.record_guess("a", 1, "1"), "of another step"
    assert store.record_guess("a", 2, "3"), "until the reveal, a guess can be changed"
    assert store.record_guess("b", 2, "3")
    assert store.count_guesses(2) == {"3": 2}
    store.set_phase("revealed")
    assert not store.record_guess("a", 2, "1")
    assert (store.find_guess("a", 2), store.find_guess("c", 2)) == ("3", None)
    store.go_to(3)
    assert store.get_state().phase == "closed"
    store.go_to(2)
    assert store.get_state().phase == "revealed", "going back does not hide the answer again"


def test_the_file_holds_no_token_and_only_the_owner_can_read_it(store, tmp_path):
    open_question(store)
    store.record_guess("the-token-of-a-browser", 0, "1")
    store.record_presence("the-token-of-a-browser")
    file = tmp_path / "classroom" / module.FILE_NAME
    content = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"the-token-of-a-browser" not in content
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_csv_has_numbers_instead_of_participants(store):
    open_question(store)
    for token, value in (("a", "1"), ("b", "=HYPERLINK(1)"), ("c", "-2")):
        store.record_guess(token, 0, value)
    rows = list(csv.DictReader(io.StringIO(store.export_csv())))
    assert sorted(row["participant"] for row in rows) == ["1", "2", "3"]
    assert {row["guess"] for row in rows} == {"1", "'=HYPERLINK(1)", "-2"}
    assert {row["step"] for row in rows} == {"1"}


def test_delete_removes_the_guesses_from_the_file(store, tmp_path):
    open_question(store, 4)
    store.record_guess("a", 4, "a-rare-guess")
    store.delete_all()
    assert store.get_state().step == 0
    assert store.export_csv().count("\n") == 1
    content = b"".join(path.read_bytes() for path in (tmp_path / "classroom").iterdir())
    assert b"a-rare-guess" not in content


def test_presence_ends_after_a_while(store, monkeypatch):
    store.record_presence("a")
    store.record_presence("b")
    store.record_presence("b")
    assert store.count_present() == 2
    now = time.time() + module.PRESENT_SECONDS + 1
    monkeypatch.setattr(module.time, "time", lambda: now)
    store.record_presence("a")
    assert store.count_present() == 1


def test_a_class_of_yesterday_does_not_go_on(store, monkeypatch):
    store.go_to(3)
    before = store.get_state().id
    now = time.time() + module.RESUME_SECONDS + 1
    monkeypatch.setattr(module.time, "time", lambda: now)
    assert store.get_state().step == 0
    assert store.get_state().id != before


def test_guesses_and_step_survive_a_kill(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from bertlab.classroom.store import ClassStore\n"
        "store = ClassStore(Path(sys.argv[1]), 'tea'); store.go_to(2); store.set_phase('open')\n"
        "for number in range(30): store.record_guess(f'token-{number}', 2, str(number % 3))\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    server = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    os.kill(server.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    server.wait()
    store = ClassStore(tmp_path, "tea")
    assert (store.get_state().step, store.get_state().phase) == (2, "open")
    assert store.count_guesses(2) == {"0": 10, "1": 10, "2": 10}
    assert store.find_guess("token-4", 2) == "1"
    assert store.record_guess("token-4", 2, "2")
    store.close()


def test_a_file_that_is_no_database_is_an_error(tmp_path):
    (tmp_path / module.FILE_NAME).write_bytes(b"no database" * 200)
    with raises_error(BertlabError, "class-file-unusable"):
        ClassStore(tmp_path, "tea")

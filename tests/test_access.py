"""What a visitor may open: everything on the loopback address, a few directories on any other."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bertlab_app import access
from bertlab_app.data import sessions
from streamlit import config
from support.errors import raises_error
from support.pages import bodies, errors, open_page

from bertlab.config.errors import CheckpointError, DataError

SECRET = "the-secret-label"


@pytest.fixture
def restricted(monkeypatch):
    """The app as another machine reaches it."""
    config.set_option("server.address", "0.0.0.0")
    yield
    config.set_option("server.address", "localhost")


@pytest.fixture
def secrets(tmp_path) -> Path:
    """A directory that nobody has allowed, with a table in it."""
    directory = tmp_path / "secrets"
    directory.mkdir()
    (directory / "rows.csv").write_text(f"text,label\nGood.,{SECRET}\n")
    return directory


@pytest.mark.parametrize(
    ("address", "expected"),
    [("localhost", False), ("127.0.0.1", False), ("127.8.8.8", False), ("::1", False), ("0.0.0.0", True),
     ("192.168.1.7", True), ("::", True), ("classroom.example", True), (None, True)],
)  # fmt: skip
def test_only_loopback_addresses_are_unrestricted(address, expected):
    config.set_option("server.address", address)
    try:
        assert access.is_restricted() is expected
    finally:
        config.set_option("server.address", "localhost")


def test_visitors_open_only_shipped_files_the_run_directory_and_allowed_paths(
    restricted, shipped, shipped_runs, secrets, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert access.is_allowed(shipped / "scratch")
    assert access.is_allowed(shipped_runs / "learner")
    assert access.is_allowed("runs/mine/checkpoint")
    assert not access.is_allowed(secrets)
    assert not access.is_allowed("runs/../secrets")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link").symlink_to(secrets)
    assert not access.is_allowed("runs/link"), "a link is resolved before the check"
    monkeypatch.setenv(access.ALLOW, os.pathsep.join([str(secrets), str(tmp_path / "other")]))
    assert access.is_allowed(secrets / "rows.csv")


def test_missing_and_forbidden_paths_give_the_same_error(restricted, shipped, secrets):
    for name in (str(secrets), "/nowhere/at/all", "~", "~nobody-of-that-name", "a\0b", "x" * 5000, "some/hub-model"):
        with raises_error(CheckpointError, "checkpoint-not-allowed", name=access.shorten(name)):
            sessions.find_checkpoint(name)
    for name in (secrets / "rows.csv", "/nowhere/at/all.csv", "~", "/etc"):
        with raises_error(DataError, "path-not-allowed", path=str(name)):
            access.check_path(name)


def test_a_hub_model_needs_the_owner_s_permission(restricted, shipped, monkeypatch):
    with raises_error(CheckpointError, "checkpoint-not-allowed"):
        access.check_checkpoint("google-bert/bert-base-uncased")
    monkeypatch.setenv(access.ALLOW_HUB, "1")
    access.check_checkpoint("google-bert/bert-base-uncased")
    with raises_error(CheckpointError, "checkpoint-not-allowed"):
        access.check_checkpoint("/etc")


def test_pages_open_no_other_paths(restricted, shipped, shipped_runs, runs, secrets):
    rows = open_page("evaluation", measure="classify", rows=str(secrets / "rows.csv"), **{"from": "path"})
    missing = open_page("evaluation", measure="classify", rows=str(secrets / "none.csv"), **{"from": "path"})
    assert not any(SECRET in body or "unknown label" in body for body in bodies(rows))
    assert [body.replace("rows.csv", "") for body in errors(rows)] == [
        body.replace("none.csv", "") for body in errors(missing)
    ]
    assert len(errors(rows)) == 1
    home = open_page("input", checkpoint="~")
    assert len(errors(home)) == 1
    assert not any(str(Path.home()) in body for body in bodies(home))
    for page, name in (("compare", "before"), ("time_machine", "run")):
        app = open_page(page, **{name: str(secrets)})
        assert len(errors(app)) == 1


def test_training_draws_no_runs_of_other_directories(restricted, shipped, shipped_runs, runs, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "hidden-run").mkdir()
    (tmp_path / "private" / "hidden-run" / "log.jsonl").write_text(json.dumps({"step": 1, "loss": 1.0}) + "\n")
    page = open_page("training", runs=str(tmp_path / "private"))
    missing = open_page("training", runs=str(tmp_path / "nowhere"))
    assert not any("hidden-run" in body for body in bodies(page))
    assert [error.replace("private", "") for error in errors(page)] == [
        error.replace("nowhere", "") for error in errors(missing)
    ]


@pytest.mark.slow
@pytest.mark.browser
def test_another_machine_cannot_read_files_of_the_server(chromium, checkpoints, secrets, tmp_path):
    """A real server on every address, reached by the address that other machines use."""
    host = socket.gethostbyname(socket.gethostname())
    with socket.socket() as listener:
        listener.bind(("", 0))
        port = listener.getsockname()[1]
    environment = {**os.environ, "BERTLAB_CHECKPOINTS": str(checkpoints), "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "bertlab", "app", "--host", "0.0.0.0", "--port", str(port), "--no-browser"]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL) as server:
        try:
            _wait_for(host, port)
            page = chromium.new_page()
            for address in (
                f"evaluation?measure=classify&from=path&rows={secrets}/rows.csv",
                f"input?checkpoint={secrets}",
                "input?checkpoint=~",
            ):
                page.goto(f"http://{host}:{port}/{address}")
                alert = page.locator("[role=alert]")
                alert.first.wait_for(timeout=60_000)
                assert alert.count() == 1
                assert SECRET not in page.inner_text("body")
                assert str(Path.home()) not in page.inner_text("body")
        finally:
            server.terminate()


def _wait_for(host: str, port: int) -> None:
    for _ in range(300):
        with socket.socket() as connection:
            if connection.connect_ex((host, port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("the server did not start")

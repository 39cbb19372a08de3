"""What keeps the server usable: unforeseen errors as one line, more open files, a log without repetitions."""

import gc
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bertlab_app import calls, server
from bertlab_app.data import cached_results
from support.pages import errors, open_page

from bertlab.config.crash_log import find_log_path

ROOT = Path(__file__).parent.parent


class Panic(BaseException):
    """Like the panic of a Rust library, which is not an `Exception`."""


@pytest.mark.parametrize("kind", [RuntimeError, Panic, RecursionError])
@pytest.mark.parametrize(
    ("page", "module", "function"),
    [("tag", calls, "call_session"), ("attention", cached_results, "pack_attention"), ("heads", calls, "call_session")],
)
def test_an_unforeseen_exception_becomes_one_line_with_an_id(
    shipped, monkeypatch, tmp_path, kind, page, module, function
):
    def fail(*_, **__):
        raise kind("secret detail\nsecond line")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(module, function, fail)
    app = open_page(page)
    (line,) = errors(app)
    assert "secret" not in line
    assert "Traceback" not in line
    log = find_log_path().read_text()
    id = next(word for word in log.split() if len(word) == 6 and word in line)
    assert f"{id} page {page}" in log
    assert "secret detail" in log


def test_the_soft_limit_of_open_files_is_raised():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = min(256, soft)
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
    try:
        expected = 1024 if hard == resource.RLIM_INFINITY else min(1024, hard)
        assert server.raise_open_file_limit(1024) == expected
        assert server.raise_open_file_limit(512) == expected, "a higher limit stays"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_repeated_message_is_logged_a_few_times_a_minute():
    filter = server.RepeatFilter()
    records = [logging.LogRecord("asyncio", logging.ERROR, "", 0, "out of files", (), None) for _ in range(1000)]
    assert sum(map(filter.filter, records)) <= 2 * server.MAX_REPEATS
    assert filter.filter(logging.LogRecord("asyncio", logging.ERROR, "", 0, "another message", (), None))


def test_two_threads_never_import_slow_modules_at_the_same_time(monkeypatch):
    running, overlaps = [], []

    def import_slowly(name):
        running.append(name)
        overlaps.append(len(running))
        time.sleep(0.02)
        running.remove(name)

    monkeypatch.setattr(server, "import_module", import_slowly)
    threads = [threading.Thread(target=server.import_slow_modules) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(overlaps) >= 3 * len(server.SLOW_MODULES)
    assert set(overlaps) == {1}


def test_after_the_slow_imports_no_collection_visits_the_objects_so_far(monkeypatch):
    monkeypatch.setattr(server, "import_module", lambda name: None)
    kept = [[number] for number in range(1000)]
    frozen = gc.get_freeze_count()
    server._import_and_freeze()
    assert gc.get_freeze_count() >= frozen + len(kept)


def test_pandas_is_complete_before_a_page_is_drawn(checkpoints):
    """Plotly fails on a pandas that another thread is still importing."""
    script = """
import sys
from streamlit.testing.v1 import AppTest
from bertlab_app import skeleton
from bertlab_app.widgets import components
complete = []
apply_style = components.apply_style
components.apply_style = lambda: (complete.append(hasattr(sys.modules.get("pandas"), "DataFrame")), apply_style())
AppTest.from_file("app/streamlit_app.py", default_timeout=300).run()
assert complete == [True], complete
"""
    environment = os.environ | {"BERTLAB_CHECKPOINTS": str(checkpoints)}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, env=environment)

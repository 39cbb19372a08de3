"""What keeps the server usable: unforeseen errors as one line, more open files, a log without repetitions."""

import logging

import pytest
from support.pages import errors, open_page

from bertlab.app import server
from bertlab.app.data import sessions
from bertlab.config.crash_log import find_log_path


class Panic(BaseException):
    """Like the panic of a Rust library, which is not an `Exception`."""


@pytest.mark.parametrize("kind", [RuntimeError, Panic, RecursionError])
@pytest.mark.parametrize(
    ("page", "function"), [("tag", "compute"), ("attention", "pack_attention"), ("heads", "compute_head_effects")]
)
def test_an_unforeseen_exception_becomes_one_line_with_an_id(shipped, monkeypatch, tmp_path, kind, page, function):
    def fail(*_, **__):
        raise kind("secret detail\nsecond line")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(sessions, function, fail)
    app = open_page(page)
    assert not app.exception
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

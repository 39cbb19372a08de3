"""`bertlab serve` as a process: worker processes, overload, time limits, and stopping."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from benchmarks.serve_load import ServeLoadBenchConfig, Server, measure, run_server
from bertlab.session import load

TEXTS = [f"The keeper of mill {number} carried the lantern." + number % 7 * " Rain fell." for number in range(40)]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, to find the workers")


@pytest.fixture(scope="module")
def expected(checkpoints) -> dict[str, float]:
    """Text -> the probability of its first label."""
    session = load(checkpoints / "sst2")
    return {text: session.classify(text).labels[0].probability for text in TEXTS}


@pytest.fixture(scope="module")
def server(checkpoints):
    # a busy machine takes long to start workers
    with run_server(str(checkpoints / "sst2"), "--workers", "2", "--time-limit", "200") as server:
        yield server


def classify(server: Server, text: str) -> httpx2.Response | None:
    """The reply to a request; None if the server does not listen."""
    try:
        return httpx2.post(f"{server.url}/classify", json={"text": text}, timeout=300)
    except httpx2.ConnectError:
        return None


def classify_all(server: Server, texts: list[str], threads: int = 8) -> list[httpx2.Response | None]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda text: classify(server, text), texts))


def assert_right(replies: list[httpx2.Response], texts: list[str], expected: dict[str, float]) -> None:
    for reply, text in zip(replies, texts, strict=True):
        assert reply.status_code == 200, reply.text
        assert reply.json()["labels"][0]["probability"] == pytest.approx(expected[text], abs=1e-5)


def wait_until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 200
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for_workers(server: Server, count: int) -> None:
    wait_until(lambda: httpx2.get(f"{server.url}/health", timeout=300).json()["workers"] == count)


def read_metrics(server: Server) -> tuple[int, int]:
    """Read how many batches workers have received, and how many requests wait or are in these batches."""
    lines = httpx2.get(f"{server.url}/metrics", timeout=300).text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    taken = float(values["bertlab_queue_length"]) + float(values["bertlab_batch_size_sum"])
    return int(float(values["bertlab_batch_size_count"])), int(taken)


def test_requests_that_wait_are_computed_together(server, expected):
    """The workers are stopped until all requests wait, whatever the speed of the machine."""
    batches, taken = read_metrics(server)
    workers = server.find_workers()
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        replies = pool.submit(classify_all, server, TEXTS, len(TEXTS))
        wait_until(lambda: read_metrics(server)[1] == taken + len(TEXTS))
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        assert_right(replies.result(), TEXTS, expected)
    assert read_metrics(server)[0] - batches < len(TEXTS) / 2


def test_a_large_body_is_refused_with_a_reply(server):
    body = json.dumps({"text": "a " * 5_000_000})
    reply = httpx2.post(f"{server.url}/classify", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["error"]) == (413, "serve-body-too-large")


def test_requests_of_killed_workers_are_answered(server, expected):
    """Both workers are killed while requests wait; new ones answer all of them."""
    with ThreadPoolExecutor(1) as pool:
        replies = pool.submit(classify_all, server, 2 * TEXTS, 40)
        time.sleep(0.2)
        killed = server.find_workers()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        assert_right(replies.result(), 2 * TEXTS, expected)
    wait_for_workers(server, 2)
    assert len(killed) == 2
    assert not set(server.find_workers()) & set(killed)


def test_overload_is_refused_and_a_hung_worker_is_replaced(checkpoints, expected):
    """With its only worker stopped, the server refuses what does not fit into the queue, and ends the rest in time."""
    words = ("--workers", "1", "--queue", "3", "--time-limit", "5")
    with run_server(str(checkpoints / "sst2"), *words) as server:
        assert_right([classify(server, TEXTS[0])], TEXTS[:1], expected)
        (worker,) = server.find_workers()
        os.kill(worker, signal.SIGSTOP)
        start = time.monotonic()
        replies = classify_all(server, TEXTS[:10], 10)
        assert time.monotonic() - start < 60
        statuses = [reply.status_code for reply in replies]
        assert statuses.count(429) >= 5
        assert 1 <= statuses.count(504) <= 5
        assert statuses.count(429) + statuses.count(504) + statuses.count(200) == 10
        for reply in replies:
            if reply.status_code == 429:
                assert int(reply.headers["retry-after"]) >= 1
                assert reply.json()["error"] == "serve-queue-full"
        wait_for_workers(server, 1)
        assert_right([classify(server, TEXTS[1])], TEXTS[1:2], expected)
        assert server.find_workers() != [worker]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_the_requests_that_were_taken(checkpoints, expected, signum):
    """The signal reaches the workers too, as Ctrl-C in a terminal does."""
    with run_server(str(checkpoints / "sst2"), "--workers", "2", "--time-limit", "200") as server:
        workers = server.find_workers()
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as pool:
            replies = pool.submit(classify_all, server, TEXTS, 40)
            wait_until(lambda: read_metrics(server)[1] == len(TEXTS))
            os.killpg(server.process.pid, signum)
            time.sleep(1)
            assert classify(server, TEXTS[0]) is None
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
            code, out, err = server.wait()
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 1
        assert_right(replies.result(), TEXTS, expected)
    assert not [pid for pid in workers if os.path.exists(f"/proc/{pid}")]


def test_mistakes_are_one_line(checkpoints):
    with socket.create_server(("127.0.0.1", 0)) as other:
        for words in ([str(checkpoints / "none")], ["sst2", "--port", str(other.getsockname()[1])]):
            done = subprocess.run(
                [sys.executable, "-m", "bertlab", "serve", *words], capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 2
            assert done.stderr.startswith("bertlab: ")
            assert done.stderr.count("\n") == 1
            assert done.stdout == ""


@pytest.mark.release
def test_no_request_is_lost_or_answered_wrongly_under_load(checkpoints):
    """The benchmark: growing load, overload, a killed worker, and a stop in the middle."""
    config = ServeLoadBenchConfig(
        checkpoint=str(checkpoints / "sst2"), clients=(1, 16), seconds=5, texts=100, workers=2, queue=16, json=True
    )
    measurements = measure(config)
    for part in (*measurements["rows"], measurements["overload"], measurements["killed_worker"]):
        assert (part["lost"], part["errors"], part["wrong"]) == (0, 0, 0), measurements
    assert all(row["requests_per_second"] > 0 for row in measurements["rows"])
    assert measurements["overload"]["refused"] > 0
    assert measurements["killed_worker"]["requests"] > 0
    stop = measurements["stop"]
    assert (stop["without_reply"], stop["wrong"], stop["exit_code"]) == (0, 0, 0), stop
    assert stop["requests"] > 0

"""`bertlab bench serve-load`: measure the throughput and latency of `bertlab serve`, under load and during failures."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import psutil
import tyro

from benchmarks.harness import BenchOptions, describe_load, report
from benchmarks.load import LOST, Exchange, LoadResult, run_load
from benchmarks.results import Result
from bertlab.abilities.classify import Classify
from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import DEFAULT
from bertlab.session import load as open_session
from bertlab.text.story_world.world import StoryWorld

MAX_SENTENCES = 8  # the texts have 1 to 8 sentences


@dataclass(frozen=True)
class ServeLoadBenchConfig(BenchOptions):
    """Measure the throughput and the latency of `bertlab serve`, under load and during failures.

    The server runs on this machine, and a growing number of clients each send one request after another to /classify.
    Every reply is compared with the prediction of `bertlab classify`. The texts are the first 1 to 8 sentences of
    stories of the story world. Then the queue is overloaded, a worker is killed, and the server is stopped, each
    while clients send requests: no request may be lost or answered wrongly. The clients share the cores with the
    server.

    Examples:
      bertlab bench serve-load
      bertlab bench serve-load --checkpoint runs/sst2 --clients 1 8 64 --seconds 20 --workers 4
    """

    checkpoint: str = "sst2"
    """The checkpoint, which needs a classification layer."""
    clients: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (1, 2, 4, 8, 16, 32)
    """How many clients send requests; each of these numbers is measured separately."""
    seconds: float = 10.0
    """Seconds for each number of clients."""
    texts: int = 200
    """The number of different texts. Texts that are longer than the checkpoint can read are left out."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of worker processes of the server. Default: one for each CPU core."""
    batch_size: int = 8
    """Maximum number of requests that a worker computes at once."""
    queue: int = 64
    """Maximum number of waiting requests. To overload the queue, the benchmark starts twice as many clients."""


@dataclass(frozen=True)
class Server:
    """A server that runs as a process."""

    process: subprocess.Popen
    url: str

    def find_workers(self) -> list[int]:
        """Return the process ids of the workers: the children of the fork server, which is a child of the server."""
        forks = psutil.Process(self.process.pid).children()
        return sorted(worker.pid for fork in forks for worker in fork.children())

    def wait(self, seconds: float = 300) -> tuple[int, str, str]:
        """Wait until the process ends, and return its exit code and the rest of its stdout and stderr."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err


@contextmanager
def run_server(*arguments: str) -> Iterator[Server]:
    """Run `bertlab serve` on a free port, and kill it if it still runs when the `with` block ends."""
    command = [sys.executable, "-m", "bertlab", "serve", *arguments, "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        url = next((word for word in process.stdout.readline().split() if word.startswith("http://")), "")
        if not url:
            raise BertlabError("bench-server-did-not-start", reason=process.communicate()[1].strip())
        yield Server(process, url)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def make_exchanges(checkpoint: str, count: int) -> list[Exchange]:
    """Make requests to /classify, with their correct replies."""
    session, exchanges = open_session(checkpoint), []
    for index, story in enumerate(StoryWorld(DEFAULT).documents(count)):
        text = " ".join([sentence.text for sentence in story.sentences][: 1 + index % MAX_SENTENCES])
        try:
            expected = {"checkpoint": session.name} | Classify(text=text).as_json(session.classify(text))
        except TextError:  # the text is longer than the checkpoint can read
            continue
        # the server sends JSON, in which tuples are lists
        exchanges.append(Exchange("/classify", json.dumps({"text": text}).encode(), json.loads(json.dumps(expected))))
    return exchanges


def measure(config: ServeLoadBenchConfig) -> dict:
    """Run all parts, and return their measurements."""
    exchanges = make_exchanges(config.checkpoint, config.texts)
    workers = ["--workers", str(config.workers)] if config.workers else []
    arguments = [config.checkpoint, *workers, "--batch-size", str(config.batch_size), "--queue", str(config.queue)]
    measurements: dict = {"hardware": describe_load(), "rows": []}
    with run_server(*arguments, "--time-limit", "120") as server:

        def kill_worker() -> None:
            os.kill(server.find_workers()[0], signal.SIGKILL)

        def stop() -> None:
            os.killpg(server.process.pid, signal.SIGTERM)

        def load(clients: int, seconds: float = config.seconds, *failure: Callable, **options: bool) -> LoadResult:
            return asyncio.run(run_load(server.url, exchanges, clients, seconds, *failure, **options))

        num_replies = load(8, 2.0).replies  # a warm-up
        for clients in config.clients:
            row = summarise(load(clients), clients)
            measurements["rows"].append(row)
            if not config.json:
                print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        measurements["overload"] = summarise(load(2 * config.queue), 2 * config.queue)
        measurements["killed_worker"] = summarise(load(16, config.seconds, kill_worker), 16)
        # Every request has a connection of its own, because a server may close an idle connection at any time.
        stop_result = load(16, config.seconds, stop, keep_alive=False)
        exit_code, out, _ = server.wait(120)
    # the server prints how many requests it has answered, and how many it has accepted
    answered, accepted = (int(word) for word in out.split() if word.isdecimal())
    parts = (*measurements["rows"], measurements["overload"], measurements["killed_worker"])
    num_replies += sum(part["requests"] for part in parts) + stop_result.replies
    measurements["stop"] = {
        "requests": stop_result.replies, "taken": accepted, "answered": answered, "wrong": stop_result.num_wrong,
        "without_reply": accepted - num_replies, "exit_code": exit_code,
    }  # fmt: skip
    return measurements


def summarise(result: LoadResult, clients: int) -> dict:
    """Return the throughput, the latency and the failures; a request that was refused with 429 is not an error."""
    return {
        "clients": clients, "requests_per_second": round(result.throughput, 1), "p50_ms": result.percentile(50),
        "p95_ms": result.percentile(95), "requests": result.replies, "refused": result.outcomes[429],
        "lost": result.outcomes[LOST], "wrong": result.num_wrong,
        "errors": sum(count for outcome, count in result.outcomes.items() if outcome not in (200, 429)),
    }  # fmt: skip


def run(config: ServeLoadBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    rows, stop = measurements["rows"], measurements["stop"]
    best = max(rows, key=lambda row: row["requests_per_second"])
    parts = (*rows, measurements["overload"], measurements["killed_worker"])
    failures = sum(part["errors"] + part["wrong"] for part in parts) + stop["wrong"] + stop["without_reply"]
    claim = f"Serving: {config.checkpoint}"
    fastest, hardware = f"{claim}, {best['clients']} clients", measurements["hardware"]
    failed = f"{claim}, requests lost or answered wrongly under overload, with a killed worker, and at a stop"
    results = [
        Result(f"{fastest}, throughput", best["requests_per_second"], "requests/s", n=best["requests"]),
        Result(f"{fastest}, 95th percentile", best["p95_ms"], "ms", n=best["requests"]),
        Result(failed, failures, n=sum(row["requests"] for row in rows), target=0),
    ]
    report(measurements, [replace(result, hardware=hardware) for result in results], config)

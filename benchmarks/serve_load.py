"""`bertlab bench serve-load`: measure the throughput and latency of `bertlab serve`, under load and during failures."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from benchmarks.harness import BenchOptions, report
from benchmarks.load import LOST, Exchange, LoadResult, run_load
from benchmarks.results import Result
from bertlab.abilities.classify import Classify
from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import DEFAULT
from bertlab.session import load
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
    """The process."""
    url: str
    """The address of the server."""

    def find_workers(self) -> list[int]:
        """Return the process ids of the workers: the children of the fork server, which is a child of the server."""
        return sorted(pid for child in find_children(self.process.pid) for pid in find_children(child))

    def wait(self, seconds: float = 300) -> tuple[int, str, str]:
        """Wait until the process ends, and return its exit code and the rest of its stdout and stderr.

        Args:
            seconds: how long to wait; subprocess.TimeoutExpired is raised after that.
        """
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err


def find_children(pid: int) -> list[int]:
    """Return the process ids of the children of a process; Linux lists each child under the thread that started it."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


@contextmanager
def run_server(*arguments: str) -> Iterator[Server]:
    """Run `bertlab serve` on a free port, and kill it if it still runs when the `with` block ends.

    Args:
        arguments: the arguments of the command.

    Raises:
        BertlabError: the server did not start.
    """
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
    """Make requests to /classify, with their correct replies.

    Raises:
        BertlabError: the checkpoint cannot be opened, or has no classification layer.
    """
    session, exchanges = load(checkpoint), []
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
    measurements: dict = {"cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 1), "rows": []}
    with run_server(*arguments, "--time-limit", "120") as server:
        num_replies = run_load(server.url, exchanges, 8).replies  # a warm-up
        for clients in config.clients:
            result = run_load(server.url, exchanges, clients, config.seconds)
            num_replies += result.replies
            measurements["rows"].append({
                "clients": clients, "requests_per_second": round(result.throughput, 1),
                "p50_ms": result.percentile(50), "p95_ms": result.percentile(95), "requests": result.replies,
                **count_failures(result),
            })  # fmt: skip
            if not config.json:
                print_row(measurements["rows"][-1])
        overload_result = run_load(server.url, exchanges, 2 * config.queue, config.seconds)
        measurements["overload"] = {
            "clients": 2 * config.queue, "requests_per_second": round(overload_result.throughput, 1),
            "p95_ms": overload_result.percentile(95), "refused": overload_result.outcomes[429],
            **count_failures(overload_result),
        }  # fmt: skip
        kill_result = run_load(server.url, exchanges, 16, config.seconds, lambda: kill_worker(server))
        measurements["killed_worker"] = {"requests": kill_result.replies, **count_failures(kill_result)}
        # Every request has a connection of its own, because a server may close an idle connection at any time.
        stop_result = run_load(
            server.url, exchanges, 16, config.seconds, lambda: os.killpg(server.process.pid, signal.SIGTERM),
            keep_alive=False,
        )  # fmt: skip
        exit_code, out, _ = server.wait(120)
        # the server prints how many requests it has answered, and how many it has accepted
        answered, accepted = (int(word) for word in out.split() if word.isdecimal())
        num_replies += overload_result.replies + kill_result.replies + stop_result.replies
        measurements["stop"] = {
            "requests": stop_result.replies, "taken": accepted, "answered": answered, "wrong": stop_result.num_wrong,
            "without_reply": accepted - num_replies, "exit_code": exit_code,
        }  # fmt: skip
    return measurements


def count_failures(result: LoadResult) -> dict:
    """Count the requests without a correct reply, except those that were refused with 429."""
    errors = sum(count for outcome, count in result.outcomes.items() if outcome not in (200, 429))
    return {"lost": result.outcomes[LOST], "errors": errors, "wrong": result.num_wrong}


def kill_worker(server: Server) -> None:
    """Kill one worker of a server."""
    os.kill(server.find_workers()[0], signal.SIGKILL)
    time.sleep(0.1)


def print_row(row: dict) -> None:
    """Print one line of the table of throughput against latency."""
    print(
        f"{row['clients']:4} clients  {row['requests_per_second']:8.1f} requests/s  p50 {row['p50_ms']:8.1f} ms  "
        f"p95 {row['p95_ms']:8.1f} ms  wrong {row['wrong']}  lost {row['lost']}",
        flush=True,
    )


def run(config: ServeLoadBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    best = max(measurements["rows"], key=lambda row: row["requests_per_second"])
    failures = sum(
        part[name]
        for part in (*measurements["rows"], measurements["overload"], measurements["killed_worker"],
                     measurements["stop"])
        for name in ("errors", "wrong", "without_reply")
        if name in part
    )  # fmt: skip
    results = [
        Result(f"Serving: {config.checkpoint}, {best['clients']} clients, throughput", best["requests_per_second"],
               "requests/s", n=best["requests"]),
        Result(f"Serving: {config.checkpoint}, {best['clients']} clients, 95th percentile", best["p95_ms"], "ms",
               n=best["requests"]),
        Result(f"Serving: {config.checkpoint}, requests lost or answered wrongly under overload, with a killed worker, "
               "and at a stop", failures, n=sum(row["requests"] for row in measurements["rows"]), target=0),
    ]  # fmt: skip
    hardware = f"{measurements['cores']} cores, load {measurements['load_before']} at the start"
    report(measurements, [replace(result, hardware=hardware) for result in results], config)

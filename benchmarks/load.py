"""A load generator for `bertlab serve`: clients that send one request after another, and check every reply.

Each client waits for a reply before it sends its next request (closed loop), as `hey` and `wrk` do, which do not
compare replies. The clients use a part of the CPU time that the measured server needs.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import httpx2
import numpy as np

TOLERANCE = 1e-4  # equal numbers may differ by this much, because the rounding depends on the batch
# outcomes of a request without a reply; the outcome of a request with a reply is its HTTP status
NOT_CONNECTED = "not connected"  # the server no longer accepts connections
LOST = "lost"  # the connection was closed without a reply


@dataclass(frozen=True)
class Exchange:
    """A request, and its correct reply."""

    path: str
    body: bytes  # JSON
    expected: dict  # a JSON object


@dataclass
class LoadResult:
    """The outcomes and times of the requests of all clients."""

    seconds: float = 0.0  # from the first request to the last reply
    latency_ms: list[float] = field(default_factory=list)  # of the replies with the status 200
    outcomes: Counter = field(default_factory=Counter)  # an HTTP status, `NOT_CONNECTED` or `LOST` -> requests
    num_wrong: int = 0  # replies with the status 200 that differ from the expected one

    @property
    def throughput(self) -> float:
        """Correct replies per second."""
        return (self.outcomes[200] - self.num_wrong) / self.seconds

    @property
    def replies(self) -> int:
        """The number of requests that got a reply, whatever its status."""
        return sum(count for outcome, count in self.outcomes.items() if isinstance(outcome, int))

    def percentile(self, percent: int) -> float:
        """Return a percentile of the times in milliseconds; NaN without a time."""
        return round(float(np.percentile(self.latency_ms, percent)), 1) if self.latency_ms else float("nan")


async def run_load(
    url: str,
    exchanges: Sequence[Exchange],
    clients: int,
    seconds: float,
    cause_failure: Callable[[], None] | None = None,
    *,
    keep_alive: bool = True,
) -> LoadResult:
    """Send requests from several clients at once, over and over for some seconds.

    Args:
        cause_failure: a function that runs in another thread after half of the time.
        keep_alive: whether a client reuses its connection.
    """
    result, indices = LoadResult(), count()  # each client takes the next index of a request
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None if keep_alive else 0)
    start = time.perf_counter()

    async def run_client(client: httpx2.AsyncClient) -> None:
        while time.perf_counter() - start < seconds:
            outcome = await _send(client, exchanges[next(indices) % len(exchanges)], result)
            result.outcomes[outcome] += 1
            if outcome == NOT_CONNECTED:
                return

    async def cause_failure_later() -> None:
        await asyncio.sleep(seconds / 2)
        await asyncio.to_thread(cause_failure)

    failures = [cause_failure_later()] if cause_failure else []
    async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=600) as client:
        await asyncio.gather(*failures, *(run_client(client) for _ in range(clients)))
    result.seconds = time.perf_counter() - start
    return result


async def _send(client: httpx2.AsyncClient, exchange: Exchange, result: LoadResult) -> int | str:
    start = time.perf_counter()
    try:
        reply = await client.post(exchange.path, content=exchange.body, headers={"content-type": "application/json"})
    except httpx2.ConnectError:
        return NOT_CONNECTED
    except httpx2.TransportError:
        return LOST
    if reply.status_code == 200:
        result.latency_ms.append((time.perf_counter() - start) * 1000)
        result.num_wrong += not is_equal(json.loads(reply.content), exchange.expected)
    return reply.status_code


def is_equal(actual: object, expected: object) -> bool:
    """Whether two JSON values are equal; numbers may differ by `TOLERANCE`.

    >>> is_equal({"label": "a", "p": 0.3}, {"label": "a", "p": 0.300001}), is_equal([1.0], [1.1])
    (True, False)
    """
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and actual.keys() == expected.keys()
            and all(is_equal(actual[key], value) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(map(is_equal, actual, expected))
    if isinstance(expected, float):
        return abs(actual - expected) <= TOLERANCE
    return actual == expected

"""The queue of requests that wait for a worker, and the choice of those that are computed together."""

import asyncio
from dataclasses import dataclass

from bertlab.abilities.ability import Ability

MAX_PADDED_RATIO = 1.25  # the maximum of (characters of a batch with padding) / (characters without padding)
MAX_ATTEMPTS = 3  # a request is answered with an error after this many workers died while they computed it


@dataclass(eq=False)
class Request:
    """A request that waits for its reply."""

    content: Ability
    """The ability and its inputs."""
    future: asyncio.Future
    """Receives the reply (see `BatchPredictor.answer`). It is cancelled when the time limit has passed."""
    length: int
    """The number of characters of the texts, which is roughly proportional to the number of tokens."""
    attempts: int = 0
    """How many workers have died while they computed the request."""


class RequestQueue:
    """A queue of requests, of limited length.

    Args:
        limit: the queue is full when it has this many requests.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self._requests: list[Request] = []
        self._has_requests = asyncio.Event()

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def is_full(self) -> bool:
        """Whether no further request fits."""
        return len(self._requests) >= self.limit

    def add(self, request: Request) -> None:
        """Add a new request at the end."""
        self._requests.append(request)
        self._has_requests.set()

    def put_back(self, requests: list[Request]) -> None:
        """Put requests back in front of all others, because their worker has died; the limit of the queue is ignored.

        Requests that already have a reply, or were cancelled, are left out.
        """
        self._requests[:0] = [request for request in requests if not request.future.done()]
        if self._requests:
            self._has_requests.set()

    def discard(self, request: Request) -> None:
        """Remove a request if it still waits."""
        if request in self._requests:
            self._requests.remove(request)
            self._clear_event_if_empty()

    async def wait_for_request(self) -> None:
        """Wait until the queue is not empty. Another worker may take the request before the caller does."""
        await self._has_requests.wait()

    def take_batch(self, batch_size: int, free_workers: int = 1) -> list[Request]:
        """Remove and return the requests of the next batch: the oldest one and similar ones; [] if the queue is empty.

        A batch contains requests for the same command whose lengths are similar, so that little padding is computed.
        Those most similar to the oldest request are chosen first. A request whose worker has died is computed
        alone, so that it cannot affect other requests again.

        Args:
            batch_size: the maximum number of requests.
            free_workers: the number of workers that compute nothing at the moment. The requests are divided among them.
        """
        if not self._requests:
            return []
        oldest = self._requests[0]
        # the second argument of `min` is the number of requests per free worker, rounded up
        size = min(batch_size, -(-len(self._requests) // max(1, free_workers)))
        batch = [oldest]
        if not oldest.attempts:
            name = oldest.content.name
            others = [each for each in self._requests[1:] if each.content.name == name and not each.attempts]
            for request in sorted(others, key=lambda each: abs(each.length - oldest.length))[: size - 1]:
                lengths = [each.length for each in (*batch, request)]
                if len(lengths) * max(lengths) > MAX_PADDED_RATIO * sum(lengths):
                    break
                batch.append(request)
        self._requests = [request for request in self._requests if request not in batch]
        self._clear_event_if_empty()
        return batch

    def _clear_event_if_empty(self) -> None:
        """Let `wait_for_request` wait again if the queue has become empty."""
        if not self._requests:
            self._has_requests.clear()

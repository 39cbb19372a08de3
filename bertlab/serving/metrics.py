"""The metrics of the server, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # upper bounds in seconds


class ServerMetrics:
    """The metrics, in a registry of their own, so that a process can have several servers.

    Attributes:
        requests: answered requests, by route and HTTP status.
        rejected: requests that were not computed, by reason: queue-full, too-large, time-limit.
        seconds: time from the arrival of a request to its reply, by route.
        queue_length: requests that wait for a worker.
        batch_size: requests in a batch.
        workers: worker processes that are ready.
        restarts: worker processes that died or hung and were replaced.
        received: the number of all requests that arrived. It is not in Prometheus; the server prints it when it stops.
        answered: the number of requests whose reply was sent completely; the server prints it too.
    """

    def __init__(self):
        self.received = self.answered = 0
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "bertlab_requests", "Replies by route and HTTP status.", ["route", "status"], registry=registry
        )
        self.rejected = Counter(
            "bertlab_rejected_requests", "Requests that were not computed, by reason.", ["reason"], registry=registry
        )
        self.seconds = Histogram(
            "bertlab_request_seconds", "Time from a request to its reply.", ["route"], buckets=LATENCY_BUCKETS,
            registry=registry,
        )  # fmt: skip
        self.queue_length = Gauge("bertlab_queue_length", "Requests that wait for a worker.", registry=registry)
        self.batch_size = Histogram(
            "bertlab_batch_size", "Requests in a batch.", buckets=(1, 2, 4, 8, 16, 32, 64), registry=registry
        )
        self.workers = Gauge("bertlab_workers", "Worker processes that are ready.", registry=registry)
        self.restarts = Counter("bertlab_worker_restarts", "Worker processes that were replaced.", registry=registry)
        for reason in ("queue-full", "too-large", "time-limit"):
            self.rejected.labels(reason)  # so that a reason without requests is 0 instead of missing

    def format(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

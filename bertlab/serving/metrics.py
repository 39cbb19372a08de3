"""The metrics of the server, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # upper bounds in seconds


class ServerMetrics:
    """The metrics, in a registry of their own, so that a process can have several servers.

    Attributes:
        requests: how many replies have begun, by route and HTTP status.
        rejected: how many requests were not computed, by reason: queue-full, too-large, time-limit.
        seconds: the time from the arrival of a request until its reply begins, by route.
        queue_length: how many requests wait for a worker.
        batch_size: how many requests each batch has.
        workers: how many worker processes are ready.
        restarts: how many times a worker process that died or hung was replaced.
        received: how many requests have arrived. The server does not give this number to Prometheus, but prints it when
            it stops.
        answered: how many replies have been sent completely. The server prints it together with `received`.
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
            self.rejected.labels(reason)  # a reason that has not occurred is then shown as 0

    def format(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

"""Distribute requests over worker processes: batches, retries after a worker died, time limits."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from bertlab.abilities.ability import Ability
from bertlab.config.errors import BertlabError
from bertlab.config.processor import count_cores
from bertlab.serving.metrics import ServerMetrics
from bertlab.serving.options import ServeOptions
from bertlab.serving.queue import MAX_ATTEMPTS, Request, RequestQueue
from bertlab.serving.worker import Description
from bertlab.serving.workers import Worker, WorkerLost

RESTART_SECONDS = 1.0  # the pause after a failed attempt to start a worker


class QueueFull(BertlabError):
    """The queue is full; the reply is 429."""


class TimeLimitExceeded(BertlabError):
    """A request has no result within the time limit; the reply is 504."""


class NoWorker(BertlabError):
    """No worker can be started; the reply is 503."""


class RequestKillsWorkers(BertlabError):
    """Several workers died while they computed a request; the reply is 500."""


class Dispatcher:
    """The queue and the workers of a server. `start` must be called first, in the event loop of the server.

    Args:
        options: the settings of the server.
        metrics: the metrics that the dispatcher updates.

    Attributes:
        description: the description of the checkpoint, from a worker. It is set when the first worker has started.
        workers: {index of a worker: worker}, for the workers that are ready.
    """

    def __init__(self, options: ServeOptions, metrics: ServerMetrics):
        self.options, self.metrics = options, metrics
        self.num_workers = options.workers or count_cores()
        self.description: Description
        self.workers: dict[int, Worker] = {}
        self.queue: RequestQueue
        self._busy: set[int] = set()  # the indices of the workers that are computing a batch
        self._tasks: list[asyncio.Task] = []
        self._start_error: Exception | None = None  # None if the latest start of a worker succeeded
        self._executor = ThreadPoolExecutor(2 * self.num_workers, "worker")

    async def start(self) -> None:
        """Start the workers, and return when all of them are ready.

        Raises:
            BertlabError: a worker cannot open the checkpoint.
        """
        self.queue = RequestQueue(self.options.queue)
        outcomes = await asyncio.gather(
            *(self._start_worker(index) for index in range(self.num_workers)), return_exceptions=True
        )
        for error in outcomes:  # None for a worker that is ready
            if isinstance(error, WorkerLost):
                raise BertlabError("serve-worker-died")
            if isinstance(error, BaseException):
                raise error
        self._tasks = [asyncio.create_task(self._give_batches(index)) for index in range(self.num_workers)]

    async def stop(self) -> None:
        """Stop the workers. Requests that still wait get no reply, so the server calls this when all are answered."""
        for task in self._tasks:
            task.cancel()
        workers, self.workers = self.workers, {}
        stops = [worker.kill if index in self._busy else worker.stop for index, worker in workers.items()]
        await asyncio.gather(*(asyncio.to_thread(stop) for stop in stops))
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._executor.shutdown(wait=False)

    async def answer(self, ability: Ability) -> str:
        """Compute one request, and return its result as a JSON text.

        Raises:
            BertlabError: the error of the ability, or one of the following.
            QueueFull: the queue is full.
            TimeLimitExceeded: there is no result within the time limit.
            NoWorker: no worker can be started.
            RequestKillsWorkers: several workers died while they computed the request.
        """
        if not self.workers and self._start_error:
            raise NoWorker("serve-no-worker", reason=self._start_error)
        if self.queue.is_full:
            self.metrics.rejected.labels("queue-full").inc()
            raise QueueFull("serve-queue-full", limit=self.options.queue)
        future = asyncio.get_running_loop().create_future()
        request = Request(ability, future, sum(map(len, ability.list_texts())))
        self.queue.add(request)
        self._update_metrics()
        try:
            reply = await asyncio.wait_for(request.future, self.options.time_limit)
        except TimeoutError:
            self.metrics.rejected.labels("time-limit").inc()
            raise TimeLimitExceeded("serve-time-limit", seconds=f"{self.options.time_limit:g}") from None
        finally:
            self.queue.discard(request)
            self._update_metrics()
        if isinstance(reply, BertlabError):
            raise reply
        return reply

    async def _give_batches(self, index: int) -> None:
        """Give batches to one worker, and replace it whenever it dies."""
        while True:
            worker = self.workers.get(index)
            if worker is None:
                await self._restart_worker(index)
                continue
            events = [asyncio.ensure_future(each) for each in (self.queue.wait_for_request(), worker.has_died.wait())]
            try:
                await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in events:
                    each.cancel()
            if worker.has_died.is_set():
                await self._discard_worker(index)
                continue
            free_workers = len(self.workers.keys() - self._busy)
            if batch := self.queue.take_batch(self.options.batch_size, free_workers):
                self._update_metrics()
                await self._compute_batch(index, worker, batch)

    async def _compute_batch(self, index: int, worker: Worker, batch: list[Request]) -> None:
        """Let a worker compute a batch, and set the replies; if it dies, put the requests back into the queue."""
        self.metrics.batch_size.observe(len(batch))
        contents = [request.content for request in batch]
        self._busy.add(index)
        try:
            replies = await self._run_in_thread(worker.answer, contents, self.options.time_limit)
        except WorkerLost:
            for request in batch:
                request.attempts += 1
                if request.attempts >= MAX_ATTEMPTS and not request.future.done():
                    request.future.set_result(RequestKillsWorkers("serve-request-kills-workers"))
            self.queue.put_back(batch)
            await self._discard_worker(index)
        else:
            for request, reply in zip(batch, replies, strict=True):
                if not request.future.done():
                    request.future.set_result(reply)
        finally:
            self._busy.discard(index)

    async def _start_worker(self, index: int) -> None:
        """Start a worker process, and wait until it has opened the checkpoint."""
        worker = await self._run_in_thread(Worker, self.options, asyncio.get_running_loop())
        try:
            self.description = await self._run_in_thread(worker.wait_until_ready)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(worker.kill))
            raise
        self.workers[index] = worker
        self._start_error = None
        self._update_metrics()

    async def _restart_worker(self, index: int) -> None:
        """Start a worker in place of one that died; if that fails, store the error and pause."""
        self.metrics.restarts.inc()
        try:
            await self._start_worker(index)
        except (BertlabError, WorkerLost) as error:
            self._start_error = error if isinstance(error, BertlabError) else BertlabError("serve-worker-died")
            await asyncio.sleep(RESTART_SECONDS)

    async def _discard_worker(self, index: int) -> None:
        """Remove a worker from `workers` because it died or hangs, and make sure that its process has ended."""
        if worker := self.workers.pop(index, None):
            self._update_metrics()
            await self._run_in_thread(worker.kill)

    def _update_metrics(self) -> None:
        self.metrics.queue_length.set(len(self.queue))
        self.metrics.workers.set(len(self.workers))

    async def _run_in_thread(self, function, *arguments):
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)

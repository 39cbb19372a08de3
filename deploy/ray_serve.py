"""Serve a checkpoint on several machines with Ray Serve: the routes, replies and errors of `bertlab serve`.

    pip install "bertlab[serve]" "ray[serve]"        # on every machine
    ray start --head                                 # on the first machine; it prints the address for the others
    ray start --address=FIRST_MACHINE:6379           # on every other machine
    BERTLAB_CHECKPOINT=/shared/sst2 serve run deploy.ray_serve:app    # on the first machine, in this repository

The checkpoint must be a path that every machine can read, or the name of a shipped checkpoint. BERTLAB_REPLICAS sets
the number of replicas (default: 2). Each replica has one thread and one core. Ray distributes the replicas over the
machines, sends requests to replicas that are free, replaces a replica that dies, and starts the replicas of a lost
machine on another one.
"""

import os

import httpx2
from fastapi import Request, Response
from ray import serve

from bertlab.abilities.ability import Ability
from bertlab.config.errors import BertlabError
from bertlab.serving.application import load_messages, make_application
from bertlab.serving.metrics import ServerMetrics
from bertlab.serving.options import ServeOptions
from bertlab.serving.worker import BatchPredictor

BATCH_SIZE = 8


@serve.deployment(
    num_replicas=int(os.environ.get("BERTLAB_REPLICAS", "2")),
    ray_actor_options={"num_cpus": 1, "runtime_env": {"env_vars": {"OMP_NUM_THREADS": "1"}}},
    max_ongoing_requests=4 * BATCH_SIZE,
    max_queued_requests=64,  # Ray refuses further requests with 503
)
class Predictions:
    """A replica: an open checkpoint, and the application of `bertlab serve`, for which it replaces the `Dispatcher`."""

    def __init__(self, checkpoint: str):
        load_messages()
        self.options, self.metrics = ServeOptions(checkpoint), ServerMetrics()
        self.predictor = BatchPredictor(checkpoint, "float32", BATCH_SIZE)
        self.description = self.predictor.describe()
        self.workers, self.queue = {0: self.predictor}, ()
        transport = httpx2.ASGITransport(make_application(self))
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://replica")

    async def __call__(self, request: Request) -> Response:
        reply = await self.client.request(
            request.method, str(request.url.path), headers=request.headers, content=await request.body()
        )
        return Response(reply.content, reply.status_code, {"content-type": reply.headers["content-type"]})

    async def answer(self, ability: Ability) -> str:
        """See `Dispatcher.answer`."""
        reply = await self._compute(ability)
        if isinstance(reply, BertlabError):
            raise reply
        return reply

    @serve.batch(max_batch_size=BATCH_SIZE, batch_wait_timeout_s=0.005)
    async def _compute(self, requests: list[Ability]) -> list[str | BertlabError]:
        replies: list[str | BertlabError] = [""] * len(requests)
        for name in {request.name for request in requests}:  # the predictor computes one output layer at a time
            rows = [row for row, request in enumerate(requests) if request.name == name]
            for row, reply in zip(rows, self.predictor.answer([requests[row] for row in rows]), strict=True):
                replies[row] = reply
        return replies


app = Predictions.bind(os.environ.get("BERTLAB_CHECKPOINT", "sst2"))

"""The settings of `bertlab serve`."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class ServeOptions:
    """Answer requests over HTTP with the predictions of a checkpoint, as JSON.

    There is a route for each command that reads texts, such as /fill-mask, /classify, /answer and /embed, if the
    checkpoint has the output layer that it needs. A request contains the inputs of the command, and the reply is what
    it prints with --json. The reply of /embed has the `vectors` and the indices of the `truncated` texts. /docs lists
    the routes with their fields and lets you try them, /health says whether the server is ready, and /metrics is for
    Prometheus.

    Several worker processes compute, each with one thread. While all of them are busy, requests wait in a queue; a
    worker that becomes free takes several requests of similar length as one batch. If the queue is full, the reply is
    429, and the client should try again after the number of seconds in the header Retry-After. A worker that dies is
    replaced, and another worker computes the requests of the dead one again. Ctrl-C (or SIGTERM) stops the server after
    it has answered all accepted requests.

    Needs: pip install "bertlab[serve]"

    Examples:
      bertlab serve sst2
      curl localhost:8000/classify -H "Content-Type: application/json" -d '{"text": "A quiet, lovely film."}'

      bertlab serve strongest --port 8080 --workers 2
      curl localhost:8080/fill-mask -H "Content-Type: application/json" -d '{"text": "The cat [MASK].", "top_k": 3}'
      curl localhost:8080/next-sentence -H "Content-Type: application/json" -d '{"first": "Rain.", "second": "Wet."}'
      curl localhost:8080/embed -H "Content-Type: application/json" -d '{"texts": ["Rain fell.", "It rained."]}'

      bertlab serve squad --host 0.0.0.0    # accepts connections from other machines
      curl localhost:8000/answer -H "Content-Type: application/json" \\
          -d '{"question": "Who rang the bell?", "passage": "The bell was rung by Anna, the keeper."}'
      curl localhost:8000/metrics
    """

    checkpoint: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CHECKPOINT")]
    """A checkpoint or run directory, the name of a shipped checkpoint, or a hub id. A directory written by `bertlab
    export --format onnx` runs in ONNX Runtime, all others in PyTorch."""
    host: str = "127.0.0.1"
    """Address to listen on. The default accepts connections from this machine only, and 0.0.0.0 from all. There is no
    password and no encryption: put a reverse proxy in front of a public server."""
    port: int = 8000
    """Port to listen on; 0 chooses a free one, which is printed."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of worker processes, each with one thread and its own copy of the checkpoint. Default: one for each CPU
    core."""
    precision: Precision = "float32"
    """The type of the weights in memory. bfloat16 halves the memory and is faster on processors that support it.
    An ONNX file keeps the type of its weights."""
    batch_size: int = 8
    """Maximum number of requests that a worker computes at once."""
    queue: int = 64
    """Maximum number of requests that wait for a worker."""
    time_limit: float = 30.0
    """Seconds after which a request that has no result is answered with status 504."""
    max_kilobytes: int = 256
    """Maximum size of the body of a request, in kilobytes; a larger request is answered with status 413."""

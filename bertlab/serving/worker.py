"""The code of a worker process: it opens the checkpoint, then answers batches until its parent closes the pipe.

The first message to the parent describes the checkpoint, or is the error that occurred when it was opened. Then every
message from the parent is a batch of requests, and the worker replies with a list of replies in the same order.
"""

import functools
import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, TypeVar

from bertlab.abilities.ability import Ability, Prediction
from bertlab.abilities.registry import find_abilities
from bertlab.config.crash_log import log_unexpected_error
from bertlab.config.errors import BertlabError, CheckpointError, MissingHead
from bertlab.serving.options import Precision

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query

Result = TypeVar("Result")


@dataclass(frozen=True)
class Description:
    """The checkpoint of a worker, and the commands that it does not support."""

    checkpoint: str
    """The name of the checkpoint."""
    missing: dict[str, BertlabError]
    """A command that the checkpoint does not support -> the error that says what the checkpoint lacks."""


def run_worker(connection: Connection, source: str, precision: Precision, batch_size: int) -> None:
    """Open a checkpoint, and answer batches from a connection until it is closed.

    Args:
        connection: the worker's end of the pipe.
        source: the checkpoint.
        precision: the type of the weights.
        batch_size: the maximum number of inputs that are computed at once.
    """
    # Ctrl-C and a service's SIGTERM may reach all processes of the group. The parent then finishes its requests, for
    # which it needs the workers. The workers end when the parent closes the pipe, or dies.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # several threads in a worker would compete for the cores with the other workers
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    predictor = _attempt("bertlab serve", lambda: BatchPredictor(source, precision, batch_size))
    try:
        if isinstance(predictor, BertlabError):
            connection.send(predictor)
            return
        connection.send(predictor.describe())
        while True:
            connection.send(predictor.answer(connection.recv()))
    except (EOFError, OSError):  # the parent has closed its end, or died
        return


class BatchPredictor:
    """An open checkpoint that answers batches of requests.

    Args:
        source: the checkpoint.
        precision: the type of the weights.
        batch_size: the maximum number of inputs that are computed at once.

    Raises:
        CheckpointError: the checkpoint cannot be opened.
    """

    def __init__(self, source: str, precision: Precision, batch_size: int):
        import torch

        from bertlab.abilities import queries
        from bertlab.checkpoints import checkpoint
        from bertlab.nn.onnx_model import OnnxBert
        from bertlab.session import Session

        torch.set_num_threads(1)
        self.session = Session(checkpoint.load(source, dtype=getattr(torch, precision)))
        self.compute = functools.partial(queries.compute_outputs, self.session.model, self.session.tokenizer.pad_id)
        self.batch_size = batch_size
        self._answer_queries = queries.answer_queries
        model = self.session.model
        if isinstance(model, OnnxBert):
            if precision != "float32":
                raise CheckpointError("serve-precision-of-onnx", name=self.session.name, precision=precision)
            # The scale of int8 activations is computed over a batch, but a reply must not depend on other requests.
            self.batch_size = batch_size if model.weight_type == "float32" else 1
        head = "" if model.gives_hidden_states else model.head_names[0]
        self.compute(head, [self.session.tokenizer.encode("a")], None)  # the first computation takes longer than others

    def describe(self) -> Description:
        """Describe the checkpoint."""
        missing, session = {}, self.session
        for name, ability in find_abilities("route").items():
            if ability.needs and not {*ability.needs} & {*session.heads}:
                try:
                    session.model.require_head(ability.needs[0])
                except MissingHead as error:
                    missing[name] = error
            elif not (session.model.gives_hidden_states or (ability.needs and issubclass(ability, Prediction))):
                missing[name] = CheckpointError("onnx-no-internals", name=session.path.name)
        return Description(session.name, missing)

    def answer(self, requests: Sequence[Ability]) -> list[str | BertlabError]:
        """Answer a batch of requests for the same ability: the result of each as a JSON text, or its error."""

        def answer_all(queries: Sequence["Query"]) -> list[object]:
            return self._answer_queries(queries, self.compute, self.batch_size)

        where = f"/{requests[0].name}"
        if not isinstance(requests[0], Prediction):
            replies = [_attempt(where, self.session.ask, request) for request in requests]
            return [_attempt(where, self._format, *row) for row in zip(requests, replies, strict=True)]
        # at first each reply is the query of a request, or an error; below, each query is replaced with its result
        replies = [_attempt(where, request.prepare, self.session) for request in requests]
        indices = [index for index, query in enumerate(replies) if not isinstance(query, BertlabError)]
        queries = [replies[index] for index in indices]
        results = _attempt(where, answer_all, queries)
        if isinstance(results, BertlabError):  # one request failed, so compute each by itself
            single_results = [_attempt(where, answer_all, [query]) for query in queries]
            results = [each if isinstance(each, BertlabError) else each[0] for each in single_results]
        for index, result in zip(indices, results, strict=True):
            replies[index] = result
        return [_attempt(where, self._format, *row) for row in zip(requests, replies, strict=True)]

    def _format(self, request: Ability, result: object) -> str | BertlabError:
        """Write a result as a JSON text; return an error unchanged."""
        if isinstance(result, BertlabError):
            return result
        return json.dumps({"checkpoint": self.session.name} | request.as_json(result))


def _attempt(where: str, run: Callable[..., Result], *arguments: object) -> Result | BertlabError:
    """Call a function, and return its result or its error; an unexpected error is logged.

    Args:
        where: the command or the route that is running; the log shows it if a bug occurs.
        run: the function.
        arguments: its arguments.
    """
    try:
        return run(*arguments)
    except BertlabError as error:
        return error
    except MemoryError:
        return BertlabError("out-of-memory")
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust library is not an `Exception`
        return log_unexpected_error(error, where)

"""Run the server: bind the address, start the workers, serve until a signal arrives, finish all accepted requests."""

import asyncio
import contextlib
import os
import signal
import socket

import uvicorn

from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message
from bertlab.serving.application import load_messages, make_application
from bertlab.serving.dispatcher import Dispatcher
from bertlab.serving.metrics import ServerMetrics
from bertlab.serving.options import ServeOptions
from bertlab.serving.workers import start_fork_server

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(options: ServeOptions) -> None:
    """Serve until SIGINT or SIGTERM arrives.

    Raises:
        BertlabError: the address cannot be used, or the checkpoint cannot be opened.
    """
    with _bind(options.host, options.port) as listener:
        start_fork_server()
        asyncio.run(_serve(options, listener))


def _bind(host: str, port: int) -> socket.socket:
    """Bind a socket. This comes before the checkpoint is loaded, so that an unusable address is reported at once."""
    if not 0 <= port < 65536:
        raise BertlabError("app-port-invalid", port=port)
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise BertlabError(
            "serve-address-unusable",
            host=host,
            port=port,
            reason=os.strerror(error.errno) if error.errno > 0 else error.strerror,
        ) from None


async def _serve(options: ServeOptions, listener: socket.socket) -> None:
    """Start the workers, serve requests at a bound socket until a stop signal arrives, and stop the workers."""
    metrics = ServerMetrics()
    dispatcher = Dispatcher(options, metrics)
    try:
        await asyncio.gather(dispatcher.start(), asyncio.to_thread(load_messages))
        app = make_application(dispatcher)
        # After a stop signal, uvicorn waits at most this long for open requests. The time limit applies twice to a
        # request: while it arrives, and while it is answered.
        stop_seconds = int(2 * options.time_limit) + 2
        config = uvicorn.Config(
            app, lifespan="off", log_level="error", access_log=False, timeout_graceful_shutdown=stop_seconds, ws="none"
        )
        with _ignore_signals_after_stop():
            host, port = listener.getsockname()[:2]
            name, host = dispatcher.description.checkpoint, f"[{host}]" if ":" in host else host
            print(Message("serve-started", checkpoint=name, address=f"http://{host}:{port}"), flush=True)
            await uvicorn.Server(config).serve(sockets=[listener])
        print(Message("serve-stopped", answered=metrics.answered, taken=metrics.received), flush=True)
    finally:
        await dispatcher.stop()


@contextlib.contextmanager
def _ignore_signals_after_stop():
    """Ignore the stop signal that uvicorn raises again when it has stopped.

    By default, this signal would end the process before the workers are stopped.
    """
    handlers = {each: signal.signal(each, lambda *_: None) for each in STOP_SIGNALS}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)

"""Ports of servers that tests start."""

import socket
import time
from subprocess import Popen


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("localhost", 0)) as listener:
        return listener.getsockname()[1]


def wait_for_port(port: int, process: Popen, seconds: float = 120) -> None:
    """Wait until a server listens; fail if its process ends."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server stopped"
        with socket.socket() as connection:
            if connection.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not start")

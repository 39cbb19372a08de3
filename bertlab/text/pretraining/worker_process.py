"""Set up worker processes, which ignore the signals of the terminal and end when their parent ends."""

import multiprocessing
import os
import signal
import threading


def set_up() -> None:
    """Set up this process as a worker. A worker process must call this first."""
    # Ctrl-C and the hang-up of a closed terminal reach all processes; the parent handles them and ends its workers.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # A forked worker inherits the parent's handler of SIGTERM. With the default handler, the signal ends the worker at
    # once.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is already one process per core
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent ends. Otherwise the worker of a killed parent would wait for work forever."""
    multiprocessing.parent_process().join()
    os._exit(1)

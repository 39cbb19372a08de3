"""Set up worker processes, which ignore the signals meant for their parent and end when it ends."""

import multiprocessing
import os
import signal
import threading


def set_up() -> None:
    """Set up this process as a worker. A worker process must call this first."""
    # Ctrl-C, a closed terminal and torchrun's stop signal are for the parent, which then ends its workers
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is already one process per core
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent ends. Otherwise the worker of a killed parent would wait for work forever."""
    multiprocessing.parent_process().join()
    os._exit(1)

"""Set up worker processes: they ignore the signals meant for their parent, and end with it."""

import multiprocessing
import os
import signal
import threading


def start() -> None:
    """Set up this process as a worker; the first thing a worker process does."""
    # Ctrl-C, a closed terminal and torchrun's stop signal are for the parent, which then ends its workers
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is a process for each core already
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent ends; were the parent killed, a worker would wait for work for ever."""
    multiprocessing.parent_process().join()
    os._exit(1)

"""Processes that work for another one: how they begin, and that they end with it. Knows nothing of their work."""

import multiprocessing
import os
import signal
import threading


def begin() -> None:
    """What a helping process does first."""
    # Ctrl-C and torchrun's stop are for the process that is helped
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # a process a core is parallel enough
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Were the other one killed, a pool's process would wait for work for ever."""
    multiprocessing.parent_process().join()
    os._exit(1)

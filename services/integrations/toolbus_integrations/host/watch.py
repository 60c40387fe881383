"""Ends this process when it takes too much memory, or is left alone: in a thread, whatever its loop does."""

import os
import resource
import signal
import sys
import threading
from typing import Final

LOOK_S: Final = 0.2
OUT_OF_MEMORY: Final = 70  # exit codes, which the service knows
LEFT_ALONE: Final = 71
UNIT: Final = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


def watch(memory_bytes: int) -> None:
    """
    The process may take so much memory and no more; it ends with the service that started it.

    The system refuses what is above the bound; what is counted otherwise there is seen by a thread.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the memory of a provider holds secrets
    parent = os.getppid()
    threading.Thread(target=_look, args=(memory_bytes, parent), name="watch", daemon=True).start()


def end_out_of_memory() -> None:
    """The process is gone: what failed for want of memory may be half done."""
    os._exit(OUT_OF_MEMORY)


def end_alone() -> None:
    """The process is gone, and so are the programs that a provider started and did not end: nobody else would."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(LEFT_ALONE)


def _look(memory_bytes: int, parent: int) -> None:
    pause = threading.Event()
    while not pause.wait(LOOK_S):
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT > memory_bytes:
            end_out_of_memory()
        if os.getppid() != parent:
            end_alone()

"""Ends this process when it takes too much memory, or is left alone: in a thread, whatever its loop does."""

import os
import re
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Final

LOOK_S: Final = 0.2
OUT_OF_MEMORY: Final = 70  # exit codes, which the service knows
LEFT_ALONE: Final = 71
UNIT: Final = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
STATUS: Final = Path("/proc/self/status")
HELD: Final = re.compile(rb"^Vm(?:HWM|RSS):\s*(\d+) kB", re.MULTILINE)  # the most comes before what is held now


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


def most_held_bytes() -> int:
    """
    The most memory that this program has held so far, in bytes.

    On Linux `ru_maxrss` begins with what the process held of which this one is a child: a service with much in its
    memory could start nothing that lives.
    """
    found = HELD.search(STATUS.read_bytes()) if STATUS.exists() else None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT if found is None else int(found[1]) * 1024


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
        if most_held_bytes() > memory_bytes:
            end_out_of_memory()
        if os.getppid() != parent:
            end_alone()

"""Ports for servers that are started later, and again: nobody is given one that somebody else was given."""

import fcntl
import os
import socket
import tempfile
from pathlib import Path

# Below those that a kernel gives to whoever asks for any: none of these is taken while its server is away.
FIRST, LAST = 10_000, 32_000
GIVEN = Path(tempfile.gettempdir()) / f"toolbus-test-ports-{os.getuid()}"


def free_port() -> int:
    """A TCP port on the loopback address that nobody listens on, the next in turn over all runs on this machine."""
    with GIVEN.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        port = int(file.read() or FIRST)
        while not is_free(port := port + 1 if port < LAST else FIRST):
            pass
        file.truncate(0)
        file.write(str(port))
    return port


def is_free(port: int) -> bool:
    """Whether it can be listened on now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True

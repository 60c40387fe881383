"""Servers as processes of their own, without a Python that starts and imports for each: they are forked from one."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.process import BaseProcess

FORKING = multiprocessing.get_context("forkserver")
# What takes long to import, by names that are found from anywhere. The servers themselves each process imports.
FORKING.set_forkserver_preload(
    [
        "mcp.server.lowlevel",
        "mcp.server.mcpserver",
        "mcp.server.runner",
        "mcp.server.stdio",
        "uvicorn.lifespan.on",
        "uvicorn.loops.auto",
        "uvicorn.protocols.http.auto",
        "uvicorn.protocols.websockets.auto",
    ]
)


def forked(serve: Callable[..., None], *given: object) -> BaseProcess:
    """A process that serves, and listens on return: `serve` is given a connection on which it says so."""
    ours, theirs = FORKING.Pipe(duplex=False)
    process = FORKING.Process(target=serve, args=(theirs, *given), daemon=True)
    process.start()
    theirs.close()
    with ours:
        assert ours.recv() == "listening"
    return process


def kill(process: BaseProcess) -> None:
    """It is gone on return, as after a power failure."""
    process.kill()
    process.join()
    process.close()

"""
Toolbus for those who use it: the client, its errors, and the views that the server answers with.

    from toolbus import Client

    with Client() as bus:
        print(bus.call("get_weather", city="Berlin", wait=10).output)

Names are loaded when they are first used, so that the command line starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolbus.client import (
        AsyncClient,
        CallFailed,
        CallInDoubt,
        CallOptions,
        CallParked,
        CallStillOpen,
        Client,
        ClientError,
        Conflict,
        EventView,
        Invalid,
        NoServer,
        NotAllowed,
        NotFound,
        NotSucceeded,
        Problem,
        ServerFault,
        Unavailable,
        UnexpectedAnswer,
        Unreachable,
    )

__all__ = [
    "AsyncClient",
    "CallFailed",
    "CallInDoubt",
    "CallOptions",
    "CallParked",
    "CallStillOpen",
    "Client",
    "ClientError",
    "Conflict",
    "EventView",
    "Invalid",
    "NoServer",
    "NotAllowed",
    "NotFound",
    "NotSucceeded",
    "Problem",
    "ServerFault",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first used. Source: PEP 562."""
    if name in __all__:
        return getattr(import_module("toolbus.client"), name)
    raise AttributeError(f"module 'toolbus' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what can be imported from here."""
    return sorted(__all__)

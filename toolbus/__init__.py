"""
For those who use Toolbus, and who write providers: the client, its errors, views of answers; the plug-in protocol.

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
    from toolbus.provider import READ, SEND, WRITE, Call, Info, Method, Provider, ToolFailed

PLUG_IN = frozenset({"READ", "SEND", "WRITE", "Call", "Info", "Method", "Provider", "ToolFailed"})
__all__ = [
    "READ",
    "SEND",
    "WRITE",
    "AsyncClient",
    "Call",
    "CallFailed",
    "CallInDoubt",
    "CallOptions",
    "CallParked",
    "CallStillOpen",
    "Client",
    "ClientError",
    "Conflict",
    "EventView",
    "Info",
    "Invalid",
    "Method",
    "NoServer",
    "NotAllowed",
    "NotFound",
    "NotSucceeded",
    "Problem",
    "Provider",
    "ServerFault",
    "ToolFailed",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first used. Source: PEP 562."""
    if name in PLUG_IN:
        return getattr(import_module("toolbus.provider"), name)
    if name in __all__:
        return getattr(import_module("toolbus.client"), name)
    raise AttributeError(f"module 'toolbus' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what can be imported from here."""
    return sorted(__all__)

"""
The client: typed calls over HTTP, waiting in a thread (`Client`) or in an event loop (`AsyncClient`).

`requests/` holds every request as a plain value, `flows.py` and `following.py` every rule as a generator
of steps, `runner.py` and `async_runner.py` carry the steps out. `failures.py` draws the tree of errors.
"""

from toolbus.client.async_client import AsyncClient
from toolbus.client.failures import (
    CallFailed,
    CallInDoubt,
    CallParked,
    CallStillOpen,
    ClientError,
    Conflict,
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
from toolbus.client.requests.calls import CallFilter, CallOptions
from toolbus.client.requests.executions import ExecutionFilter
from toolbus.client.requests.server import EventFilter
from toolbus.client.sync_client import Client
from toolbus.client.views import AppliedTool, EventView, Me, Readiness

__all__ = [
    "AppliedTool",
    "AsyncClient",
    "CallFailed",
    "CallFilter",
    "CallInDoubt",
    "CallOptions",
    "CallParked",
    "CallStillOpen",
    "Client",
    "ClientError",
    "Conflict",
    "EventFilter",
    "EventView",
    "ExecutionFilter",
    "Invalid",
    "Me",
    "NoServer",
    "NotAllowed",
    "NotFound",
    "NotSucceeded",
    "Problem",
    "Readiness",
    "ServerFault",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
]

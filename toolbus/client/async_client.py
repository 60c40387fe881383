"""The client for programs with an event loop."""

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar, Unpack

import httpx

from toolbus.client import flows, following
from toolbus.client.async_integrations import Integrations
from toolbus.client.async_mcp import McpServers
from toolbus.client.async_resources import Dead, Executions, Keys, Tools
from toolbus.client.async_runner import AsyncRunner
from toolbus.client.async_secrets import Secrets
from toolbus.client.async_stored import StoredValues
from toolbus.client.async_waits import Delegations, Grants, Waits
from toolbus.client.async_webhooks import Webhooks
from toolbus.client.exchange import Request
from toolbus.client.failures import Problem
from toolbus.client.flows import exchange
from toolbus.client.location import find_server
from toolbus.client.requests import calls as requests
from toolbus.client.requests import functions
from toolbus.client.requests import server as server_requests
from toolbus.client.requests.calls import CallFilter, CallOptions, Tool
from toolbus.client.requests.server import EventFilter
from toolbus.client.views import EventView, Me, Readiness
from toolbus_contracts.calls import CallView
from toolbus_contracts.values import Json
from toolbus_contracts.waits import LeasedCall, LeaseView

T = TypeVar("T")
DEFAULT_WAIT_S = 60.0


class AsyncClient:
    """
    A connection to Toolbus for one event loop, to be closed (`async with AsyncClient() as bus:`).

    Without `url` and `api_key` the server is found by TOOLBUS_URL and TOOLBUS_API_KEY, else by what
    `toolbus up` left in `./.toolbus`. `timeout_s` bounds one request, beside the time that the server
    was asked to wait. For hundreds of calls at once give a faster `transport`, such as that of
    httpx-aiohttp.

    Raises:
        NoServer: neither names a server and a key.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout_s: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        server = find_server(url, api_key, environ=os.environ, folder=Path())
        self._runner = AsyncRunner(server, timeout_s, transport)
        self.tools = Tools(self._runner)
        self.executions = Executions(self._runner)
        self.keys = Keys(self._runner)
        self.dead = Dead(self._runner)
        self.waits = Waits(self._runner)
        self.grants = Grants(self._runner)
        self.delegations = Delegations(self._runner)
        self.webhooks = Webhooks(self._runner)
        self.secrets = Secrets(self._runner)
        self.stored = StoredValues(self._runner)
        self.integrations = Integrations(self._runner)
        self.mcp = McpServers(self._runner)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._runner.server.url!r})"

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._runner.server.url

    async def close(self) -> None:
        """Close every connection."""
        await self._runner.close()

    async def fetch(self, request: Request[T]) -> T:
        """Send any request of `toolbus.client.requests` and read its answer."""
        return await self._runner.run(exchange(request))

    # ── calls ───────────────────────────────────────────────────────────────────────────────────

    async def call(
        self,
        tool: Tool,
        /,
        *,
        arguments: Mapping[str, Json] | None = None,
        wait: float | None = DEFAULT_WAIT_S,
        options: CallOptions | None = None,
        **more_arguments: Json,
    ) -> CallView:
        """
        Run a tool and hand out the call once it has succeeded; its result is in `.output`.

        Keywords are the arguments of the tool; only `arguments`, `wait` and `options` are not, and a
        tool that has arguments of these names gets them through `arguments`. Seconds of `wait`; None
        waits as long as it takes.

        Raises:
            CallFailed: it ended without success.
            CallInDoubt: its effect may or may not have happened.
            CallParked: it waits for somebody.
            CallStillOpen: `wait` is over; look again with `wait_for`.
            Problem: it was not accepted.
        """
        body = requests.call_body(tool, {**(arguments or {}), **more_arguments}, options or {})
        return await self._runner.run(flows.succeeded(flows.submit(body, wait)))

    async def submit(
        self,
        tool: Tool,
        arguments: Mapping[str, Json] | None = None,
        *,
        wait: float | None = 0.0,
        **options: Unpack[CallOptions],
    ) -> CallView:
        """
        Submit a call and hand it out as it stands after at most `wait` seconds, whatever became of it.

        Raises:
            Problem: it was not accepted.
        """
        return await self._runner.run(flows.submit(requests.call_body(tool, arguments, options), wait))

    async def submit_many(self, calls: Iterable[Mapping[str, Json]]) -> list[CallView | Problem]:
        """
        Submit many calls, each a body as of POST /v1/calls; one result for each, in order.

        A call that was not accepted is a Problem in its place; it is not raised.
        """
        return await self._runner.run(flows.submit_many([requests.keyed(body) for body in calls]))

    async def get(self, call_id: str, *, wait: float | None = 0.0) -> CallView:
        """Read a call as it stands after at most `wait` seconds, sooner when it ends or waits for somebody."""
        return await self._runner.run(flows.look(call_id, wait))

    async def wait_for(self, call_id: str, *, wait: float | None = DEFAULT_WAIT_S) -> CallView:
        """
        Hand out a call once it has succeeded.

        Raises:
            NotSucceeded: as `call` says.
        """
        return await self._runner.run(flows.succeeded(flows.look(call_id, wait)))

    async def cancel(self, call_id: str, reason: str = "") -> CallView:
        """Ask for a call to be stopped; whether it was is in the status that comes back."""
        return await self._runner.run(exchange(requests.cancel_call(call_id, reason)))

    async def settle(
        self, call_id: str, outcome: Literal["succeeded", "failed", "retry"], *, note: str, output: Json = None
    ) -> CallView:
        """
        Say what really happened to a call in doubt (scope operate).

        Raises:
            Conflict: it is not in doubt.
        """
        return await self._runner.run(exchange(requests.settle_call(call_id, outcome, note=note, output=output)))

    def calls(self, **asked: Unpack[CallFilter]) -> AsyncIterator[CallView]:
        """Hand out calls, newest first; `arguments` and `output` only when `include` names them."""
        return self._runner.iterate(flows.every(requests.list_calls(asked, flows.PAGE)))

    # ── functions that this program carries out ─────────────────────────────────────────────────

    async def lease(
        self, *tools: str, limit: int = 1, visibility_s: float = functions.VISIBILITY_S
    ) -> tuple[LeasedCall, ...]:
        """
        Take up to `limit` waiting calls of these functions to work on, oldest first (scope work).

        Nobody else gets them for `visibility_s` seconds; `heartbeat` makes that longer, `complete` ends it.
        """
        return await self._runner.run(exchange(functions.lease_calls(tools, limit, visibility_s)))

    async def heartbeat(self, leased: LeasedCall, visibility_s: float = functions.VISIBILITY_S) -> LeaseView:
        """
        Keep a leased call for so many seconds from now.

        Raises:
            Conflict: its time was over and another worker has it, or nobody waits for it any more.
        """
        return await self._runner.run(exchange(functions.keep_lease(leased.wait_id, leased.lease_id, visibility_s)))

    async def release(self, leased: LeasedCall) -> None:
        """
        Give a leased call back, so that another worker may have it at once.

        Raises:
            Conflict: its time was over and another worker has it.
        """
        await self._runner.run(exchange(functions.release_lease(leased.wait_id, leased.lease_id)))

    async def complete(
        self,
        call_id: str,
        output: Json = None,
        *,
        error: str | Mapping[str, Json] | None = None,
        token: str | None = None,
    ) -> CallView:
        """
        Say what a function came to: an output, or an `error` (its message, or message and code).

        The call's own `token` stands in for a key. The same answer again changes nothing.

        Raises:
            Conflict: another answer was taken, or nobody waits for one any more.
        """
        return await self._runner.run(exchange(functions.complete_call(call_id, output, error, token)))

    # ── the log and the server ──────────────────────────────────────────────────────────────────

    def events(self, after: int = 0, **asked: Unpack[EventFilter]) -> AsyncIterator[EventView]:
        """Hand out the events after a position up to the newest, oldest first (scope audit)."""
        return self._runner.iterate(flows.every(server_requests.list_events(asked, after, flows.PAGE), "after"))

    def follow(self, after: int | None = None, **asked: Unpack[EventFilter]) -> AsyncIterator[EventView]:
        """Hand out events as they are recorded, for ever; None begins now, a position after it."""
        return self._runner.iterate(following.follow(lambda last: server_requests.stream_events(asked, last), after))

    async def me(self) -> Me:
        """Tell who the key stands for and what it may do."""
        return await self._runner.run(exchange(server_requests.get_me()))

    async def version(self) -> str:
        """Tell the version of the server."""
        return await self._runner.run(exchange(server_requests.get_version()))

    async def readiness(self) -> Readiness:
        """Tell whether the server takes work, and what is missing."""
        return await self._runner.run(exchange(server_requests.get_readiness()))

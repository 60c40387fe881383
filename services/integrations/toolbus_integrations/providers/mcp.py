"""
Any MCP server over streamable HTTP, named by the setup of the tool: its tools are listed, and called by name.

A server that a tenant uses for good is better put as a resource (`/v1/mcp/servers`), whose tools are defined one by one
with their schemas. Here a connection is opened for the call and closed behind it; a request is never sent twice.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, StringConstraints, ValidationError

from toolbus.provider import READ, WRITE, Call, Info, Provider, ToolFailed
from toolbus_contracts.egress import place_of
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.mcp import MAX_TIMEOUT_S, HeaderName, HeaderValue, PutMcpServer
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.mcp_answers import RpcError, judge_error, judge_result, kept
from toolbus_integrations.mcp.exchange import Exchange
from toolbus_integrations.mcp.reaching import CONNECTION, Session, Unreachable
from toolbus_integrations.mcp.targets import Target
from toolbus_integrations.providers.vendor import Closed
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run

CONNECT_S: Final = 30.0


class Setup(Closed):
    """The server: `http_url`, and `http_headers` that go out with every request to it."""

    transport: Literal["http"] = "http"
    http_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s#]+$", max_length=8192)]
    http_headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict, max_length=32)


class ListTools(Closed):
    """Nothing has to be given; `dummy` is for models that cannot call without arguments."""

    dummy: str = "dummy"


class ListedTool(Closed):
    """One tool, as the server describes it."""

    name: str
    description: str | None = None
    input_schema: dict[str, JsonValue] | None = None


class ListedTools(Closed):
    """All tools of the server, page after page."""

    tools: list[ListedTool]


class CallTool(Closed):
    """
    Which tool, with what, and for how long to wait (seconds).

    An attempt ends after 90 seconds all the same, unless the definition has a longer `timeout_s`.
    """

    tool_name: str = Field(min_length=1)
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    timeout_seconds: float = Field(60, gt=0, le=MAX_TIMEOUT_S)


class Called(Closed):
    """The answer: blocks of text joined, the structured content, and every block as it came."""

    text: str | None = None
    structured: JsonValue = None
    content: list[dict[str, JsonValue]] = Field(default_factory=list)
    is_error: bool = False
    raw: str | None = None
    json_error: str | None = None


provider = Provider(
    "mcp",
    info=Info(
        friendly_name="MCP",
        url="https://modelcontextprotocol.io",
        docs="https://modelcontextprotocol.io/specification",
    ),
    setup=Setup,
    extra="integrations",
    needs=("mcp",),
)


@provider.method(contract=READ, timeout_s=60)
async def list_tools(arguments: ListTools, setup: Setup, call: Call) -> ListedTools:  # noqa: ARG001 - as published
    """List the tools that the server offers."""
    async with _connected(setup, call) as session:
        try:
            said = await session.tools()
        except Unreachable as error:
            raise ToolFailed(error.message, code="mcp_error", retryable=True) from error
    return ListedTools(
        tools=[
            ListedTool(name=tool.name, description=tool.description or None, input_schema=tool.arguments)
            for tool in said.tools
        ]
    )


@provider.method(contract=WRITE, timeout_s=90)
async def call_tool(arguments: CallTool, setup: Setup, call: Call) -> Called:
    """Call one tool of the server. What the tool reports as an error has failed."""
    async with _connected(setup, call) as session:
        exchange = Exchange(SystemClock(), Run(), send_by=None, max_bytes=call.max_output_bytes)
        call.mark_sent()
        async with asyncio.timeout(arguments.timeout_seconds):
            found = await session.call(arguments.tool_name, dict(arguments.arguments), exchange)
    if isinstance(found, RpcError):
        raise _failure(judge_error(found, exchange.heard(), Terms()))
    outcome = judge_result(found, Terms())
    if outcome.error is not None:
        raise _failure(outcome)
    return Called.model_validate(kept(found))


@asynccontextmanager
async def _connected(setup: Setup, call: Call) -> AsyncIterator[Session]:
    """
    A session with the server, at an address that the guard has checked.

    Raises:
        ToolFailed: the guard refuses it, or its url.
        ConnectionError: it cannot be reached; nothing was sent that could have an effect.
    """
    await call.examine(setup.http_url)
    place = place_of(setup.http_url)
    address = await call.checked_address(place.host, place.port)

    async def resolve(host: str, port: int) -> Sequence[str]:
        del host, port  # requests leave the origin of the url in no case
        return [address]

    session: Session = import_module(CONNECTION).connection_to(_target(setup), resolve, SystemClock(), allowed=())
    try:
        async with asyncio.timeout(CONNECT_S):
            await session.open()
        yield session
    except Unreachable as error:
        raise ConnectionError(error.message) from error
    finally:
        await session.close()


def _target(setup: Setup) -> Target:
    try:
        settings = PutMcpServer(transport="http", url=setup.http_url, headers=setup.http_headers)
    except ValidationError as error:
        raise ToolFailed(f"no server: {error.error_count()} faults in its setup", code="setup_invalid") from error
    return Target(key="", name="mcp", settings=settings, headers=setup.http_headers, env={}, redactor=Redactor())


def _failure(outcome: Outcome) -> Exception:
    """What did not succeed, as a provider tells it."""
    error = outcome.error
    if error is None:
        raise AssertionError("an outcome without an output has an error")
    if outcome.result == "unknown":
        return ConnectionError(error.message)
    return ToolFailed(
        error.message,
        code=error.code,
        retryable=error.retryable,
        retry_after_s=outcome.retry_after_s,
        has_effect=False if error.effect_happened == "no" else None,
    )

"""
Any MCP server over HTTP, named by the setup of the tool: its tools are listed, and called by name.

A server that a tenant uses for good is better put as a resource (`/v1/mcp/servers`), whose tools are defined one by one
with their schemas. Connections are kept here too, and a call whose fate is not known is never sent again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal, Self, TypeVar

import httpx
from pydantic import BeforeValidator, Field, JsonValue, StringConstraints, model_validator

from toolbus.provider import READ, WRITE, Call, Info, Provider, ToolFailed
from toolbus_contracts.calls import EffectHappened, ResponseExcerpt
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.mcp import MAX_TIMEOUT_S, HeaderName, HeaderValue
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.mcp_answers import (
    RpcError,
    judge_error,
    judge_result,
    kept,
    unasked,
    wants_input,
)
from toolbus_integrations.mcp.exchange import MAX_EXCERPT_BYTES
from toolbus_integrations.mcp.reaching import Session, Unreachable
from toolbus_integrations.providers.mcp_sessions import CallExchange, forget, session_with, target_of, unreachable
from toolbus_integrations.providers.vendor import Closed

Said = TypeVar("Said")
HAS_EFFECT: dict[EffectHappened, bool] = {"no": False, "yes": True}
LONGEST_LETTER_BYTES = 4
OF_PACKING = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class Forgotten(Exception):
    """The server knows the session no more: it carried nothing out."""


def _without_those_set(given: object) -> object:
    if not isinstance(given, dict):
        return given
    return {name: value for name, value in given.items() if str(name).lower() not in {"accept", "content-type"}}


Token = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=8192)]
Headers = Annotated[dict[HeaderName, HeaderValue], BeforeValidator(_without_those_set)]


class Setup(Closed):
    """
    The server: `http_url`, `http_headers` that go out with every request to it, `bearer` as `Authorization: Bearer`.

    `transport`: `http` is streamable HTTP, `sse` the transport before it. `Accept` and `Content-Type` may be among the
    headers, and are left out: the protocol sets them itself.
    """

    transport: Literal["http", "sse"] = "http"
    http_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s#]+$", max_length=8192)]
    http_headers: Headers = Field(default_factory=dict, max_length=32)
    bearer: Token | None = Field(default=None, repr=False, json_schema_extra={"format": "password", "writeOnly": True})

    @model_validator(mode="after")
    def _is_authorized_once(self) -> Self:
        if self.bearer is not None and any(name.lower() == "authorization" for name in self.http_headers):
            raise ValueError("bearer is the header authorization: give one of them")
        return self

    @property
    def headers(self) -> dict[str, str]:
        """All of them."""
        return {**self.http_headers, **({} if self.bearer is None else {"Authorization": f"Bearer {self.bearer}"})}


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

    async def listed(session: Session) -> ListedTools:
        session.forget_listing()  # whoever asks wants to know what there is now
        said = await session.tools()
        return ListedTools(
            tools=[
                ListedTool(name=tool.name, description=tool.description or None, input_schema=tool.arguments)
                for tool in said.tools
            ]
        )

    try:
        return await _talking(setup, call, listed)
    except Unreachable as error:
        raise ToolFailed(error.message, code="mcp_error", retryable=True, retry_after_s=error.retry_after_s) from error


@provider.method(contract=WRITE, timeout_s=90)
async def call_tool(arguments: CallTool, setup: Setup, call: Call) -> Called:
    """Call one tool of the server. What the tool reports as an error has failed."""

    async def called(session: Session) -> Called:
        await session.tools(is_pinned=False)  # servers of 2026-07-28 want their list read before any call
        exchange = CallExchange(call)
        found = await session.call(arguments.tool_name, dict(arguments.arguments), exchange)
        if isinstance(found, RpcError):
            heard = exchange.heard()
            if heard.is_session_gone:
                raise Forgotten
            raise _failure(judge_error(found, heard, Terms()))
        outcome = unasked(()) if wants_input(found) else judge_result(found, Terms())
        if outcome.error is not None:
            raise _failure(outcome)
        return Called.model_validate(kept(found))

    try:
        async with asyncio.timeout(arguments.timeout_seconds):
            return await _talking(setup, call, called)
    except Unreachable as error:
        raise unreachable(error) from error
    except Forgotten as error:
        raise unreachable(Unreachable("the server forgot its sessions, and carried nothing out")) from error


async def _talking(setup: Setup, call: Call, talk: Callable[[Session], Awaitable[Said]]) -> Said:
    """
    What comes of talking over the session that is kept; over a new one, once, where the server has forgotten that.

    Raises:
        ToolFailed: the guard refuses the server, its url or headers are none, or it cannot be reached.
        Unreachable, Forgotten: the new one did not hold either; nothing was sent that could have an effect.
    """
    await call.examine(setup.http_url)
    target = target_of(setup.http_url, setup.headers, call.tenant, is_sse=setup.transport == "sse")
    async with session_with(target, call) as session:
        try:
            return await talk(session)
        except (Unreachable, Forgotten):
            forget(target, session)
    async with session_with(target, call) as session:
        return await talk(session)


def _failure(outcome: Outcome) -> Exception:
    """What did not succeed, as a provider tells it."""
    error = outcome.error
    if error is None:
        raise AssertionError("an outcome without an output has an error")
    if outcome.result == "not_sent":
        return ConnectionError(error.message.removeprefix("nothing was sent: "))
    if outcome.result == "unknown":
        return TimeoutError(error.message) if error.code == "timeout" else ConnectionError(error.message)
    return ToolFailed(
        error.message,
        code=error.code,
        retryable=error.retryable,
        retry_after_s=outcome.retry_after_s,
        response=None if error.response is None else _response(error.response),
        has_effect=HAS_EFFECT.get(error.effect_happened),
    )


def _response(told: ResponseExcerpt) -> httpx.Response:
    """
    The answer that told an error, as far as it was kept.

    Without its body where that was cut off: half a secret at its end would not be found any more.
    """
    body = told.body_excerpt.encode()
    headers = {name: text for name, text in told.headers.items() if name.lower() not in OF_PACKING}
    whole = body if len(body) < MAX_EXCERPT_BYTES - LONGEST_LETTER_BYTES else b""
    return httpx.Response(told.status_code, headers=headers, content=whole)

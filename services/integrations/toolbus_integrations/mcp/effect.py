"""From work to an outcome, for tools of type `mcp`: one call over a connection that is kept, and never a second one."""

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol

from toolbus_contracts.calls import CallError, Continued
from toolbus_contracts.errors import NotFound, Refused
from toolbus_contracts.executing.outcomes import Outcome, deadline_passed, refused
from toolbus_contracts.executing.permits import Permit, is_late
from toolbus_contracts.executing.redacting import DROPPED
from toolbus_contracts.executing.redaction import RedactionFailed, Redactor
from toolbus_contracts.mcp import PutMcpServer
from toolbus_contracts.references import secret_names
from toolbus_contracts.tools import JsonObject, McpSection, Surface
from toolbus_contracts.work import WorkItem
from toolbus_integrations.core.mcp_answers import (
    CONNECTION_CLOSED,
    Heard,
    RpcError,
    judge_error,
    judge_result,
    wants_input,
)
from toolbus_integrations.core.mcp_outputs import unfit
from toolbus_integrations.core.mcp_surfaces import drift, surface_of
from toolbus_integrations.mcp.connections import Connections
from toolbus_integrations.mcp.exchange import STOPPED, Exchange, NotHandedOver
from toolbus_integrations.mcp.reaching import Session, Unreachable
from toolbus_integrations.mcp.targets import Target, target_of
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.deadline import Until
from toolbus_runtime.executing.runs import Run
from toolbus_runtime.secrets.held import HeldSecrets

INTERNAL: Final = -32603  # of JSON-RPC: it says nothing about the effect


class Servers(Protocol):
    """Where the servers of tenants are kept."""

    async def get(self, tenant: str, name: str) -> PutMcpServer | None:
        """
        The server of this name, if there is one.

        Raises:
            Unavailable: the database is away.
        """
        ...


@dataclass(frozen=True, slots=True)
class McpCall:
    """One call, ready to be made; `continued` when its server has begun, and wanted to know more."""

    target: Target
    tool: str
    arguments: JsonObject
    continued: Continued | None = None


class McpEffect:
    """Runs a tool of an MCP server."""

    def __init__(self, connections: Connections, servers: Servers, clock: Clock) -> None:
        self._connections = connections
        self._servers = servers
        self._clock = clock

    async def prepare(self, item: WorkItem, held: HeldSecrets, *, is_large: bool) -> McpCall:
        """
        The call, with its server and the secrets that it takes.

        Raises:
            Refused: there is no such server, or a secret cannot be had or may not be sent there.
            Unavailable: it cannot be told now.
        """
        del is_large
        section = section_of(item)
        server = await self._servers.get(item.tenant, section.server)
        if server is None:
            raise NotFound(f"there is no MCP server {section.server}")
        await held.resolve(secret_names(item.definition, item.setup, item.surface))  # what an approval depends on
        target = await target_of(item.tenant, section.server, server, held.resolve)
        given = item.arguments if isinstance(item.arguments, dict) else {}
        return McpCall(target, section.tool, {**given, **(section.arguments or {})}, item.continued)

    async def perform(self, item: WorkItem, prepared: McpCall, permit: Permit, run: Run) -> Outcome:
        """
        What came of it. Connecting counts into the time of the attempt; nothing is sent a second time.

        Once an answer is there, no time ends it any more: whatever the tool did is known.
        """
        exchange = Exchange(
            self._clock,
            run,
            send_by=permit.send_by,
            max_bytes=item.definition.max_output_bytes,
            redactor=prepared.target.redactor,
        )
        stop_at = self._clock.steady_s() + item.definition.attempt_s(item.surface)
        until = Until(stop_at if permit.stop_by is None else min(stop_at, permit.stop_by), self._clock)
        run.on_heard = lambda: None if run.is_wanted(is_sent=exchange.is_sent) else until.end()
        try:
            async with until:
                found, live = await self._talk(item, prepared, exchange)
            run.on_heard = None
            return await self._seen(item, found, live, exchange.heard(), redactor=prepared.target.redactor)
        except TimeoutError:
            if run.is_wanted(is_sent=exchange.was_sent):
                exchange.fail("timeout", "no answer in time")
            else:
                exchange.fail("unwanted", STOPPED)
            return self._judged(item, RpcError(CONNECTION_CLOSED, ""), exchange.heard())
        except NotHandedOver as error:
            exchange.fail(error.kind, str(error))
            return self._judged(item, RpcError(CONNECTION_CLOSED, ""), exchange.heard())
        except Unreachable as error:
            told = CallError(code="connection_failed", message=f"nothing was sent: {error.message}", retryable=True)
            return Outcome("not_sent", error=told, retry_after_s=error.retry_after_s)
        except Refused as error:
            return refused(error)
        finally:
            run.on_heard = None

    async def _talk(
        self, item: WorkItem, prepared: McpCall, exchange: Exchange
    ) -> tuple[JsonObject | RpcError, Surface | None]:
        """What the server answered, and the tool as it is there. Raises: NotHandedOver, Refused, Unreachable."""
        async with self._connections.use(prepared.target) as connection:
            live = await _live(connection, prepared, is_defined=item.surface is not None)
            if item.surface is not None and (changed := drift(item.surface, live, prepared.target.settings.pin)):
                message = f"{prepared.tool} is not as it was defined: {'; '.join(changed)}; apply the definition again"
                raise Refused("definition_changed", message)
            found = await connection.call(prepared.tool, prepared.arguments, exchange, prepared.continued)
            if exchange.heard().is_session_gone:
                self._connections.drop(prepared.target, connection)
            return found, live

    async def _seen(
        self, item: WorkItem, found: JsonObject | RpcError, live: Surface | None, heard: Heard, *, redactor: Redactor
    ) -> Outcome:
        """What an answer comes to. Raises: Refused, it wants a secret kept."""
        if live is not None and live.output is not None and not isinstance(found, RpcError):
            misfit = await asyncio.to_thread(unfit, found, live.output, item.terms, redactor)
            if misfit is not None:
                return misfit
        # What a server says at length is searched for secrets at length: others go on meanwhile.
        said = await asyncio.to_thread(_concealed, found, redactor) if redactor else _concealed(found, redactor)
        return self._judged(item, said, heard)

    def _judged(self, item: WorkItem, found: JsonObject | RpcError, heard: Heard) -> Outcome:
        if not isinstance(found, RpcError):
            return judge_result(found, item.terms)
        if heard.failure is not None and not heard.failure.is_sent and is_late(item, self._clock.now()):
            return deadline_passed()
        return judge_error(found, heard, item.terms)


def section_of(item: WorkItem) -> McpSection:
    """The section of a work item for this executor."""
    section = item.definition.mcp
    if section is None:
        raise Refused("unsupported_type", "this executor runs tools of type mcp")
    return section


def _concealed(found: JsonObject | RpcError, redactor: Redactor) -> JsonObject | RpcError:
    """
    What the server says that is no success, without the secrets: it is cut off afterwards.

    Raises:
        Refused: `input_required`, a secret stands in the state that it wants back, which it would not know without.
    """
    try:
        if isinstance(found, RpcError):
            return RpcError(found.code, redactor.in_text(found.message))
        if not wants_input(found):
            return found if found.get("isError") is not True else redactor.in_json(found)
        told: JsonObject = redactor.in_json(found)
    except (RedactionFailed, ValueError):  # the latter for what is no strict JSON
        return RpcError(INTERNAL, f"what the server said was dropped, because {DROPPED}")
    if told.get("requestState") != found.get("requestState"):
        raise Refused("input_required", "the server wants a state kept that holds a secret")
    return told


async def _live(connection: Session, call: McpCall, *, is_defined: bool) -> Surface | None:
    """
    The tool as its server says now, if there is one. Servers of 2026-07-28 want their list read before any call.

    Raises:
        Unreachable: the server does not say.
    """
    settings = call.target.settings
    said = await connection.tools(is_pinned=settings.pin == "pin" and is_defined)
    tool = next((one for one in said.tools if one.name == call.tool), None)
    return None if tool is None else surface_of(tool, said, settings)

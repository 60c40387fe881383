"""The library's session as we have it: what it tells a server of us, and what a call brings along."""

from collections.abc import Callable
from typing import NamedTuple

from mcp import ClientSession, MCPError
from mcp.client.session import IncomingMessage
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitResult,
    FormElicitationCapability,
    Implementation,
    InputResponses,
    ToolListChangedNotification,
    UrlElicitationCapability,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolbus_contracts.calls import Continued
from toolbus_contracts.errors import Refused
from toolbus_integrations.mcp.network import DENIED, UNREACHABLE
from toolbus_runtime.executing.service import release


class Brought(NamedTuple):
    """What a call brings along to a server that has begun, as the library takes it."""

    responses: InputResponses | None = None
    state: str | None = None

    @classmethod
    def of(cls, continued: Continued | None) -> "Brought":
        """
        What there is of it.

        Raises:
            Refused: `request_invalid`, an answer has a form that the protocol does not know.
        """
        if continued is None:
            return cls()
        try:
            responses = {name: ElicitResult.model_validate(one) for name, one in continued.responses.items()}
        except ValidationError as error:
            message = f"an answer for the server is none of the protocol: {error.error_count()} faults"
            raise Refused("request_invalid", message) from error
        return cls(dict(responses) or None, continued.request_state)


class SharedSession(ClientSession):
    """`on_change` is told when the list of tools changes; `may_ask`: the server hears that people answer questions."""

    def __init__(self, dispatcher: JSONRPCDispatcher, on_change: Callable[[], None], *, may_ask: bool) -> None:
        self._may_ask = may_ask

        async def on_message(message: IncomingMessage) -> None:
            if isinstance(message, ToolListChangedNotification):
                on_change()

        client = Implementation(name="toolbus", version=release())
        super().__init__(dispatcher=dispatcher, client_info=client, message_handler=on_message)

    def _build_capabilities(self, version: str) -> ClientCapabilities:
        """
        What the server may want of us: people, who are asked between one call and the next.

        In a session of its own a server would ask in the middle of a call, and hold it until somebody has answered.
        """
        found = super()._build_capabilities(version)
        if not self._may_ask or version not in MODERN_PROTOCOL_VERSIONS:
            return found
        people = ElicitationCapability(form=FormElicitationCapability(), url=UrlElicitationCapability())
        return found.model_copy(update={"elicitation": people})

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Let it pass: a validator that a server's schema can keep busy without end has no place in this loop."""


async def negotiate(session: ClientSession) -> None:
    """
    Agree on a protocol: without a session of the server's own (2026-07-28) where it is spoken, else with `initialize`.

    Raises:
        MCPError, RuntimeError, ValidationError: there is none that both speak, or no answer.
    """
    try:
        await session.discover()
    except MCPError as error:
        spoken = (error.data or {}).get("supported", ()) if isinstance(error.data, dict) else ()
        is_other = error.code == UNSUPPORTED_PROTOCOL_VERSION and not set(spoken) & set(HANDSHAKE_PROTOCOL_VERSIONS)
        if error.code in {UNREACHABLE, DENIED} or is_other:
            raise
        await session.initialize()
    except (ValidationError, RuntimeError):
        await session.initialize()

"""What the relay publishes: every event for those who listen, and work for the executors."""

from collections.abc import Mapping, Sequence

import orjson
import structlog

from toolbus_contracts import subjects
from toolbus_contracts.calls import Call
from toolbus_contracts.envelope import StoredEvent, stream_name, time_text
from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_contracts.tools import Surface, Tool, ToolDefinition, tool_stream_id
from toolbus_contracts.values import Json
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_dispatcher.aggregates import CALL, TOOL
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.relay import BusMessage
from toolbus_runtime.store.port import EventStore

log = structlog.get_logger(__name__)
DISPATCHED = "call.dispatched.v1"
MAX_DEFINITIONS = 4096


class Outbox:
    """Turns stored events into messages; reads the states that a message needs in one query per list."""

    def __init__(self, batcher: Batcher, store: EventStore, bus: Bus) -> None:
        self._batcher = batcher
        self._store = store
        self._bus = bus
        self._definitions: dict[str, bytes] = {}

    async def messages(self, events: Sequence[StoredEvent]) -> list[list[BusMessage]]:
        """The messages of each event, in its order."""
        versions = {event.stream: event.version for event in events if event.category == CALL}
        states = await self._batcher.states.reaching(versions)
        return [await self._isolated(event, states.get(event.stream)) for event in events]

    async def _isolated(self, event: StoredEvent, call: Call | None) -> list[BusMessage]:
        """The messages of one event; one that cannot be told is laid into DEAD, and stops no other."""
        try:
            return await self._of(event, call)
        except Unavailable:
            raise  # not the event's fault: all of them wait
        except Exception:
            log.exception("event.untold", position=event.position, kind=event.kind)
            note = {"position": event.position, "stream": event.stream, "kind": event.kind}
            return [BusMessage("DEAD", subjects.dead(event.tenant, "internal"), orjson.dumps(note), {})]

    async def _of(self, event: StoredEvent, call: Call | None) -> list[BusMessage]:
        if event.category in subjects.PRIVATE_CATEGORIES:
            return []
        told = BusMessage(
            "EVENTS",
            subjects.event(event.tenant, event.category, event.subject_id, event.kind),
            event.data.encode(),
            cloud_event_headers(event, call.external_id if call else None),
        )
        if event.kind == DISPATCHED and call is not None and call.status == "dispatched":
            return [told, await self.work(event.tenant, call)]
        return [told]

    async def work(self, tenant: str, call: Call) -> BusMessage:
        """The work item of a call's present attempt; its large values are laid into the payload bucket first."""
        definition, surface = await self._defined(tenant, call)
        for payload in payload_digests(call.arguments):
            body = await self._store.get_payload(tenant, payload)
            if body is not None:
                await self._lay_down(payload, body)
        subject = subjects.work(definition.tool_type, tenant)
        return BusMessage("WORK", subject, work_json(tenant, call, self._written(call, definition, surface)), {})

    async def _lay_down(self, payload: str, body: bytes) -> None:
        """Bring a body to the bus; one that it refuses is missed by the executor, and stops no other call."""
        try:
            await self._bus.put_payload(payload, body)
        except BusRefused as refusal:
            log.warning("payload.refused", digest=payload, bytes=len(body), reason=refusal.message)

    def _written(self, call: Call, definition: ToolDefinition, surface: Surface | None) -> bytes:
        """A definition, with the surface that belongs to it, as members of a JSON object; once for all its calls."""
        name = call.definition_hash or ""
        if name not in self._definitions:
            if len(self._definitions) >= MAX_DEFINITIONS:
                self._definitions.clear()
            self._definitions[name] = definition_json(definition, surface)
        return self._definitions[name]

    async def _defined(self, tenant: str, call: Call) -> tuple[ToolDefinition, Surface | None]:
        if call.definition is not None:
            return call.definition, call.surface
        stream = stream_name(tenant, TOOL, tool_stream_id(call.tool_scope or "tenant", call.tool))
        number = call.tool_version or 0
        tool: Tool = (await self._batcher.states.known({stream}))[stream]
        if number > len(tool.versions):  # another process added it
            tool = (await self._batcher.states.read_many({stream}))[stream]
        version = tool.version(number)
        return version.definition, version.surface


def definition_json(definition: ToolDefinition, surface: Surface | None = None) -> bytes:
    """
    A definition and its surface as members of a JSON object.

    Without their descriptions: the hash does not cover them, so they may be another tenant's.
    """
    written = b'"definition":' + definition.model_dump_json(exclude_none=True, exclude={"description"}).encode()
    if surface is None:
        return written
    return written + b',"surface":' + surface.model_dump_json(exclude_none=True, exclude={"description"}).encode()


def work_json(tenant: str, call: Call, definition: bytes) -> bytes:
    """The `WorkItem` of a call's present attempt as JSON, around a definition that `definition_json` has written."""
    item = {
        "call_id": call.id,
        "tenant": tenant,
        "execution_id": call.execution_id,
        "attempt": call.attempt,
        "arguments": call.arguments,
        "terms": call.terms.model_dump(),
        "needs_start": call.needs_start,
        "approved": call.approved.digest if call.approved else None,
        "on_behalf_of": call.actor.on_behalf_of,
        "deadline_at": call.deadline_at,
    }
    if call.setup:
        item["setup"] = call.setup
    if call.continued is not None:
        item["continued"] = call.continued.model_dump()
    return b"{" + definition + b"," + orjson.dumps(item)[1:]


def payload_digests(arguments: Json) -> list[str]:
    """The payloads that arguments refer to."""
    if not isinstance(arguments, Mapping):
        return []
    if PAYLOAD_KEY in arguments:
        return [str(arguments[PAYLOAD_KEY])]
    return [str(v[PAYLOAD_KEY]) for v in arguments.values() if isinstance(v, Mapping) and PAYLOAD_KEY in v]


def cloud_event_headers(event: StoredEvent, external_id: str | None) -> dict[str, str]:
    """
    The attributes of an event as CloudEvents headers in binary mode; `ce-position` is its place in the log.

    Source: CloudEvents 1.0.2, NATS protocol binding, binary content mode.
    """
    headers = {
        "ce-specversion": "1.0",
        "ce-id": event.id,
        "ce-source": "/toolbus/dispatcher",
        "ce-type": f"toolbus.{event.kind}",
        "ce-subject": event.subject_id,
        "ce-time": time_text(event.recorded_at),
        "ce-datacontenttype": "application/json",
        "ce-correlationid": event.correlation_id,
        "ce-position": str(event.position),
    }
    if external_id is not None:
        headers["ce-externalid"] = percent_encoded(external_id)
    if event.traceparent is not None:
        headers["traceparent"] = event.traceparent
    return headers


def percent_encoded(text: str) -> str:
    """Encode what a header value may not hold. Source: CloudEvents HTTP binding §3.1.3.2."""
    return "".join(c if "!" <= c <= "~" and c not in '"%' else "".join(f"%{b:02X}" for b in c.encode()) for c in text)

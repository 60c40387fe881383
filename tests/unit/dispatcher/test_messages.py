"""What the relay writes around a definition is the work item that executors read."""

from tests.unit.dispatcher.making import NOW, REQUESTED
from toolbus_contracts.calls import CallDispatched, CallRequested, evolve_call
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.work import WorkItem
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.messages import Outbox, definition_json, work_json
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import Append, NewEvent

DEFINITION = ToolDefinition.model_validate(
    {"name": "refund", "api_call": {"method": "POST", "url": "http://x/r", "schema": True, "json": {"n": 1}}}
)


class NoBus(Bus):
    """A bus that nobody may need here."""

    def __init__(self) -> None:
        """Connect nowhere."""


def appended(call_id: str, *events: CallRequested | CallDispatched) -> Append:
    """The first events of a call, as the batcher stores them."""
    return Append(
        tenant="acme",
        category="call",
        stream=f"acme/call/{call_id}",
        expected_version=0,
        events=tuple(NewEvent(event.kind, event.model_dump_json()) for event in events),
        causation_id=call_id,
        correlation_id="exec_1",
        actor="{}",
    )


def test_a_work_item_that_was_written_in_pieces_is_read_whole() -> None:
    """Every field arrives as it is in the call, and the definition as it was defined."""
    requested = REQUESTED.model_copy(update={"deadline_at": NOW})
    call = evolve_call(
        evolve_call(None, requested), CallDispatched(call_id="call_1", attempt=2, tool_type="api_call", at=NOW)
    )
    assert call is not None
    written = work_json("acme", call, definition_json(DEFINITION))
    assert WorkItem.model_validate_json(written) == WorkItem(
        call_id="call_1",
        tenant="acme",
        execution_id="exec_1",
        attempt=2,
        definition=DEFINITION,
        arguments={"charge": "ch_1"},
        terms=requested.terms,
        needs_start=True,
        on_behalf_of=None,
        deadline_at=NOW,
    )


async def test_an_event_that_cannot_be_told_stops_no_other() -> None:
    """A call whose tool version is gone lies in DEAD; the one behind it is told and dispatched."""
    store, wire = MemoryStore(), NoBus()
    batcher = Batcher(store, AGGREGATES, lambda _: None)
    own = REQUESTED.model_copy(update={"tool_scope": None, "tool_version": None, "definition": DEFINITION})
    for call_id, requested in (("call_1", REQUESTED), ("call_2", own.model_copy(update={"call_id": "call_2"}))):
        dispatched = CallDispatched(call_id=call_id, attempt=1, tool_type="api_call", at=NOW)
        await store.append([appended(call_id, requested, dispatched)])
    events = await store.read()
    groups = await Outbox(batcher, store, wire).messages(events)
    assert [[message.stream for message in group] for group in groups] == [
        ["EVENTS"],
        ["DEAD"],
        ["EVENTS"],
        ["EVENTS", "WORK"],
    ]
    assert groups[1][0].subject == "toolbus.dead.acme.internal"


async def test_a_description_is_no_part_of_work() -> None:
    """Definitions are kept by a hash that does not cover it: it could be another tenant's."""
    store = MemoryStore()
    told = DEFINITION.model_copy(update={"description": "ours alone"})
    call = evolve_call(None, REQUESTED.model_copy(update={"definition": told}))
    assert call is not None
    message = await Outbox(Batcher(store, AGGREGATES, lambda _: None), store, NoBus()).work("acme", call)
    assert b"ours alone" not in message.data

"""What the relay writes around a definition is the work item that executors read."""

from tests.unit.dispatcher.making import NOW, REQUESTED
from toolbus_contracts.calls import CallDispatched, evolve_call
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.work import WorkItem
from toolbus_dispatcher.messages import work_json

DEFINITION = ToolDefinition.model_validate(
    {"name": "refund", "api_call": {"method": "POST", "url": "http://x/r", "schema": True, "json": {"n": 1}}}
)


def test_a_work_item_that_was_written_in_pieces_is_read_whole() -> None:
    """Every field arrives as it is in the call, and the definition as it was defined."""
    requested = REQUESTED.model_copy(update={"deadline_at": NOW})
    call = evolve_call(
        evolve_call(None, requested), CallDispatched(call_id="call_1", attempt=2, tool_type="api_call", at=NOW)
    )
    assert call is not None
    written = work_json("acme", call, DEFINITION.model_dump_json(exclude_none=True).encode())
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

"""The streams that the dispatcher owns, and how each category of them is read."""

from toolbus_contracts import calls, executions, keys, stored, tools
from toolbus_runtime.deciding import Aggregate

CALL = "call"
EXECUTION = "execution"
TOOL = "tool"
KEY = "key"
STORED = "stored"

AGGREGATES = {
    aggregate.category: aggregate
    for aggregate in (
        Aggregate(
            CALL,
            None,
            calls.call_events,
            calls.evolve_call,
            lambda call: call.execution_id,
            lambda call: call is not None and call.status == "waiting",
        ),
        Aggregate(EXECUTION, None, executions.execution_events, executions.evolve_execution, lambda found: found.id),
        Aggregate(
            TOOL,
            tools.Tool(),
            tools.tool_events,
            tools.evolve_tool,
            lambda tool: f"{tool.versions[-1].scope}:{tool.versions[-1].definition.name}",
        ),
        Aggregate(
            STORED,
            None,
            stored.stored_events,
            stored.evolve_stored,
            lambda found: stored.stored_stream_id(found.level, found.level_id, found.tool),
        ),
        Aggregate(KEY, None, keys.key_events, keys.evolve_key, lambda key: key.key_id),
    )
}

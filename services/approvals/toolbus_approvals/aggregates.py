"""The streams that the approvals service owns or reads, and how each category of them is read."""

from toolbus_contracts import calls, keys, tools, waits, webhooks
from toolbus_runtime.deciding import Aggregate

WAIT = "wait"
GRANT = "grant"
DELEGATION = "delegation"
WEBHOOK = "webhook"
CALL = "call"  # read here, never written
TOOL = "tool"  # as CALL
KEY = "key"  # as CALL

AGGREGATES = {
    aggregate.category: aggregate
    for aggregate in (
        Aggregate(WAIT, None, waits.wait_events, waits.evolve_wait, lambda wait: wait.execution_id),
        Aggregate(GRANT, None, waits.grant_events, waits.evolve_grant, lambda grant: grant.id),
        Aggregate(DELEGATION, None, waits.delegation_events, waits.evolve_delegation, lambda given: given.id),
        Aggregate(
            WEBHOOK, None, webhooks.webhook_events, webhooks.evolve_webhook, lambda webhook: f"webhook:{webhook.name}"
        ),
        Aggregate(CALL, None, calls.call_events, calls.evolve_call, lambda call: call.execution_id),
        Aggregate(TOOL, tools.Tool(), tools.tool_events, tools.evolve_tool, lambda _: ""),
        Aggregate(KEY, None, keys.key_events, keys.evolve_key, lambda key: key.key_id),
    )
}

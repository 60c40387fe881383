"""A stored event as JSON for people and programs."""

from typing import Any

import orjson

from toolbus_contracts.envelope import StoredEvent, time_text


def event_view(event: StoredEvent) -> dict[str, Any]:
    """Show a stored event; `data` and `actor` are the stored JSON."""
    return {
        "position": event.position,
        "id": event.id,
        "kind": event.kind,
        "category": event.category,
        "subject_id": event.subject_id,
        "version": event.version,
        "data": orjson.loads(event.data),
        "actor": orjson.loads(event.actor),
        "correlation_id": event.correlation_id,
        "causation_id": event.causation_id,
        "recorded_at": time_text(event.recorded_at),
        "hash": event.hash,
    }

"""Appends for the tests of the event store, and what must be true of any log."""

from collections.abc import Sequence

from toolbus_contracts.envelope import GENESIS, StoredEvent, event_hash
from toolbus_runtime.store.port import Append, EventStore, NewEvent


def sample(
    subject: str,
    *kinds: str,
    version: int = 0,
    cause: str | None = None,
    tenant: str = "acme",
    category: str = "call",
    correlation: str = "exec_1",
    data: str = "{}",
    guards: tuple[tuple[str, int], ...] = (),
) -> Append:
    """An append of `kinds` (one event when none is named) to the stream of `subject`."""
    return Append(
        tenant=tenant,
        category=category,
        stream=f"{tenant}/{category}/{subject}",
        expected_version=version,
        events=tuple(NewEvent(kind, data) for kind in kinds or ("call.requested.v1",)),
        causation_id=cause or f"cause of {category}/{subject}@{version}",
        correlation_id=correlation,
        actor='{"subject": "user:ana"}',
        guards=guards,
    )


async def whole_log(store: EventStore) -> list[StoredEvent]:
    """Every event, read page by page."""
    found: list[StoredEvent] = []
    while page := await store.read(after=len(found), limit=500):
        found += page
    return found


def broken_links(events: Sequence[StoredEvent]) -> list[int]:
    """Positions at which a log, read from its beginning, is not what was appended: gaps, versions, hashes, times."""
    broken = []
    heads: dict[str, tuple[int, str]] = {}
    before = None
    for expected, event in enumerate(events, start=1):
        version, previous_hash = heads.get(event.stream, (0, GENESIS))
        is_next = event.position == expected and event.version == version + 1
        is_chained = event.previous_hash == previous_hash and event.hash == event_hash(event)
        if not (is_next and is_chained and (before is None or before <= event.recorded_at)):
            broken.append(event.position)
        heads[event.stream] = (event.version, event.hash)
        before = event.recorded_at
    return broken

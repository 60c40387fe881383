"""Verification of the log: no gap, no reordering, every hash right, every stream one chain."""

from dataclasses import dataclass

from toolbus_contracts.envelope import GENESIS, event_hash
from toolbus_runtime.store.port import EventStore

PAGE = 2000


@dataclass(frozen=True)
class Verified:
    """How much was read; `fault` names the first event that is wrong, and how."""

    events: int
    streams: int
    fault: str | None = None


async def verify(store: EventStore) -> Verified:
    """Read the whole log and check it."""
    heads: dict[str, tuple[int, str]] = {}
    position = 0
    while page := await store.read(after=position, limit=PAGE):
        for event in page:
            version, previous_hash = heads.get(event.stream, (0, GENESIS))
            for is_wrong, what in (
                (event.position != position + 1, f"position {position + 1} is missing"),
                (event.version != version + 1, f"version {version + 1} of {event.stream} is missing"),
                (event.previous_hash != previous_hash, f"{event.stream} does not follow from its version {version}"),
                (event.hash != event_hash(event), f"event {event.id} was changed"),
            ):
                if is_wrong:
                    return Verified(position, len(heads), f"at position {event.position}: {what}")
            heads[event.stream] = (event.version, event.hash)
            position = event.position
    return Verified(position, len(heads))

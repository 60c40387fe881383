"""
The event store as the rest of Toolbus sees it; `sqlite.py` and `postgres.py` keep the same promises.

One conformance suite (`tests/contract/test_store_conformance.py`) proves both. What is made for every command is a
NamedTuple: several are made for each, and frozen dataclasses take three times as long to make.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from toolbus_contracts.envelope import StoredEvent


class NewEvent(NamedTuple):
    """An event that was decided: its stable kind and its exact JSON text."""

    kind: str
    data: str


class Append(NamedTuple):
    """
    What one command adds to one stream, all of it or nothing.

    `expected_version` is the version the stream had when the command was decided (0 = no such
    stream). `guards` are other streams that the decision was based on, with the versions they had;
    each must still be there. `causation_id` identifies the command: the same command a second time
    adds nothing, whatever the versions. `actor` is JSON text.
    """

    tenant: str
    category: str
    stream: str
    expected_version: int
    events: tuple[NewEvent, ...]
    causation_id: str
    correlation_id: str
    actor: str
    traceparent: str | None = None
    guards: tuple[tuple[str, int], ...] = ()


class Appended(NamedTuple):
    """The events as they are stored, positions and hashes included."""

    events: tuple[StoredEvent, ...]
    outcome: Literal["appended"] = "appended"


class Moved(NamedTuple):
    """`stream` (or a guard) has another version by now; nothing of this append was stored."""

    stream: str
    outcome: Literal["moved"] = "moved"


class Duplicate(NamedTuple):
    """The same command was stored before, in `stream`; nothing was added."""

    stream: str
    outcome: Literal["duplicate"] = "duplicate"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a reader of the log has come, and what it wants to remember beside it (JSON text)."""

    position: int
    note: str = "{}"


class EventStore(Protocol):
    """
    Append-only, gapless, hash-chained log of events, with payloads, leases and checkpoints beside it.

    Every method raises `Unavailable` when the database is away, and nothing else of the driver's.
    """

    async def append(self, appends: Sequence[Append]) -> list[Appended | Moved | Duplicate]:
        """
        Store what can be stored in one transaction, synced to disk on return; one result per append, in order.

        Positions continue without a gap under one lock. Several appends to one stream count one after
        the other. An append that moved or repeats drops out, and with it those behind it that name its
        stream, since they were decided upon it; its other neighbours are stored.
        """
        ...

    async def load(self, wanted: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
        """The events of many streams in one query: stream → its events after the version given (0 = all)."""
        ...

    async def read(
        self,
        *,
        after: int = 0,
        limit: int = 1000,
        tenant: str | None = None,
        categories: Sequence[str] = (),
        kinds: Sequence[str] = (),
        correlation_id: str | None = None,
        stream: str | None = None,
    ) -> list[StoredEvent]:
        """Events in position order behind `after`, narrowed by what is given."""
        ...

    async def head(self) -> int:
        """The position of the newest event; 0 for an empty log."""
        ...

    async def put_payloads(self, tenant: str, payloads: Mapping[str, bytes]) -> None:
        """Keep large values by digest; one that is there already is left alone."""
        ...

    async def get_payload(self, tenant: str, payload_digest: str) -> bytes | None:
        """A large value by its digest, or none when this tenant has none such."""
        ...

    async def hold_lease(self, name: str, owner: str, ttl_s: float) -> bool:
        """
        Take or renew the lease `name` for `ttl_s` seconds; true when `owner` holds it now.

        The database's clock counts. A lease that ran out may be taken by anybody, and so may one that
        lies further ahead than `ttl_s`: the clock was set back since. All owners ask for the same time.
        """
        ...

    async def release_lease(self, name: str, owner: str) -> None:
        """Give the lease back at once, when `owner` holds it."""
        ...

    async def load_checkpoint(self, name: str) -> Checkpoint:
        """How far the reader `name` has come; position 0 for a new one."""
        ...

    async def save_checkpoint(self, name: str, checkpoint: Checkpoint, *, lease: tuple[str, str] | None = None) -> bool:
        """
        Keep how far a reader has come; false, and nothing kept, when `lease` (name, owner) is not held any more.

        Only a lease is a fence: a reader that was paused must not overwrite its successor's place.
        """
        ...

    async def now(self) -> datetime:
        """The database's clock (aware, UTC)."""
        ...

    async def close(self) -> None:
        """Give connections and threads back."""
        ...

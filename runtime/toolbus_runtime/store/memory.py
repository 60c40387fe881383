"""The event store in a few lists: for unit tests, with the same promises except that nothing outlives the process."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.store.admission import Heads, Result, admit, mint_id, stored, streams_of
from toolbus_runtime.store.port import Append, Checkpoint


def _utc_now() -> datetime:
    return datetime.now(UTC)


class MemoryStore:
    """Keeps the promises of `EventStore` in memory; `clock` and `mint` may be the test's own."""

    def __init__(self, *, clock: Callable[[], datetime] = _utc_now, mint: Callable[[], str] = mint_id) -> None:
        self.events: list[StoredEvent] = []
        self._clock = clock
        self._mint = mint
        self._streams: dict[str, list[StoredEvent]] = {}
        self._causes: dict[tuple[str, str], str] = {}
        self._payloads: dict[tuple[str, str], bytes] = {}
        self._leases: dict[str, tuple[str, datetime]] = {}
        self._checkpoints: dict[str, Checkpoint] = {}

    async def append(self, appends: Sequence[Append]) -> list[Result]:
        """Store what can be stored; see the port."""
        now = self._clock()
        if self.events:
            now = max(now, self.events[-1].recorded_at)
        newest = {name: found[-1] for name in streams_of(appends) if (found := self._streams.get(name))}
        streams = {name: (event.version, event.hash) for name, event in newest.items()}
        asked = {(append.tenant, append.causation_id) for append in appends}
        causes = {cause: self._causes[cause] for cause in asked if cause in self._causes}
        results = admit(appends, Heads(len(self.events), now, streams, causes), mint=self._mint)
        for event in stored(results):
            self.events.append(event)
            self._streams.setdefault(event.stream, []).append(event)
            self._causes[event.tenant, event.causation_id] = event.stream
        return results

    async def load(self, wanted: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
        """Read many streams; see the port."""
        return {stream: self._streams.get(stream, [])[after:] for stream, after in wanted.items()}

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
        """Events in position order behind `after`; see the port."""
        found = [
            event
            for event in self.events[after:]
            if tenant in (None, event.tenant)
            and (not categories or event.category in categories)
            and (not kinds or event.kind in kinds)
            and correlation_id in (None, event.correlation_id)
            and stream in (None, event.stream)
        ]
        return found[:limit]

    async def head(self) -> int:
        """The position of the newest event."""
        return len(self.events)

    async def put_payloads(self, tenant: str, payloads: Mapping[str, bytes]) -> None:
        """Keep large values by digest; see the port."""
        for found, body in payloads.items():
            self._payloads.setdefault((tenant, found), body)

    async def get_payload(self, tenant: str, payload_digest: str) -> bytes | None:
        """Read a large value by its digest."""
        return self._payloads.get((tenant, payload_digest))

    async def hold_lease(self, name: str, owner: str, ttl_s: float) -> bool:
        """Take or renew a lease; see the port."""
        now = self._clock()
        holder, until = self._leases.get(name, (owner, now))
        wanted = now + timedelta(seconds=ttl_s)
        if holder != owner and now < until <= wanted:
            return False
        self._leases[name] = (owner, wanted)
        return True

    async def release_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        if self._holds(name, owner):
            del self._leases[name]

    async def load_checkpoint(self, name: str) -> Checkpoint:
        """How far the reader `name` has come."""
        return self._checkpoints.get(name, Checkpoint(0))

    async def save_checkpoint(self, name: str, checkpoint: Checkpoint, *, lease: tuple[str, str] | None = None) -> bool:
        """Keep how far a reader has come, if its lease still holds; see the port."""
        if lease is not None and not self._holds(*lease):
            return False
        self._checkpoints[name] = checkpoint
        return True

    async def now(self) -> datetime:
        """The clock that was given."""
        return self._clock()

    async def close(self) -> None:
        """Nothing to give back."""

    def _holds(self, name: str, owner: str) -> bool:
        holder, until = self._leases.get(name, ("", self._clock()))
        return holder == owner and until > self._clock()

"""States of streams: folded from their events, kept in memory, and brought up to date from the store."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from toolbus_contracts.envelope import StoredEvent, stream_name
from toolbus_runtime.deciding import Aggregate
from toolbus_runtime.store.port import EventStore

MAX_CHARS = 128 * 1024 * 1024
RESTING = 1_000  # states that are kept although they rest: of those that came to rest just now


class Versioned(NamedTuple):
    """A state, the version of its stream that it was folded up to, and how much text it was folded from."""

    version: int
    state: Any
    chars: int = 0


class States:
    """
    The least recently used states give way above `size`, or when they hold more text than `MAX_CHARS`.

    Of those that rest few are kept, whatever the size: a hundred thousand calls may stand still for weeks.
    A kept state may be older than the store: whoever decides on it has its version checked by the
    append; whoever only reads uses `read`, which asks the store.
    """

    def __init__(self, store: EventStore, aggregates: Mapping[str, Aggregate], size: int) -> None:
        self._store = store
        self._aggregates = aggregates
        self._size = size
        self._kept: OrderedDict[str, Versioned] = OrderedDict()
        self._chars = 0  # of all that is kept
        self._resting: OrderedDict[str, None] = OrderedDict()  # those of them that rest

    def aggregate(self, stream: str) -> Aggregate:
        """How this stream is read."""
        return self._aggregates[stream.split("/", 2)[1]]

    def unread(self, stream: str) -> Versioned:
        """The state of a stream that nobody wrote to yet."""
        return Versioned(0, self.aggregate(stream).initial)

    def kept(self, stream: str) -> Versioned | None:
        """The state that is in memory, however old."""
        found = self._kept.get(stream)
        if found is not None:
            self._kept.move_to_end(stream)
        return found

    def remember(self, stream: str, versioned: Versioned) -> None:
        """Keep a state, unless a newer one is kept already."""
        known = self._kept.get(stream)
        if known is None or known.version <= versioned.version:
            self._kept[stream] = versioned
            self._chars += versioned.chars - (known.chars if known else 0)
        self._kept.move_to_end(stream)
        self._note_rest(stream)
        while len(self._resting) > RESTING:
            self._forget(next(iter(self._resting)))
        while len(self._kept) > self._size or self._chars > MAX_CHARS:
            self._forget(next(iter(self._kept)))

    def _note_rest(self, stream: str) -> None:
        self._resting.pop(stream, None)
        if self.aggregate(stream).rests(self._kept[stream].state):
            self._resting[stream] = None

    def _forget(self, stream: str) -> None:
        self._chars -= self._kept.pop(stream).chars
        self._resting.pop(stream, None)

    def commit(self, events: Sequence[StoredEvent], state: Any) -> None:
        """Keep the state that these events, just stored in one stream, have led to."""
        newest = events[-1]
        known = self._kept.get(newest.stream)
        chars = known.chars if known else 0
        for event in events:
            chars += len(event.data)
        self.remember(newest.stream, Versioned(newest.version, state, chars))

    async def refresh(self, streams: Iterable[str], *, keeps_absent: bool = True) -> dict[str, Versioned]:
        """
        Bring states up to what the store holds, in one query, and give them.

        That a stream is not there is worth keeping for decisions; whoever asks for made-up ids from outside
        must not push out what is there.
        """
        known = {stream: self._kept.get(stream) or self.unread(stream) for stream in streams}
        loaded = await self._store.load({stream: found.version for stream, found in known.items()})
        for stream, found in known.items():
            news = loaded.get(stream)
            if news:
                aggregate = self.aggregate(stream)
                said = (aggregate.events.validate_json(stored.data) for stored in news)
                chars = sum([len(stored.data) for stored in news], found.chars)
                known[stream] = Versioned(news[-1].version, reduce(aggregate.evolve, said, found.state), chars)
            if keeps_absent or known[stream].version:
                self.remember(stream, known[stream])
        return known

    async def read(self, tenant: str, category: str, subject_id: str) -> Any:
        """The state of one stream as it stands in the store now: everybody reads their own writes."""
        stream = stream_name(tenant, category, subject_id)
        return (await self.refresh([stream], keeps_absent=False))[stream].state

    async def read_many(self, streams: Iterable[str]) -> dict[str, Any]:
        """The states of many streams as they stand in the store now, in one query."""
        return {stream: found.state for stream, found in (await self.refresh(streams, keeps_absent=False)).items()}

    async def known(self, streams: Iterable[str]) -> dict[str, Any]:
        """The states of many streams, as new as this process knows them; only unknown ones are loaded."""
        return await self.reaching(dict.fromkeys(streams, 0))

    async def reaching(self, wanted: Mapping[str, int]) -> dict[str, Any]:
        """The states of many streams, each at the version given or newer; only older ones are loaded."""
        found = {
            stream: kept
            for stream, version in wanted.items()
            if (kept := self.kept(stream)) is not None and kept.version >= version
        }
        if len(found) < len(wanted):
            found |= await self.refresh(wanted.keys() - found.keys(), keeps_absent=False)
        return {stream: versioned.state for stream, versioned in found.items()}

"""States of streams: folded from their events, kept in memory, and brought up to date from the store."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from toolbus_contracts.envelope import stream_name
from toolbus_runtime.deciding import Aggregate
from toolbus_runtime.store.port import EventStore


@dataclass(frozen=True, slots=True)
class Versioned:
    """A state, and the version of its stream that it was folded up to."""

    version: int
    state: Any


class States:
    """
    The least recently used states give way above `size`.

    A kept state may be older than the store: whoever decides on it has its version checked by the
    append; whoever only reads uses `read`, which asks the store.
    """

    def __init__(self, store: EventStore, aggregates: Mapping[str, Aggregate], size: int) -> None:
        self._store = store
        self._aggregates = aggregates
        self._size = size
        self._kept: OrderedDict[str, Versioned] = OrderedDict()

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
        self._kept.move_to_end(stream)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)

    async def refresh(self, streams: Iterable[str]) -> dict[str, Versioned]:
        """Bring states up to what the store holds, in one query, and give them."""
        known = {stream: self._kept.get(stream) or self.unread(stream) for stream in streams}
        loaded = await self._store.load({stream: found.version for stream, found in known.items()})
        for stream, found in known.items():
            news = loaded.get(stream)
            if news:
                aggregate = self.aggregate(stream)
                said = (aggregate.events.validate_json(stored.data) for stored in news)
                known[stream] = Versioned(news[-1].version, reduce(aggregate.evolve, said, found.state))
            self.remember(stream, known[stream])
        return known

    async def read(self, tenant: str, category: str, subject_id: str) -> Any:
        """The state of one stream as it stands in the store now: everybody reads their own writes."""
        stream = stream_name(tenant, category, subject_id)
        return (await self.refresh([stream]))[stream].state

    async def read_many(self, streams: Iterable[str]) -> dict[str, Any]:
        """The states of many streams as they stand in the store now, in one query."""
        return {stream: found.state for stream, found in (await self.refresh(streams)).items()}

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
            found |= await self.refresh(wanted.keys() - found.keys())
        return {stream: versioned.state for stream, versioned in found.items()}

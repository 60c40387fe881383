"""
The batcher: commands from HTTP, ask and bus meet in one queue and are decided and stored together.

One round: load what changed of all their streams in one query, fold the commands of one stream in
order, decide, append in one transaction, answer. A stream that moved drops out and is decided afresh;
its neighbours go through. While one round is being synced to disk the next one gathers, so batches
grow with load and nobody waits for a timer.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import structlog
from pydantic import BaseModel, TypeAdapter

from toolbus_contracts.envelope import StoredEvent, stream_name
from toolbus_contracts.errors import StreamMoved, ToolbusError, Unavailable
from toolbus_contracts.keys import Actor
from toolbus_runtime.store.port import Append, Appended, Duplicate, EventStore, Moved, NewEvent

log = structlog.get_logger(__name__)
MAX_ROUNDS = 20  # how often a command is decided afresh before its sender is told to come back


@dataclass(frozen=True)
class Aggregate:
    """How the streams of one category are read: where they start, how events parse and change the state."""

    category: str
    initial: Any
    events: TypeAdapter[Any]
    evolve: Callable[[Any, Any], Any]
    correlate: Callable[[Any], str]


class Snapshot:
    """
    The states a decision may look at; looking at one makes the decision depend on it.

    A state that was not loaded yet raises `NotLoaded`; the batcher loads it and decides again.
    """

    __slots__ = ("_states", "_versions", "seen")

    def __init__(self, states: Mapping[str, Any], versions: Mapping[str, int]) -> None:
        self._states = states
        self._versions = versions
        self.seen: dict[str, int] = {}

    def of(self, tenant: str, category: str, subject_id: str) -> Any:
        """The state of one stream."""
        stream = stream_name(tenant, category, subject_id)
        if stream not in self._versions:
            raise NotLoaded(stream)
        self.seen[stream] = self._versions[stream]
        return self._states[stream]


class NotLoaded(Exception):
    """A decision looked at a stream that is not loaded yet."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.stream = stream


Decide = Callable[[Snapshot, datetime], Sequence[BaseModel]]


@dataclass(frozen=True)
class Command:
    """
    One command on its way to a decision.

    `decide` is pure: it reads states from the snapshot and gives the events for the stream
    (tenant, category, subject_id). `needs` are streams worth loading in the first query.
    """

    tenant: str
    category: str
    subject_id: str
    causation_id: str
    actor: Actor
    decide: Decide
    needs: tuple[str, ...] = ()
    traceparent: str | None = None

    @property
    def stream(self) -> str:
        """The stream that the events go to."""
        return stream_name(self.tenant, self.category, self.subject_id)


@dataclass(frozen=True)
class Decided:
    """What came of a command: the state of its stream after the commit, and the events that were new."""

    state: Any
    events: tuple[StoredEvent, ...]


@dataclass(slots=True)
class _Pending:
    command: Command
    future: asyncio.Future[Decided]
    rounds: int = 0
    events: tuple[BaseModel, ...] = ()
    state: Any = None


@dataclass(frozen=True, slots=True)
class _Cached:
    version: int
    state: Any


@dataclass
class Batcher:
    """
    Decides and stores commands in batches. `on_commit` hears of every committed event, in order.

    Raises from `submit`: what the decision raises; `StreamMoved` after many lost races;
    `Unavailable` when the store is away (the command may or may not be stored: the same
    `causation_id` again is safe).
    """

    store: EventStore
    aggregates: Mapping[str, Aggregate]
    on_commit: Callable[[Sequence[StoredEvent]], None]
    batch_size: int = 256
    queue_limit: int = 20_000
    cache_size: int = 50_000
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        """Set up the queue; `run` drains it."""
        self._queue: list[_Pending] = []
        self._ready = asyncio.Event()
        self._cache: OrderedDict[str, _Cached] = OrderedDict()
        self._is_closed = False

    async def submit(self, command: Command) -> Decided:
        """Hand in a command and wait until it is decided and synced to disk."""
        return await self.enqueue(command)

    def enqueue(self, command: Command) -> asyncio.Future[Decided]:
        """Hand in a command; the future holds its answer after the commit."""
        if self._is_closed:
            raise Unavailable("shutting down")
        if len(self._queue) >= self.queue_limit:
            raise Unavailable(f"{self.queue_limit} commands are waiting already")
        future: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        self._queue.append(_Pending(command, future))
        self._ready.set()
        return future

    async def read(self, tenant: str, category: str, subject_id: str) -> Any:
        """The state of one stream as it stands in the store now: everybody reads their own writes."""
        stream = stream_name(tenant, category, subject_id)
        return (await self.read_many([stream]))[stream]

    async def read_many(self, streams: Iterable[str]) -> dict[str, Any]:
        """The states of many streams as they stand in the store now, in one query."""
        return {stream: cached.state for stream, cached in (await self._refresh(streams)).items()}

    async def states(self, streams: Iterable[str]) -> dict[str, Any]:
        """The states of many streams, at least as new as this process knows; only unknown ones are loaded."""
        wanted = set(streams)
        found = {stream: self._cache[stream] for stream in wanted if stream in self._cache}
        for stream in found:
            self._cache.move_to_end(stream)
        unknown = wanted - found.keys()
        if unknown:
            found |= await self._refresh(unknown)
        return {stream: cached.state for stream, cached in found.items()}

    async def imagine(self, decide: Decide, stream: str) -> Any:
        """The state that a stream would have after a decision, with nothing stored."""
        states = await self.states({stream})
        while True:
            try:
                events = decide(Snapshot(states, dict.fromkeys(states, 0)), self.clock())
            except NotLoaded as missing:
                states |= await self.states({missing.stream})
            else:
                return reduce(self._aggregate(stream).evolve, events, states[stream])

    async def run(self) -> None:
        """Work until cancelled; whoever waits then is told that the service is shutting down."""
        try:
            while True:
                await self._ready.wait()
                batch, self._queue = self._queue[: self.batch_size], self._queue[self.batch_size :]
                if not self._queue:
                    self._ready.clear()
                await self._round(batch)
        finally:
            self._is_closed = True
            for pending in self._queue:
                _fail(pending, Unavailable("shutting down"))
            self._queue = []

    async def _round(self, batch: list[_Pending]) -> None:
        """Decide and store one batch; every command in it is answered or put back into the queue."""
        try:
            appends = await self._decide_all(batch)
            results = await self.store.append([append for _, append in appends]) if appends else []
            repeated = [p for (p, _), result in zip(appends, results, strict=True) if not self._settle(p, result)]
            committed = [event for result in results if isinstance(result, Appended) for event in result.events]
            if committed:
                self.on_commit(committed)
            await self._answer_again(repeated)
        except ToolbusError as error:
            for pending in batch:
                _fail(pending, error)
        except asyncio.CancelledError:
            for pending in batch:
                _fail(pending, Unavailable("shutting down"))
            raise
        except Exception as error:
            log.exception("batch.failed", size=len(batch))
            for pending in batch:
                _fail(pending, error)

    async def _decide_all(self, batch: list[_Pending]) -> list[tuple[_Pending, Append]]:
        pinned = await self._refresh({s for p in batch for s in (p.command.stream, *p.command.needs)})
        states = {stream: cached.state for stream, cached in pinned.items()}
        versions = {stream: cached.version for stream, cached in pinned.items()}
        appends: list[tuple[_Pending, Append]] = []
        for pending in batch:
            append = await self._decide(pending, states, versions)
            if append is not None:
                appends.append((pending, append))
        return appends

    async def _decide(self, pending: _Pending, states: dict[str, Any], versions: dict[str, int]) -> Append | None:
        command, snapshot = pending.command, Snapshot(states, versions)
        try:
            events = tuple(command.decide(snapshot, self.clock()))
        except NotLoaded as missing:
            cached = (await self._refresh([missing.stream]))[missing.stream]
            states[missing.stream], versions[missing.stream] = cached.state, cached.version
            return await self._decide(pending, states, versions)
        except Exception as error:  # whoever sent the command hears it; its neighbours go on
            if not isinstance(error, ToolbusError):
                log.exception("command.failed", stream=command.stream)
            _fail(pending, error)
            return None
        stream = command.stream
        if not events:
            _resolve(pending, Decided(states[stream], ()))
            return None
        aggregate = self.aggregates[command.category]
        expected, state = versions[stream], reduce(aggregate.evolve, events, states[stream])
        states[stream], versions[stream] = state, expected + len(events)
        pending.events, pending.state = events, state
        return Append(
            tenant=command.tenant,
            category=command.category,
            stream=stream,
            expected_version=expected,
            events=tuple(NewEvent(event.kind, event.model_dump_json()) for event in events),  # type: ignore[attr-defined]
            causation_id=command.causation_id,
            correlation_id=aggregate.correlate(state),
            actor=command.actor.model_dump_json(exclude_none=True),
            traceparent=command.traceparent,
            guards=tuple((s, v) for s, v in snapshot.seen.items() if s != stream),
        )

    def _settle(self, pending: _Pending, result: Appended | Moved | Duplicate) -> bool:
        """Answer what was stored and put back what moved; false for a command that was stored before."""
        match result:
            case Appended(events=events):
                self._remember(events[-1].stream, _Cached(events[-1].version, pending.state))
                _resolve(pending, Decided(pending.state, events))
            case Moved():
                pending.rounds += 1
                if pending.rounds >= MAX_ROUNDS:
                    _fail(pending, StreamMoved(pending.command.stream))
                else:
                    self._queue.insert(0, pending)
                    self._ready.set()
            case Duplicate():
                return False
        return True

    async def _answer_again(self, repeated: list[_Pending]) -> None:
        """Answer commands that were stored before with what became of their streams."""
        if repeated:
            found = await self._refresh({pending.command.stream for pending in repeated})
            for pending in repeated:
                _resolve(pending, Decided(found[pending.command.stream].state, ()))

    async def _refresh(self, streams: Iterable[str]) -> dict[str, _Cached]:
        """Bring the cached states of these streams up to what the store holds, and give them."""
        known = {stream: self._cache.get(stream) or self._unread(stream) for stream in streams}
        loaded = await self.store.load({stream: cached.version for stream, cached in known.items()})
        for stream, cached in known.items():
            news = loaded.get(stream)
            if news:
                aggregate = self._aggregate(stream)
                said = (aggregate.events.validate_json(stored.data) for stored in news)
                known[stream] = _Cached(news[-1].version, reduce(aggregate.evolve, said, cached.state))
            self._remember(stream, known[stream])
        return known

    def _aggregate(self, stream: str) -> Aggregate:
        return self.aggregates[stream.split("/", 2)[1]]

    def _unread(self, stream: str) -> _Cached:
        return _Cached(0, self._aggregate(stream).initial)

    def _remember(self, stream: str, cached: _Cached) -> None:
        known = self._cache.get(stream)
        if known is None or known.version <= cached.version:
            self._cache[stream] = cached
        self._cache.move_to_end(stream)
        while len(self._cache) > self.cache_size:
            self._cache.popitem(last=False)


def _resolve(pending: _Pending, decided: Decided) -> None:
    if not pending.future.done():
        pending.future.set_result(decided)


def _fail(pending: _Pending, error: Exception) -> None:
    if not pending.future.done():
        pending.future.set_exception(error)

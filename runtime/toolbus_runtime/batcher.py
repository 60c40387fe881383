"""
The batcher: commands from HTTP, ask and bus meet in one queue and are decided and stored together.

One round: decide every command on the states in memory, append in one transaction, answer. The append
checks the version of every stream that a decision looked at, so an old state costs another round and
never a wrong event; what adds no event, or is refused, is answered only from states that were read
afresh or committed. While one round is synced to disk the next one gathers: batches grow with load,
and nobody waits for a timer.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import structlog
from pydantic import BaseModel

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import StreamMoved, ToolbusError, Unavailable
from toolbus_runtime import telemetry
from toolbus_runtime.deciding import Aggregate, Command, Decide, Decided, NotLoaded, Snapshot
from toolbus_runtime.fair_queue import FairQueue
from toolbus_runtime.states import States, Versioned
from toolbus_runtime.store.port import Append, Appended, Duplicate, EventStore, Moved, NewEvent

log = structlog.get_logger(__name__)
MAX_ROUNDS = 20  # how often a command is decided afresh before its sender is told to come back
Verdict = Append | Decided | Exception  # what a decision came to: something to store, an answer, a refusal


@dataclass(slots=True)
class _Pending:
    command: Command
    stream: str  # of the command, put together once
    future: asyncio.Future[Decided]
    rounds: int = 0
    state: Any = None
    seen: tuple[str, ...] = ()


class _Round:
    """What one round knows: states with the decisions of this round folded in."""

    def __init__(self, now: datetime) -> None:
        self.now = now  # one moment for all that is decided together
        self.states: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self.fresh: set[str] = set()  # read from the store in this round
        self.changed: set[str] = set()  # decided upon in this round, not yet stored
        self.again: list[_Pending] = []  # to be decided afresh

    def add(self, found: Mapping[str, Versioned]) -> None:
        """Take in states, but never over a decision of this round."""
        for stream, versioned in found.items():
            if stream not in self.changed:
                self.states[stream], self.versions[stream] = versioned.state, versioned.version


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
    tenant_limit: int = 10_000
    cache_size: int = 50_000
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        """Set up the queue; `run` drains it."""
        self.states = States(self.store, self.aggregates, self.cache_size)
        self._queue: FairQueue[_Pending] = FairQueue(lambda pending: pending.command.tenant)
        self._ready = asyncio.Event()
        self._is_closed = False

    async def submit(self, command: Command) -> Decided:
        """Hand in a command and wait until it is decided and synced to disk."""
        return await self.enqueue(command)

    def enqueue(self, command: Command) -> asyncio.Future[Decided]:
        """Hand in a command; the future holds its answer after the commit."""
        if self._is_closed:
            raise Unavailable("shutting down")
        if len(self._queue) >= self.queue_limit or self._queue.waiting(command.tenant) >= self.tenant_limit:
            raise Unavailable(f"{self._queue.waiting(command.tenant)} commands of this tenant are waiting already")
        future: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        self._queue.add(_Pending(command, command.stream, future))
        self._ready.set()
        return future

    async def imagine(self, decide: Decide, stream: str) -> Any:
        """The state that a stream would have after a decision, with nothing stored."""
        states = await self.states.read_many({stream})
        while True:
            try:
                events = decide(Snapshot(states, dict.fromkeys(states, 0)), self.clock())
            except NotLoaded as missing:
                states |= await self.states.read_many({missing.stream})
            else:
                return reduce(self.states.aggregate(stream).evolve, events, states[stream])

    async def run(self) -> None:
        """Work until cancelled; whoever waits then is told that the service is shutting down."""
        try:
            while True:
                await self._ready.wait()
                batch = self._queue.take(self.batch_size)
                if not self._queue:
                    self._ready.clear()
                await self._round(batch)
        finally:
            self._is_closed = True
            for pending in self._queue.take(len(self._queue)):
                _fail(pending, Unavailable("shutting down"))

    async def _round(self, batch: list[_Pending]) -> None:
        """Decide and store one batch; every command in it is answered or put back into the queue."""
        try:
            await self._decide_and_store(batch)
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

    async def _decide_and_store(self, batch: list[_Pending]) -> None:
        round_ = _Round(self.clock())
        await self._prepare(batch, round_)
        appends: list[tuple[_Pending, Append]] = []
        riders: list[tuple[_Pending, Decided | Exception]] = []
        for pending in batch:
            match await self._decide(pending, round_):
                case Append() as append:
                    appends.append((pending, append))
                case answer:
                    riders.append((pending, answer))
        telemetry.BATCH_COMMANDS.observe(len(batch))
        with telemetry.APPEND_SECONDS.time() if appends else nullcontext():
            results = await self.store.append([append for _, append in appends]) if appends else []
        _count(results, riders)
        await self._settle([pending for pending, _ in appends], results, round_)
        unstored = {
            append.stream
            for (_, append), result in zip(appends, results, strict=True)
            if not isinstance(result, Appended)
        }
        for pending, answer in riders:
            if unstored.isdisjoint(pending.seen):
                _answer(pending, answer)
            else:
                _again(pending, round_)  # it spoke of something that was not stored after all
        places = {id(pending): place for place, pending in enumerate(batch)}
        self._queue.put_back(sorted(round_.again, key=lambda pending: places[id(pending)]))
        if self._queue:
            self._ready.set()

    async def _settle(
        self, appended: list[_Pending], results: Sequence[Appended | Moved | Duplicate], round_: _Round
    ) -> None:
        """Answer what was stored, now or before, tell of what is new, and put back what moved."""
        committed: list[StoredEvent] = []
        repeated: list[tuple[_Pending, str]] = []
        for pending, result in zip(appended, results, strict=True):
            match result:
                case Appended(events=events):
                    committed += events
                    self.states.commit(events, pending.state)
                    _answer(pending, Decided(pending.state, events))
                case Moved(stream=stream):
                    pending.seen = (*pending.seen, stream)
                    _again(pending, round_)
                case Duplicate(stream=stream):
                    repeated.append((pending, stream))
        if committed:
            self.on_commit(committed)
        await self._answer_repeated(repeated)

    async def _prepare(self, batch: list[_Pending], round_: _Round) -> None:
        """Take the states that this batch looks at from memory, and read in one query what is not there or too old."""
        unread: set[str] = set()
        for pending in batch:
            command = pending.command
            if pending.rounds:
                unread.update(pending.seen)
            for stream in (pending.stream, *(one for one in command.needs if one not in round_.versions)):
                kept = self.states.kept(stream)
                if kept is None and command.is_first and stream == pending.stream and not pending.rounds:
                    kept = self.states.unread(stream)
                if kept is None:
                    unread.add(stream)
                else:
                    round_.add({stream: kept})
        await self._read(unread, round_)

    async def _read(self, streams: set[str], round_: _Round) -> None:
        if streams:
            round_.add(await self.states.refresh(streams))
            round_.fresh |= streams

    async def _decide(self, pending: _Pending, round_: _Round) -> Verdict:
        """Decide one command; what is no event is decided again on fresh states before it is believed."""
        command = pending.command
        snapshot = Snapshot(round_.states, round_.versions)
        verdict: Verdict
        try:
            events = tuple(command.decide(snapshot, round_.now))
            if events:
                verdict = self._append(pending, events, snapshot, round_)
            else:
                verdict = Decided(round_.states[pending.stream], ())
        except NotLoaded as missing:
            await self._read({missing.stream}, round_)
            return await self._decide(pending, round_)
        except Exception as error:  # whoever sent the command hears it; its neighbours go on
            if not isinstance(error, ToolbusError):
                log.exception("command.failed", stream=pending.stream)
            verdict = error
        pending.seen = (*snapshot.seen, pending.stream)
        if not isinstance(verdict, Append):
            old = set(pending.seen) - round_.fresh - round_.changed
            if old:
                await self._read(old, round_)
                return await self._decide(pending, round_)
        return verdict

    def _append(self, pending: _Pending, events: tuple[BaseModel, ...], snapshot: Snapshot, round_: _Round) -> Append:
        command, stream = pending.command, pending.stream
        aggregate = self.aggregates[command.category]
        expected = round_.versions[stream]
        pending.state = reduce(aggregate.evolve, events, round_.states[stream])
        append = Append(
            tenant=command.tenant,
            category=command.category,
            stream=stream,
            expected_version=expected,
            events=tuple(NewEvent(event.kind, event.model_dump_json()) for event in events),  # type: ignore[attr-defined]
            causation_id=command.causation_id,
            correlation_id=aggregate.correlate(pending.state),
            actor=command.actor.model_dump_json(exclude_none=True),
            traceparent=command.traceparent,
            guards=tuple((seen, version) for seen, version in snapshot.seen.items() if seen != stream),
        )  # what cannot be written out fails here, before anybody builds on it
        round_.states[stream], round_.versions[stream] = pending.state, expected + len(events)
        round_.changed.add(stream)
        return append

    async def _answer_repeated(self, repeated: list[tuple[_Pending, str]]) -> None:
        """Answer commands that were stored before with what became of their streams."""
        if repeated:
            found = await self.states.refresh({stream for _, stream in repeated})
            for pending, stream in repeated:
                _answer(pending, Decided(found[stream].state, ()))


def _count(results: Sequence[Appended | Moved | Duplicate], riders: list[tuple[_Pending, Decided | Exception]]) -> None:
    telemetry.STORED.inc(sum(isinstance(result, Appended) for result in results))
    telemetry.MOVED.inc(sum(isinstance(result, Moved) for result in results))
    refused = sum(isinstance(answer, Exception) for _, answer in riders)
    telemetry.REFUSED.inc(refused)
    telemetry.UNCHANGED.inc(len(riders) - refused + sum(isinstance(result, Duplicate) for result in results))


def _again(pending: _Pending, round_: _Round) -> None:
    """Put a command back, to be decided on states that are read afresh."""
    pending.rounds += 1
    if pending.rounds >= MAX_ROUNDS:
        _fail(pending, StreamMoved(pending.stream))
    else:
        round_.again.append(pending)


def _answer(pending: _Pending, answer: Decided | Exception) -> None:
    if isinstance(answer, Exception):
        _fail(pending, answer)
    elif not pending.future.done():
        pending.future.set_result(answer)


def _fail(pending: _Pending, error: Exception) -> None:
    if not pending.future.done():
        pending.future.set_exception(error)

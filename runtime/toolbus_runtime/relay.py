"""
The relay: the one thing that moves events from the store to the bus, in position order.

It runs on the leader. Every list of events from the feed is published in one window of asynchronous
acknowledgements and only then counts as done; the checkpoint follows a little behind, so a new leader
publishes a few messages again (at least once, never out of order).

The bus may forget: its folder may be deleted, restored from an older copy, or lose what it had not
synced. So before the first publish on a connection, whenever an acknowledgement carries a smaller
sequence than was due, and now and then when nothing is to be published, the relay compares what the
streams hold with what it put there, and feeds the difference again from the store.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import orjson
import structlog

from toolbus_contracts import subjects
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_runtime import telemetry
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.lookups import StreamState
from toolbus_runtime.bus.replies import Ack
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.store.port import Checkpoint, EventStore

log = structlog.get_logger(__name__)
CHECKPOINT = "relay"
CHECKPOINT_EVERY_S = 0.25
REFILL_EVENTS = 100_000  # how much of the log an emptied EVENTS stream gets back; older events are read by position
RETRY_S = 0.2
WATCH_S = 2.0
RESTORE_EVERY = 3  # looks: to ask for every stream and durable is work for the bus
WATCHED = ("EVENTS", "WORK")


@dataclass(frozen=True, slots=True)
class BusMessage:
    """One message for a stream of the bus."""

    stream: str
    subject: str
    data: bytes
    headers: dict[str, str]


class OutOfStep(Exception):
    """A stream is not where the relay left it."""


ToMessages = Callable[[Sequence[StoredEvent]], Awaitable[list[list[BusMessage]]]]


@dataclass
class Relay:
    """
    Publishes what `to_messages` makes of each event.

    `restore` re-creates missing streams; `resend_work` is called when the WORK stream lost messages.
    """

    store: EventStore
    bus: Bus
    feed: Feed
    leadership: Leadership
    to_messages: ToMessages
    restore: Callable[[], Awaitable[None]]
    resend_work: Callable[[], Awaitable[None]]
    position: int = 0
    _known: dict[str, StreamState] = field(default_factory=dict)
    _expected: dict[str, int] = field(default_factory=dict)
    _is_new_connection: asyncio.Event = field(default_factory=asyncio.Event)
    _saved_at: float = 0.0
    _saved: Checkpoint | None = None

    @property
    def lag(self) -> int:
        """How many events are stored and not yet on the bus."""
        return max(0, self.feed.head - self.position)

    async def run(self) -> None:
        """Relay until cancelled; waits while the bus is away and resumes where it stood."""
        checkpoint = await self.store.load_checkpoint(CHECKPOINT)
        self.position = checkpoint.position
        noted: dict[str, list[object]] = orjson.loads(checkpoint.note)
        self._known = {
            name: StreamState(created=str(created), last_sequence=int(str(last)), messages=0)
            for name, (created, last) in noted.items()
        }
        telemetry.watch_relay_lag(lambda: self.lag)
        try:
            while True:
                try:
                    self._is_new_connection.clear()
                    await self._catch_up()
                    await _first_of(self._relay(), self._is_new_connection.wait(), self._watch())
                except OutOfStep as found:
                    log.warning("relay.out_of_step", reason=str(found), position=self.position)
                except Unavailable as error:
                    log.warning("relay.waiting", reason=error.message, position=self.position)
                    await asyncio.sleep(RETRY_S)
        finally:
            telemetry.watch_relay_lag(None)
            with suppress(Unavailable):
                await asyncio.shield(self._save())

    def on_reconnect(self) -> None:
        """Hear that the bus has a new connection: what the streams hold is compared before the next publish."""
        self._is_new_connection.set()

    async def _relay(self) -> None:
        async for events in self.feed.follow(self.position, limit=500):
            await self._publish(events, await self.to_messages(events))
            self.position = events[-1].position
            if asyncio.get_running_loop().time() - self._saved_at > CHECKPOINT_EVERY_S:
                await self._save()

    async def _watch(self) -> None:
        """Look whether somebody took a stream away: without anything to publish nobody would notice."""
        for look in count(1):
            await asyncio.sleep(WATCH_S)
            for name, known in tuple(self._known.items()):
                state = await self.bus.stream_state(name)
                if state is None or _is_behind(state, known):
                    raise OutOfStep(f"{name} was taken away")
            if look % RESTORE_EVERY == 0:
                await self.restore()

    async def _publish(self, events: Sequence[StoredEvent], messages: Sequence[Sequence[BusMessage]]) -> None:
        """Publish everything that these events mean and wait for all acknowledgements."""
        sent: list[tuple[BusMessage, StoredEvent, asyncio.Future[Ack]]] = []
        refused: list[tuple[BusMessage, StoredEvent, BusRefused]] = []
        trouble: Exception | None = None
        for message, event in ((m, e) for e, group in zip(events, messages, strict=True) for m in group):
            try:
                sent.append(
                    (message, event, await self.bus.publish_soon(message.subject, message.data, message.headers))
                )
            except BusRefused as refusal:
                refused.append((message, event, refusal))
            except Unavailable as error:
                trouble = error
                break
        for message, event, future in sent:
            try:
                self._check(message, await future)
            except BusRefused as refusal:
                refused.append((message, event, refusal))
            except (Unavailable, OutOfStep) as error:
                trouble = trouble or error  # every future is awaited, or the loop would report lost exceptions
        for message, event, reason in refused:
            await self._bury(message, event, reason)
        if trouble is not None:
            raise trouble

    def _check(self, message: BusMessage, ack: Ack) -> None:
        expected = self._expected.get(message.stream)
        self._expected[message.stream] = ack.sequence + 1
        known = self._known.get(message.stream)
        if known is not None:
            last = max(known.last_sequence, ack.sequence)  # or nobody would see that the stream was further once
            self._known[message.stream] = StreamState(known.created, last, 0)
        if expected is not None and ack.sequence < expected:
            raise OutOfStep(f"{message.stream} gave sequence {ack.sequence} where {expected} was due")

    async def _bury(self, message: BusMessage, event: StoredEvent, refusal: BusRefused) -> None:
        """Lay down a message that the bus does not take, and go on: one event must not stop all others."""
        log.error("message.buried", subject=message.subject, position=event.position, reason=str(refusal))
        note = {"subject": message.subject, "position": event.position, "bytes": len(message.data)}
        reason = " ".join(str(refusal)[:500].split())  # a header is one line
        try:
            subject = subjects.dead(event.tenant, "refused_by_bus")
            await self.bus.publish(subject, orjson.dumps(note), {"Toolbus-Error": reason})
        except BusRefused:
            log.exception("message.not_buried", subject=message.subject, position=event.position)

    async def _catch_up(self) -> None:
        """Compare the streams with what was put there, and feed again what is missing."""
        await self.restore()
        states = {name: await self.bus.stream_state(name) for name in WATCHED}
        found = {name: state for name, state in states.items() if state is not None}
        if len(found) < len(WATCHED):
            raise Unavailable("streams are missing and could not be declared")
        self._expected = {name: state.last_sequence + 1 for name, state in found.items()}
        is_work_lost = self._lost("WORK", found["WORK"])
        is_events_lost = self._lost("EVENTS", found["EVENTS"])
        if is_work_lost:
            log.warning("work.lost", position=self.position)
            await self.resend_work()
        if is_events_lost:
            await self._refill()
        # Only now is it made good: a refill that was interrupted is seen as a loss again.
        self._known = {name: StreamState(state.created, self._expected[name] - 1, 0) for name, state in found.items()}
        if is_work_lost or is_events_lost:
            await self._save()  # or the next leader would make it good once more

    def _lost(self, name: str, state: StreamState) -> bool:
        known = self._known.get(name)
        return known is not None and _is_behind(state, known)

    async def _refill(self) -> None:
        """Publish the events again that the EVENTS stream lost, up to where the relay stood."""
        last = await self.bus.last_message("EVENTS", "toolbus.evt.>")
        reached = int(last.headers.get("ce-position", "0")) if last else 0
        if reached > self.position:
            reached = 0  # published before the loss was seen: it does not tell what is missing before it
        after = max(reached, self.position - REFILL_EVENTS)
        log.warning("events.refilled", after=after, until=self.position)
        while after < self.position:
            events = await self.store.read(after=after, limit=500)
            events = [event for event in events if event.position <= self.position]
            if not events:
                return
            messages = await self.to_messages(events)
            await self._publish(events, [[m for m in group if m.stream == "EVENTS"] for group in messages])
            after = events[-1].position

    async def _save(self) -> None:
        """Keep the position and how the streams stood, fenced by the lease."""
        note = {name: [state.created, state.last_sequence] for name, state in self._known.items()}
        checkpoint = Checkpoint(self.position, orjson.dumps(note).decode())
        if checkpoint == self._saved:
            return
        self._saved_at = asyncio.get_running_loop().time()
        if not await self.store.save_checkpoint(CHECKPOINT, checkpoint, lease=self.leadership.lease):
            raise Unavailable("the lease was lost")
        self._saved = checkpoint


def _is_behind(state: StreamState, known: StreamState) -> bool:
    """Whether the stream is another one, or holds less, than when it was `known`."""
    return state.created != known.created or state.last_sequence < known.last_sequence


async def _first_of(*works: Coroutine[object, object, object]) -> None:
    """Run until one of these ends or fails, and stop the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result

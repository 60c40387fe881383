"""The load generator's side of the bus: publishes with JetStream acks in flight, and ends as they arrive."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Self

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg

from bench.failures import BenchError
from bench.lanes import run_lanes

STALL_S = 30.0  # without a further end for so long, what is missing counts as lost
TICK_S = 0.25


class NotStored(BenchError):
    """JetStream answered a publish with an error."""


class AckedPublisher:
    """Publishes to JetStream whose acks come back on one inbox: far cheaper than a request for each."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prefix = client.new_inbox()
        self._pending: dict[str, asyncio.Future[None]] = {}
        self._sent = 0

    @classmethod
    async def open(cls, client: Client) -> Self:
        """Subscribe to the inbox of the acks."""
        publisher = cls(client)
        await client.subscribe(f"{publisher._prefix}.*", cb=publisher._acked)
        return publisher

    async def send(self, subject: str, payload: bytes) -> "asyncio.Future[None]":
        """Publish; the future is done when JetStream has stored the message, or holds `NotStored`."""
        self._sent += 1
        token = str(self._sent)
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending[token] = stored
        await self._client.publish(subject, payload, reply=f"{self._prefix}.{token}")
        return stored

    async def publish(self, subject: str, payload: bytes) -> None:
        """
        Publish and wait until JetStream has stored the message.

        Raises:
            NotStored: it refused.
        """
        await (await self.send(subject, payload))

    async def _acked(self, message: Msg) -> None:
        stored = self._pending.pop(message.subject[len(self._prefix) + 1 :], None)
        if stored is None or stored.done():
            return
        if b'"error"' in message.data or not message.data:
            stored.set_exception(NotStored(message.data.decode() or "no stream listens there"))
        else:
            stored.set_result(None)


class Ends:
    """Calls whose end was told on the bus, by the token of the subject that identifies the call."""

    def __init__(self, token: int) -> None:
        self._token = token
        self.seen: set[str] = set()
        self.last_at = time.perf_counter()
        self._expected: dict[str, asyncio.Future[None]] = {}

    async def listen(self, client: Client, *subjects: str) -> None:
        """Subscribe to the subjects that tell ends."""
        for subject in subjects:
            await client.subscribe(subject, cb=self._told)
        await client.flush()

    def forget(self) -> None:
        """Begin a new step."""
        self.seen.clear()

    def expect(self, call: str) -> "asyncio.Future[None]":
        """A future that is done when the call has ended."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._expected[call] = ended
        return ended

    async def count(self, wanted: int) -> int:
        """Wait for so many ends, or until they stall; how many there are."""
        last, since = len(self.seen), time.monotonic()
        while len(self.seen) < wanted and time.monotonic() - since < STALL_S:
            await asyncio.sleep(TICK_S / 10 if wanted - len(self.seen) < wanted / 4 else TICK_S)
            if len(self.seen) > last:
                last, since = len(self.seen), time.monotonic()
        return len(self.seen)

    async def _told(self, message: Msg) -> None:
        call = message.subject.split(".")[self._token]
        self.seen.add(call)
        self.last_at = time.perf_counter()
        if self._expected and (ended := self._expected.pop(call, None)) is not None and not ended.done():
            ended.set_result(None)


async def flood(
    publisher: AckedPublisher, ends: Ends, messages: Sequence[tuple[str, bytes]], concurrency: int
) -> tuple[float, int]:
    """Publish all, so many awaiting their ack at a time; seconds until the last end came, and ends."""
    ends.forget()

    async def publish(_: int, message: tuple[str, bytes]) -> None:
        await publisher.publish(*message)

    began = time.perf_counter()
    await run_lanes(range(concurrency), messages, publish)
    recorded = await ends.count(len(messages))
    return ends.last_at - began, recorded


def body(value: object) -> bytes:
    """Write JSON."""
    return orjson.dumps(value)


MakeMessage = Callable[[str], tuple[str, bytes]]  # call key → subject and payload

"""A bus of ours: streams in lists, which forget, refuse and go away as a test wants."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_runtime.bus.lookups import StoredMessage, StreamState
from toolbus_runtime.bus.replies import Ack

STREAMS = {"evt": "EVENTS", "work": "WORK", "dead": "DEAD"}


class Kept(NamedTuple):
    """One message in a stream."""

    subject: str
    data: bytes
    headers: Mapping[str, str]


@dataclass
class Stream:
    """A stream: when it was made, and what it holds."""

    created: str
    messages: list[Kept] = field(default_factory=list)

    def positions(self) -> list[int]:
        """Where in the log the messages come from."""
        return [int(kept.headers["ce-position"]) for kept in self.messages]


class Wire:
    """What the relay asks of the bus."""

    def __init__(self) -> None:
        self.is_away = False
        self.refused: set[str] = set()  # subjects that are refused when they are sent
        self.refused_late: set[str] = set()  # subjects whose ack is a refusal
        self.away_after: int | None = None  # how many messages still go through
        self.streams: dict[str, Stream] = {}
        self.made = 0
        for name in ("EVENTS", "WORK", "DEAD"):
            self.make(name)

    def make(self, name: str) -> None:
        """Make the stream anew, empty."""
        self.made += 1
        self.streams[name] = Stream(f"made {self.made}")

    async def publish_soon(
        self, subject: str, data: bytes, headers: Mapping[str, str] | None = None
    ) -> "asyncio.Future[Ack]":
        """Store a message; the answer comes as a future."""
        if subject in self.refused:
            raise BusRefused(f"{subject} is refused\nin two lines")
        if self.away_after == 0:
            self.is_away = True
        if self.is_away:
            raise Unavailable("not connected to the bus")
        future: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        stream = self.streams.get(STREAMS[subject.split(".")[1]])
        if subject in self.refused_late:
            future.set_exception(BusRefused("too large"))
        elif stream is None:
            future.set_exception(Unavailable("nobody serves it"))
        else:
            if self.away_after is not None:
                self.away_after -= 1
            stream.messages.append(Kept(subject, data, headers or {}))
            future.set_result(Ack("", len(stream.messages)))
        return future

    async def publish(self, subject: str, data: bytes, headers: Mapping[str, str] | None = None) -> Ack:
        """Store a message."""
        return await (await self.publish_soon(subject, data, headers))

    async def stream_state(self, name: str) -> StreamState | None:
        """How the stream stands."""
        if self.is_away:
            raise Unavailable("not connected to the bus")
        stream = self.streams.get(name)
        return StreamState(stream.created, len(stream.messages), len(stream.messages)) if stream else None

    async def last_message(self, stream: str, subject: str) -> StoredMessage | None:
        """The last message of the stream."""
        assert subject == "toolbus.evt.>"
        messages = self.streams[stream].messages
        if not messages:
            return None
        return StoredMessage(
            messages[-1].headers, messages[-1].data, len(messages), messages[-1].subject, datetime.now(UTC)
        )

"""JetStream's own API: how streams and durables stand, and single stored messages."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_runtime.bus.replies import Reply
from toolbus_runtime.bus.translate import api_error

API = "$JS.API."
NOT_FOUND = 404


class StreamState(NamedTuple):
    """A stream as it is: its creation time is its identity, a re-created one has another."""

    created: str
    last_sequence: int
    messages: int


class StoredMessage(NamedTuple):
    """A message as it lies in a stream."""

    headers: Mapping[str, str]
    data: bytes
    sequence: int
    subject: str
    stored_at: datetime


class ConsumerState(NamedTuple):
    """A durable as it is: not delivered yet, delivered and not acknowledged, and how far it came."""

    num_pending: int
    num_ack_pending: int
    ack_floor: int
    delivered: int


class Lookups(ABC):
    """Questions to JetStream, for whoever can send a request."""

    @abstractmethod
    async def request(
        self, subject: str, data: bytes, *, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """The answer of whoever serves the subject."""

    async def api(self, verb: str, body: Mapping[str, Any] | None = None, timeout_s: float = 5.0) -> dict[str, Any]:
        """
        The answer of JetStream's own API to `$JS.API.<verb>`.

        Raises:
            BusRefused: JetStream or the permissions say no.
            Unavailable: JetStream is away or faulty.
        """
        data = orjson.dumps(body) if body is not None else b""
        reply = await self.request(API + verb, data, timeout_s=timeout_s)
        answer: dict[str, Any] = orjson.loads(reply.data)
        if "error" in answer:
            raise api_error(answer["error"])
        return answer

    async def stream_state(self, name: str) -> StreamState | None:
        """How the stream stands; None when there is none."""
        answer = await self._found(f"STREAM.INFO.{name}")
        if answer is None:
            return None
        return StreamState(answer["created"], answer["state"]["last_seq"], answer["state"]["messages"])

    async def consumer_state(self, stream: str, durable: str) -> ConsumerState | None:
        """How the durable stands; None when it or its stream does not exist."""
        answer = await self._found(f"CONSUMER.INFO.{stream}.{durable}")
        if answer is None:
            return None
        floor, delivered = answer["ack_floor"]["stream_seq"], answer["delivered"]["stream_seq"]
        return ConsumerState(answer["num_pending"], answer["num_ack_pending"], floor, delivered)

    async def last_message(self, stream: str, subject: str) -> StoredMessage | None:
        """The last message of the stream on the subject (wildcards allowed); None when there is none."""
        return await self._stored(stream, {"last_by_subj": subject})

    async def next_message(self, stream: str, subject: str, sequence: int) -> StoredMessage | None:
        """The first message on the subject at or after the sequence; None when there is none."""
        return await self._stored(stream, {"seq": sequence, "next_by_subj": subject})

    async def message_at(self, stream: str, sequence: int) -> StoredMessage | None:
        """The message at this place of the stream; None when there is none."""
        return await self._stored(stream, {"seq": sequence})

    async def delete_message(self, stream: str, sequence: int) -> None:
        """There is no message at this place of the stream (any more)."""
        try:
            await self._found(f"STREAM.MSG.DELETE.{stream}", {"seq": sequence})
        except (BusRefused, Unavailable):
            if await self.message_at(stream, sequence) is not None:
                raise  # a message that is gone already is answered like a server's fault

    async def count_by_subject(self, stream: str, subject: str) -> dict[str, int]:
        """How many messages the stream holds on each subject that the pattern takes; at most 100,000 subjects."""
        answer = await self._found(f"STREAM.INFO.{stream}", {"subjects_filter": subject})
        found = answer["state"].get("subjects") if answer is not None else None
        return {str(name): int(count) for name, count in (found or {}).items()}

    async def _stored(self, stream: str, query: Mapping[str, Any]) -> StoredMessage | None:
        answer = await self._found(f"STREAM.MSG.GET.{stream}", query)
        if answer is None:
            return None
        found = answer["message"]
        headers = read_headers(base64.b64decode(found.get("hdrs", "")))
        data, stored_at = base64.b64decode(found.get("data", "")), datetime.fromisoformat(found["time"])
        return StoredMessage(headers, data, found["seq"], found["subject"], stored_at)

    async def _found(self, verb: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        try:
            return await self.api(verb, body)
        except BusRefused as error:
            if error.reply_status == NOT_FOUND:
                return None
            raise


def read_headers(raw: bytes) -> dict[str, str]:
    """
    The headers of a stored message, exactly as a subscriber is given them.

    What is read in two ways would be two messages: a test compares this with nats-py's own reader.
    """
    found: dict[str, str] = {}
    for line in raw.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        name = name.strip()
        if colon and name.isascii() and not any(character.isspace() for character in name.decode("ascii")):
            found[name.decode("ascii")] = value.strip().decode("utf-8", "replace")
    return found

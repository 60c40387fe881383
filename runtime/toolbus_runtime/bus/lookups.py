"""JetStream's own API: how streams and durables stand, and single stored messages."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from toolbus_contracts.errors import BusRefused
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

    async def _stored(self, stream: str, query: Mapping[str, Any]) -> StoredMessage | None:
        answer = await self._found(f"STREAM.MSG.GET.{stream}", query)
        if answer is None:
            return None
        found = answer["message"]
        raw = base64.b64decode(found.get("hdrs", ""))
        headers = {name.strip(): value.strip() for name, _, value in _lines(raw)}
        data, stored_at = base64.b64decode(found.get("data", "")), datetime.fromisoformat(found["time"])
        return StoredMessage(headers, data, found["seq"], found["subject"], stored_at)

    async def _found(self, verb: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        try:
            return await self.api(verb, body)
        except BusRefused as error:
            if error.reply_status == NOT_FOUND:
                return None
            raise


def _lines(raw: bytes) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in raw.decode("utf-8", "replace").split("\r\n")[1:] if ":" in line]

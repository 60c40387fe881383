"""One inbox for every answer that a connection waits for: acks of publishes, answers to requests."""

import asyncio
import re
from collections.abc import Mapping
from itertools import count
from typing import Any, NamedTuple

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.protocol.command import hpub_cmd, pub_cmd

from toolbus_contracts.errors import BusRefused, ToolbusError, Unavailable
from toolbus_runtime.bus.translate import NATS_ERRORS, api_error, translated

NO_RESPONDERS = "503"
STATUS = "Status"
_VIOLATION = re.compile(r'permissions violation for (?:publish|subscription)[^"]*"([^"]+)"')


class Ack(NamedTuple):
    """JetStream stored the message: in which stream, at which sequence, and whether it had it already."""

    stream: str
    sequence: int
    is_duplicate: bool = False


class Reply(NamedTuple):
    """An answer to a request."""

    data: bytes
    headers: Mapping[str, str]


class _Waiting(NamedTuple):
    future: asyncio.Future[Any]
    subject: str
    deadline: float
    is_ack: bool


def refused_subject(error: Exception) -> str | None:
    """The subject, in lower case, that the server says this user may not use; None for other errors."""
    found = _VIOLATION.search(str(error).lower())
    return found.group(1) if found else None


def encoded_headers(headers: Mapping[str, str]) -> bytes:
    """
    Write headers as they go over the wire.

    Raises:
        BusRefused: a name or value holds a line break.

    Source: NATS client protocol, HPUB.
    """
    text = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if text.count("\n") != len(headers) or text.count("\r") != len(headers):
        raise BusRefused("a header holds a line break")
    return f"NATS/1.0\r\n{text}\r\n".encode()


async def send(client: Client, subject: str, reply: str, *, data: bytes, headers: Mapping[str, str] | None) -> None:
    """
    Publish a message, past nats-py's own `publish`: checking nine headers one by one costs more than all the rest.

    `tests/integration/test_bus_connection.py` pins the parts of the client that are used here.
    """
    if len(data) > client.max_payload:
        raise BusRefused(f"{len(data)} bytes are over the maximum that the server takes ({client.max_payload})")
    if not subject.isprintable() or " " in subject:
        raise BusRefused(f"{subject!r} is no subject")
    command = hpub_cmd(subject, reply, encoded_headers(headers), data) if headers else pub_cmd(subject, reply, data)
    client.stats["out_msgs"] += 1
    client.stats["out_bytes"] += len(data)
    await client._send_command(command)  # noqa: SLF001 - pinned by a test
    if client._flush_queue is not None and client._flush_queue.empty():  # noqa: SLF001 - as in nats-py's publish
        await client._flush_pending()  # noqa: SLF001 - as in nats-py's publish


class Replies:
    """
    Answers, matched to futures by the last token of the inbox.

    It stands in for the future that nats-py fills when a subscription gets a message. That path calls
    `set_result` right in the read loop, without a queue and a task per message: measured at a third
    of the CPU of `publish_async`. `tests/integration/test_bus_connection.py` pins it.
    """

    def __init__(self, client: Client, *, window: int, ack_timeout_s: float) -> None:
        self._client = client
        self._prefix = client.new_inbox() + "."
        self._numbers = count(1)
        self._waiting: dict[str, _Waiting] = {}
        self._window = window
        self._ack_timeout_s = ack_timeout_s
        self._has_room = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """The inbox is subscribed."""
        await self._client.subscribe(self._prefix + "*", future=self)  # type: ignore[arg-type]
        self._timer = self._loop.call_later(1.0, self._expire)

    def close(self) -> None:
        """Nobody waits any more: every future has failed as unavailable."""
        if self._timer is not None:
            self._timer.cancel()
        self.fail_all(Unavailable("the connection was closed"))

    async def publish(self, subject: str, data: bytes, headers: Mapping[str, str] | None) -> asyncio.Future[Ack]:
        """The message is on its way; the future becomes its ack. Waits while the window is full."""
        while len(self._waiting) >= self._window:
            self._has_room.clear()
            await self._has_room.wait()
        return await self._send(subject, data, headers, timeout_s=self._ack_timeout_s, is_ack=True)

    async def request(self, subject: str, data: bytes, headers: Mapping[str, str] | None, timeout_s: float) -> Reply:
        """The first answer to a request."""
        future = await self._send(subject, data, headers, timeout_s=timeout_s, is_ack=False)
        try:
            async with asyncio.timeout(timeout_s):
                reply: Reply = await future
        except TimeoutError as error:
            raise Unavailable(f"no answer on {subject} within {timeout_s} s") from error
        return reply

    async def _send(
        self, subject: str, data: bytes, headers: Mapping[str, str] | None, *, timeout_s: float, is_ack: bool
    ) -> asyncio.Future[Any]:
        if not self._client.is_connected:
            raise Unavailable("not connected to the bus")  # nats-py would keep it and send it at any later time
        inbox = f"{self._prefix}{next(self._numbers)}"
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting[inbox] = _Waiting(future, subject, self._loop.time() + timeout_s, is_ack)
        try:
            await send(self._client, subject, inbox, data=data, headers=headers)
        except NATS_ERRORS as error:
            self._waiting.pop(inbox, None)
            raise translated(error) from error
        return future

    def cancelled(self) -> bool:
        """Part of the future's interface that nats-py uses: answers are always wanted."""
        return False

    def set_result(self, message: Msg) -> None:
        """Part of the future's interface that nats-py uses: an answer came."""
        waiting = self._waiting.pop(message.subject, None)
        if waiting is None:
            return
        if not self._has_room.is_set():
            self._has_room.set()
        if waiting.future.done():
            return
        if message.headers and message.headers.get(STATUS) == NO_RESPONDERS:
            waiting.future.set_exception(Unavailable(f"nobody serves {waiting.subject}"))
        elif waiting.is_ack:
            _settle(waiting.future, message.data)
        else:
            waiting.future.set_result(Reply(message.data, message.headers or {}))

    def fail_all(self, error: ToolbusError) -> None:
        """Every answer that is still waited for has failed with this error."""
        waiting, self._waiting = self._waiting, {}
        self._has_room.set()
        for one in waiting.values():
            if not one.future.done():
                one.future.set_exception(error)

    def refuse(self, subject: str) -> None:
        """The server does not let this user publish on the subject (given in lower case)."""
        for inbox, one in tuple(self._waiting.items()):
            if one.subject.lower() == subject:
                del self._waiting[inbox]
                if not one.future.done():
                    one.future.set_exception(BusRefused(f"permissions violation for publish to {one.subject}"))
        self._has_room.set()

    def _expire(self) -> None:
        now = self._loop.time()
        for inbox, one in tuple(self._waiting.items()):
            if one.future.done():
                del self._waiting[inbox]
            elif one.is_ack and one.deadline < now:
                del self._waiting[inbox]
                one.future.set_exception(Unavailable(f"no ack for {one.subject} in time"))
        self._has_room.set()
        self._timer = self._loop.call_later(1.0, self._expire)


def _settle(future: asyncio.Future[Ack], data: bytes) -> None:
    try:
        answer = orjson.loads(data)
        if "error" in answer:
            future.set_exception(api_error(answer["error"]))
        else:
            future.set_result(Ack(answer["stream"], answer["seq"], answer.get("duplicate", False)))
    except (ValueError, KeyError, TypeError, AttributeError):  # raising would end nats-py's read loop for good
        future.set_exception(BusRefused("an ack that is not JetStream's"))

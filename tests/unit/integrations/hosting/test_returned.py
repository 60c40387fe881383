"""What a method gave before it was to be stopped is told, however long it takes to be written."""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import BaseModel

from toolbus import READ, Call, Info, Provider
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.values import Json, Message, parse_json
from toolbus_integrations.core.hearing import heard
from toolbus_integrations.host import running
from toolbus_integrations.host.frames import framed, read_frame
from toolbus_integrations.host.messages import Cancel, FromHost, Gave, Giving, Perform, Ping, Pong, Stopped
from toolbus_integrations.host.network import Network
from toolbus_integrations.host.running import LARGE_BYTES, Runner
from toolbus_integrations.host.serving import Host

MAX_BYTES = 4 * LARGE_BYTES


class Wish(BaseModel):
    """How many letters."""

    letters: int


class Letters(BaseModel):
    """So many."""

    text: str


writer = Provider("writer", info=Info(friendly_name="Writer"))


@writer.method(contract=READ)
async def write(arguments: Wish, setup: None, call: Call) -> Letters:
    """Write so many letters."""
    return Letters(text="x" * arguments.letters)


@writer.method(contract=READ)
async def wait(arguments: Wish, setup: None, call: Call) -> Letters:
    """Never end, unless it is stopped."""
    await asyncio.Event().wait()
    return Letters(text="")


class Service:
    """The other side: what it asks, and what it hears."""

    def __init__(self, reader: asyncio.StreamReader, line: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._line = line

    def perform(self, number: int, method: str, letters: int) -> None:
        """Ask for a call."""
        arguments = {"letters": letters}
        given = {"setup": {}, "arguments": arguments, "tenant": "acme", "call_id": f"call_{number}"}
        self.tell(Perform.model_validate({"id": number, "method": method, "max_output_bytes": MAX_BYTES, **given}))

    def tell(self, message: Message) -> None:
        """Say something."""
        self._line.write(framed(message.model_dump_json().encode()))

    def close(self) -> None:
        """Nothing is said any more."""
        self._line.close()

    async def hears(self) -> FromHost:
        """What is said next."""
        body = await read_frame(self._reader, lambda: 2 * MAX_BYTES)
        assert body is not None
        return heard(body)


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Service]:
    """A host in this process, and the service that speaks with it."""
    ours, theirs = socket.socketpair()
    pipe = os.pipe()
    reader, line = await asyncio.open_connection(sock=theirs)
    network = Network()
    runner = Runner(writer, network, folder=folder, user_agent="toolbus/test")
    host = Host(runner, reader, line, notices=pipe[1], rules=EgressRules(parse_allowances("")))
    work = asyncio.create_task(host.serve())
    service = Service(*await asyncio.open_connection(sock=ours))
    try:
        yield service
    finally:
        service.close()
        await work
        line.close()
        await network.aclose()
        for end in pipe:
            os.close(end)


async def test_what_was_given_before_a_stop_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large output that is being written, and one that waits behind it; a method that still works is stopped."""
    begun, gate = threading.Event(), threading.Event()

    def slow(raw: bytes) -> Json:
        begun.set()
        assert gate.wait(20)
        return parse_json(raw)

    monkeypatch.setattr(running, "parse_json", slow)
    async with serving(tmp_path) as service:
        service.perform(1, "write", LARGE_BYTES + 1)
        assert await asyncio.to_thread(begun.wait, 20)
        service.perform(2, "write", 3)
        service.perform(3, "wait", 0)
        service.tell(Ping())
        assert await service.hears() == Pong()  # all three have begun
        for number in (1, 2, 3):
            service.tell(Cancel(id=number))
        said = [await service.hears() for _ in range(3)]
        assert sorted(said, key=str) == [Giving(id=1), Giving(id=2), Stopped(id=3)]
        gate.set()
        first, second = await service.hears(), await service.hears()
    assert isinstance(first, Gave)
    assert len(first.output["text"]) == LARGE_BYTES + 1
    assert second == Gave(id=2, output={"text": "xxx"})

"""What NATS kept, message by message: a value that lies over several chunks or files is whole here."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.nats_fixtures import ROOT
from tests.ports import free_port
from toolbus_contracts.subjects import BusUser, Permissions, users
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server import EmbeddedNats

PATIENCE_S = 30.0


async def messages_of(folder: Path, tenant: str) -> list[tuple[str, bytes]]:
    """
    The data of all messages of each stream in their order, one behind the other, and their subjects and headers.

    `folder` is the data folder of a `toolbus up` that has ended. Its server is started once more, with a user that may
    read everything.
    """
    passwords = {**json.loads((folder / "services.json").read_text()), ROOT: "for tests alone"}
    root = BusUser(ROOT, Permissions((">",), (">",)))
    server = EmbeddedNats(folder / "nats", passwords, (*users([tenant]), root), port=free_port())
    await server.start()
    bus = Bus(server.url, user=ROOT, password=passwords[ROOT])
    try:
        await bus.connect()
        names = (await _asked(bus, "STREAM.NAMES"))["streams"]
        return [found for name in names for found in await _read(bus, name)]
    finally:
        await bus.close()
        await server.stop()


async def _read(bus: Bus, stream: str) -> list[tuple[str, bytes]]:
    state = (await _asked(bus, f"STREAM.INFO.{stream}"))["state"]
    data, around = [], []
    for number in range(state["first_seq"], state["last_seq"] + 1):
        answer = await _asked(bus, f"STREAM.MSG.GET.{stream}", seq=number)
        if "message" in answer:  # others were acknowledged, and are gone
            message = answer["message"]
            data.append(base64.b64decode(message.get("data", "")))
            around.append(message["subject"].encode() + b"\n" + base64.b64decode(message.get("hdrs", "")))
    assert len(data) == state["messages"]
    return [(f"messages of {stream}", b"".join(data)), (f"headers of {stream}", b"\n".join(around))]


async def _asked(bus: Bus, verb: str, **body: int) -> dict[str, Any]:
    reply = await bus.request(f"$JS.API.{verb}", json.dumps(body).encode(), timeout_s=PATIENCE_S)
    found: dict[str, Any] = json.loads(reply.data)
    return found

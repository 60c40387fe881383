"""Submit calls to Toolbus with nothing but nats-py: publish, and listen for what becomes of them."""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import nats
from nats.aio.msg import Msg

COUNT, FILE, *_ = [*sys.argv[1:], *["1000", ".toolbus/credentials.json"][len(sys.argv) - 1 :]]
OWN = json.loads(Path(FILE).read_text())
ENDS = ("succeeded", "failed", "refused", "cancelled", "expired")


async def main() -> None:
    """Publish COUNT calls of get_version (examples/version.yaml) and count how they end."""
    bus = await nats.connect(
        OWN["nats_url"], user=OWN["nats_user"], password=OWN["nats_password"], inbox_prefix=OWN["nats_inbox_prefix"]
    )
    ended: asyncio.Queue[Msg] = asyncio.Queue()
    for end in ENDS:
        await bus.subscribe(f"toolbus.evt.{OWN['tenant']}.call.*.{end}", cb=ended.put)
    js = bus.jetstream()
    for number in range(int(COUNT)):
        call = {"tool": "get_version", "external_id": str(number)}
        await js.publish(f"toolbus.cmd.{OWN['tenant']}.call.submit", json.dumps(call).encode())
    how: dict[str, str] = {}
    while len(how) < int(COUNT):  # an event may be told more than once
        event = await asyncio.wait_for(ended.get(), 30)
        how[(event.headers or {})["ce-externalid"]] = event.subject.rpartition(".")[2]
    print(*(f"{count} {end}" for end, count in Counter(how.values()).items()), sep=", ")
    await bus.close()


asyncio.run(main())

"""Submit calls to Toolbus with nothing but nats-py: publish, and listen for what becomes of them."""

import asyncio
import json
import sys
from pathlib import Path

import nats

COUNT, FILE, *_ = [*sys.argv[1:], *["1000", ".toolbus/credentials.json"][len(sys.argv) - 1 :]]
OWN = json.loads(Path(FILE).read_text())


async def main() -> None:
    """Publish COUNT calls of get_weather and collect as many results."""
    bus = await nats.connect(
        OWN["nats_url"], user=OWN["nats_user"], password=OWN["nats_password"], inbox_prefix=OWN["nats_inbox_prefix"]
    )
    results = await bus.subscribe(f"toolbus.evt.{OWN['tenant']}.call.*.succeeded")
    js = bus.jetstream()
    for number in range(int(COUNT)):
        call = {"tool": "get_weather", "arguments": {"city": f"city-{number}"}, "external_id": str(number)}
        await js.publish(f"toolbus.cmd.{OWN['tenant']}.call.submit", json.dumps(call).encode())
    done = {(await results.next_msg(timeout=30)).headers["ce-externalid"] for _ in range(int(COUNT))}
    print(f"{len(done)} results")
    await bus.close()


asyncio.run(main())

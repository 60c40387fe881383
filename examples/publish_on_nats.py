"""Submit calls to Toolbus with nothing but nats-py: publish, and listen for what becomes of them."""

import asyncio
import json
import sys
from pathlib import Path

import nats

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


async def main() -> None:
    own = json.loads(Path(sys.argv[2] if len(sys.argv) > 2 else ".toolbus/credentials.json").read_text())
    bus = await nats.connect(
        own["nats_url"], user=own["nats_user"], password=own["nats_password"], inbox_prefix=own["nats_inbox_prefix"]
    )
    results = await bus.subscribe(f"toolbus.evt.{own['tenant']}.call.*.succeeded")
    js = bus.jetstream()
    for number in range(COUNT):
        call = {"tool": "get_weather", "arguments": {"city": f"city-{number}"}, "external_id": str(number)}
        await js.publish(f"toolbus.cmd.{own['tenant']}.call.submit", json.dumps(call).encode())
    done = {(await results.next_msg(timeout=30)).headers["ce-externalid"] for _ in range(COUNT)}
    print(f"{len(done)} results")
    await bus.close()


asyncio.run(main())

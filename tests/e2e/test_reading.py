"""Reading by position: an SSE client that is cut again and again sees every event once and in order."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import httpx
import pytest

from tests.e2e.harness import World
from tests.e2e.load import Load
from tests.nats_fixtures import until

CUTS = 20
CALLS = 300


async def told(http: httpx.AsyncClient, after: int) -> AsyncGenerator[int, None]:
    """Positions as the stream tells them, until it ends or breaks."""
    headers = {"Last-Event-ID": str(after)}
    async with http.stream("GET", "/v1/events/stream", headers=headers) as answer:
        assert answer.status_code == httpx.codes.OK
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                yield int(line.removeprefix("id: "))


class Listener:
    """Reads the stream and comes back with the last id it saw; it cuts itself at drawn places."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.seen: list[int] = []
        self.cuts = 0
        self._http = http

    async def run(self) -> None:
        """Listen until cancelled."""
        while True:
            left = random.randint(1, 2 * 3 * CALLS // CUTS)
            with suppress(httpx.TransportError):
                async with aclosing(told(self._http, self.seen[-1] if self.seen else 0)) as positions:
                    async for position in positions:
                        self.seen.append(position)
                        left -= 1
                        if left == 0 and self.cuts < CUTS:
                            break
            self.cuts += 1
            await asyncio.sleep(0)


async def paged(http: httpx.AsyncClient) -> list[int]:
    """Positions of the whole log, page by page."""
    found: list[int] = []
    while True:
        query = {"after": found[-1] if found else 0, "limit": 100}
        items = (await http.get("/v1/events", params=query)).json()["items"]
        if not items:
            return found
        found += [item["position"] for item in items]


@pytest.mark.timeout(90)
async def test_a_listener_that_is_cut_sees_every_event_once(sqlite_world: World) -> None:
    """Twenty cuts by the client and two of the server, with calls running: no event is missed, none comes twice."""
    world = sqlite_world
    listener = Listener(world.http)
    listening = asyncio.create_task(listener.run())
    load = Load(world)
    for part in range(3):
        await load.submit(f"{part}-{number}" for number in range(CALLS // 3))
        if part < 2:
            await world.restart("dispatcher")
    await load.assert_all_succeeded()
    wanted = [event.position for event in world.ledger.log if event.tenant == "default"]
    await until(lambda: bool(listener.seen) and listener.seen[-1] >= wanted[-1])
    await until(lambda: listener.cuts >= CUTS)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    assert listener.seen == wanted
    assert await paged(world.http) == wanted

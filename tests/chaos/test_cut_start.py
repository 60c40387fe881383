"""The bus goes away just while a service subscribes: the one moment that a drawn fault hardly ever meets."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.chaos.nest import Nest
from tests.chaos.proxy import Link, Passage
from tests.e2e.harness import World
from tests.e2e.target import Target
from toolbus_contracts.subjects import WAKE
from toolbus_runtime.bus.server_config import HOST


class CutAt(Link):
    """Cuts the first connection that subscribes to the subject, before the server reads of it."""

    cuts = 0

    async def pass_on(self, passage: Passage, data: bytes, *, is_answer: bool) -> bytes:
        """All bytes but those."""
        if not self.cuts and not is_answer and f"SUB {WAKE}".encode() in data:
            self.cuts += 1
            passage.cut()
            return b""
        return await super().pass_on(passage, data, is_answer=is_answer)


@pytest.mark.timeout(90)
async def test_a_dispatcher_that_loses_the_bus_while_it_subscribes_goes_on(nest: Nest, tmp_path: Path) -> None:
    """It connects again, subscribes, and is ready: the same process."""
    url = nest.sqlite(tmp_path / "db" / "toolbus.db")
    async with (
        World(nest.nursery, tmp_path, database_url=url, target=Target()) as world,
        CutAt("test", partial(asyncio.open_connection, HOST, world.nats.port)) as link,
    ):
        dispatcher = world.start("dispatcher", nats_url=f"nats://{HOST}:{link.port}")
        await world.until_ready()
        assert link.cuts == 1
        assert dispatcher.is_running
        assert "service.failed" not in dispatcher.log.read_text()
        await dispatcher.kill()

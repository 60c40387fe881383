"""Two dispatchers on one PostgreSQL: one leads, the other takes over, and neither trusts what it remembers."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.harness import World, world
from tests.e2e.load import Load
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until
from toolbus_contracts.digests import call_id_for_key
from toolbus_runtime.bus.listening import Incoming

TAKEOVER_S = 5.0


@pytest.fixture
async def pair(nursery: Nursery, tmp_path: Path, postgres_url: str) -> AsyncIterator[World]:
    """An installation where `dispatcher` leads and `dispatcher2` stands by; `http` of the world goes to the second."""
    async with world(nursery, tmp_path, postgres_url) as made:
        await until(lambda: "lease.taken" in made.services["dispatcher"].log.read_text())
        made.start("dispatcher2")
        await made.until_ready("dispatcher2")
        made.http = await made.client(service="dispatcher2")
        yield made


class Heard:
    """What a tenant's program hears of events, by position."""

    def __init__(self) -> None:
        self.positions: list[int] = []

    def __call__(self, message: Incoming) -> None:
        """Note the position of an event."""
        if "ce-position" in message.headers:
            self.positions.append(int(message.headers["ce-position"]))

    @property
    def first_times(self) -> list[int]:
        """Positions in the order in which they were heard first."""
        return list(dict.fromkeys(self.positions))


@pytest.mark.timeout(90)
async def test_the_other_takes_over_when_the_leader_is_killed(pair: World) -> None:
    """Within 5 s of the kill the next event is told and a call that was submitted afterwards has succeeded."""
    heard = Heard()
    await (await pair.client_bus()).subscribe("toolbus.evt.default.>", heard)
    load = Load(pair)
    await load.submit(f"before-{number}" for number in range(20))
    await until(lambda: len(heard.positions) >= 60)
    await pair.services["dispatcher"].kill()
    began = time.monotonic()
    count = len(heard.positions)
    submitting = asyncio.create_task(load.submit(f"after-{number}" for number in range(20)))
    await until(lambda: len(heard.positions) > count)
    told_s = time.monotonic() - began
    await submitting
    await until(lambda: "GET /items/after-0" in pair.target.journal)
    await pair.ledger.until_ended([load.accepted["after-0"]])
    succeeded_s = time.monotonic() - began
    print(f"from the kill to the next event {told_s:.2f} s, to the next success {succeeded_s:.2f} s")
    assert max(told_s, succeeded_s) < TAKEOVER_S
    await load.assert_all_succeeded()


@pytest.mark.timeout(90)
async def test_a_leader_that_was_frozen_disturbs_nobody(pair: World) -> None:
    """It was stopped, succeeded, and wakes up as a former leader: nothing is lost and every event comes in order."""
    heard = Heard()
    await (await pair.client_bus()).subscribe("toolbus.evt.default.>", heard)
    load = Load(pair)
    leader = pair.services["dispatcher"]
    pair.target.hold_after(10)
    submitting = asyncio.create_task(load.submit(f"one-{number}" for number in range(60)))
    await until(lambda: pair.target.answered >= 10)
    leader.signal(signal.SIGSTOP)
    pair.target.release()
    await submitting
    await until(lambda: "lease.taken" in pair.services["dispatcher2"].log.read_text())
    more = asyncio.create_task(load.submit(f"two-{number}" for number in range(100)))
    await until(lambda: len(load.accepted) > 100)
    leader.signal(signal.SIGCONT)
    await more
    await load.submit(f"three-{number}" for number in range(20))
    await load.assert_all_succeeded()
    last = pair.ledger.position
    await until(lambda: last in heard.positions)
    assert heard.first_times == sorted(heard.first_times)
    wanted = {event.position for event in pair.ledger.log if event.category == "call"}
    assert wanted <= set(heard.positions)


@pytest.mark.timeout(90)
async def test_the_leader_runs_tools_that_it_remembers_in_an_older_version(pair: World) -> None:
    """A new version is defined and called through the other dispatcher: the leader looks it up and sends the work."""
    leader = await pair.client(service="dispatcher")
    await leader.post("/v1/calls?wait_s=20", json={"tool": "look", "arguments": {"name": "old"}})
    await pair.define("look", through="dispatcher2", timeout_s=20)
    call = await pair.submit("look", "new")
    assert call["tool_version"] == 2
    await pair.ledger.until_ended([call["id"]], within_s=15)
    again = await leader.post("/v1/calls?wait_s=20", json={"tool": "look", "arguments": {"name": "newer"}})
    assert (again.json()["tool_version"], again.json()["status"]) == (2, "succeeded")


@pytest.mark.timeout(90)
async def test_the_leader_sends_work_of_a_call_that_it_remembers_as_unknown(pair: World) -> None:
    """Somebody asked the leader for a call before it was submitted through the other dispatcher."""
    leader = await pair.client(service="dispatcher")
    call_id = call_id_for_key("default", "asked before")
    assert (await leader.get(f"/v1/calls/{call_id}")).status_code == 404
    await pair.submit("look", "later", idempotency_key="asked before")
    await pair.ledger.until_ended([call_id], within_s=15)

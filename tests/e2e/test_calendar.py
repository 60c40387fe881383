"""A month goes by: what waits for its client is still there after thirty days, and is not after thirty-two."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.chaos import shim
from tests.chaos.machine import clocks
from tests.e2e import functions
from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.e2e.test_bus_loss import forget

pytestmark = pytest.mark.skipif(not shim.is_available(), reason=shim.why_unavailable() or "available")

DAY_S = 86400.0
SERVICES = ("dispatcher", "approvals")


@pytest.fixture(scope="module")
def timeless() -> Iterator[Nursery]:
    """Where services come from whose clocks can be set."""
    with tempfile.TemporaryDirectory(prefix="toolbus-clock-") as folder:
        Path(folder).chmod(0o755)
        with Nursery(clocks(shim.library(Path(folder)))) as started:
            yield started


@pytest.fixture
async def here(timeless: Nursery, tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """An installation on each database, with a function `draft` whose client has 31 days."""
    async with world(timeless, tmp_path, database_url, *SERVICES) as made:
        await made.until_ready("approvals")
        await functions.define(made)
        yield made


async def wake_up_on_day(here: World, day: float) -> None:
    """Everything was stopped, slept until then, and runs again; the bus has forgotten what it told."""
    for name in SERVICES:
        await here.services[name].terminate()
    await forget(here, copy=False)
    for name in SERVICES:
        shim.jump(here.services[name].folder / "clock", day * DAY_S)
        here.services[name].start()
    for name in SERVICES:
        await here.until_ready(name)


@pytest.mark.timeout(120)
async def test_a_function_has_a_month(here: World) -> None:
    """Answered on day 30 the call succeeds; on day 32 its neighbour has expired, and an answer comes too late."""
    http = await functions.desk(here)
    first, second = await functions.stand(here, 2)
    await functions.leased(http, 2, visibility_s=60)
    await wake_up_on_day(here, 8)  # longer than the bus keeps events
    assert [(await here.call(call_id))["status"] for call_id in (first, second)] == ["waiting", "waiting"]
    await wake_up_on_day(here, 30)
    taken = await functions.lease(http, 2)
    assert [(call["call_id"], call["attempt"]) for call in taken] == [(first, 2), (second, 2)]
    answer = await functions.complete(http, first, {"output": "a month later"})
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    await wake_up_on_day(here, 32)
    await here.ledger.until_ended([first, second])
    assert (await here.call(first))["output"] == "a month later"
    assert (await here.call(second))["status"] == "expired"
    late = await functions.complete(http, second, {"output": "too late"})
    assert (late.status_code, late.json()["code"]) == (409, "wait_closed")
    assert here.ledger.kinds(second) == ["requested", "wait_asked", "expired"]
    await here.ledger.assert_whole()

"""A call that was stopped before anybody took it up never reaches the target."""

import httpx
import pytest

from tests.e2e.harness import World
from tests.nats_fixtures import until


async def until_drained(world: World) -> None:
    """Every piece of work was taken up or dropped."""
    root = await world.bus("root")

    async def is_drained() -> bool:
        state = await root.stream_state("WORK")
        return state is not None and state.messages == 0

    await until(is_drained, within_s=30)


@pytest.mark.parametrize("tool", ["look", "act"])
@pytest.mark.timeout(90)
async def test_a_queued_call_is_cancelled_at_once(sqlite_world: World, tool: str) -> None:
    """No executor runs: it is cancelled in the same answer, and the executor that comes later does not send it."""
    world = sqlite_world
    await world.services["api_caller"].kill()
    calls = [await world.submit(tool, f"stopped{number}") for number in range(5)]
    for call in calls:
        answer = await world.http.post(f"/v1/calls/{call['id']}/cancel", json={"reason": "not needed"})
        assert answer.status_code == httpx.codes.OK
        assert answer.json()["status"] == "cancelled"
    again = await world.http.post(f"/v1/calls/{calls[0]['id']}/cancel", json={})
    assert again.json()["status"] == "cancelled"
    world.services["api_caller"].start()
    after = await world.submit(tool, "wanted")
    await world.ledger.until_ended([after["id"]])
    await until_drained(world)
    assert {line.rsplit("/", 1)[1] for line in world.target.journal} == {"wanted"}
    assert {world.ledger.end_of(call["id"]) for call in calls} == {"cancelled"}


@pytest.mark.parametrize("tool", ["look", "act"])
@pytest.mark.timeout(90)
async def test_a_queued_call_expires(sqlite_world: World, tool: str) -> None:
    """Its deadline passes while no executor runs: it ends expired and is not sent afterwards."""
    world = sqlite_world
    await world.services["api_caller"].kill()
    call = await world.submit(tool, "late", deadline_s=0.5)
    await world.ledger.until_ended([call["id"]], within_s=10)
    assert world.ledger.end_of(call["id"]) == "expired"
    answer = await world.http.post(f"/v1/calls/{call['id']}/cancel", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "call_ended")
    world.services["api_caller"].start()
    after = await world.submit(tool, "wanted")
    await world.ledger.until_ended([after["id"]])
    await until_drained(world)
    assert {line.rsplit("/", 1)[1] for line in world.target.journal} == {"wanted"}


@pytest.mark.timeout(90)
async def test_a_started_effect_keeps_its_own_outcome(sqlite_world: World) -> None:
    """Cancelling an unsafe call that runs is recorded as a wish; what the target answers is how it ends."""
    world = sqlite_world
    await world.define("hang", "POST", "/hang/{name}", timeout_s=30)
    call = await world.submit("hang", "running")
    await until(lambda: "POST /hang/running" in world.target.journal)
    answer = await world.http.post(f"/v1/calls/{call['id']}/cancel", json={"reason": "too late"})
    assert answer.json()["status"] == "running"
    world.target.release_hanging()
    await world.ledger.until_ended([call["id"]])
    kinds = ["requested", "dispatched", "attempt_started", "cancel_requested", "succeeded"]
    assert world.ledger.kinds(call["id"]) == kinds

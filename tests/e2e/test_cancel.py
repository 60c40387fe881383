"""A call that is stopped: before anybody took it up, on its way to the target, and when the target has it."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.e2e.harness import World
from tests.integration.api_caller.calling import hanging
from tests.integration.api_caller.raw_target import raw_target
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


async def define_at(world: World, name: str, url: str, **more: Any) -> None:
    """A tool that posts to this place."""
    definition = {"name": name, "api_call": {"method": "POST", "url": url}, "timeout_s": 60, **more}
    answer = await world.http.put(f"/v1/tools/{name}", json=definition)
    assert answer.is_success, answer.text


async def started(world: World, tool: str) -> str:
    """The id of a call without arguments."""
    answer = await world.http.post("/v1/calls", json={"tool": tool})
    assert answer.is_success, answer.text
    return str(answer.json()["id"])


@pytest.mark.timeout(90)
async def test_a_safe_call_is_taken_from_its_executor(sqlite_world: World) -> None:
    """It is cancelled at once; the target sees its connection cut long before the timeout, and is not asked again."""
    world = sqlite_world
    contract = {"effect": "write", "idempotency": "required"}
    async with raw_target(hanging) as target:
        await define_at(world, "safe", target.url, contract=contract, retry={"attempts": 3, "first_delay_s": 0.0})
        call_id = await started(world, "safe")
        await until(lambda: len(target.seen) == 1)
        answer = await world.http.post(f"/v1/calls/{call_id}/cancel", json={"reason": "not needed"})
        assert answer.json()["status"] == "cancelled"
        await until(target.seen[0].has_left)
        await until_drained(world)
        assert len(target.seen) == 1
    await world.ledger.refresh()
    assert world.ledger.kinds(call_id) == ["requested", "dispatched", "cancelled"]


@pytest.mark.timeout(90)
async def test_an_unsafe_call_is_stopped_before_it_is_sent(sqlite_world: World) -> None:
    """Its start is recorded and its connection does not stand yet: it is cancelled, and never sent."""
    world = sqlite_world
    opened: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)  # and never a word of TLS

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    await define_at(world, "silent", f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    call_id = await started(world, "silent")
    await until(lambda: len(opened) == 1)
    answer = await world.http.post(f"/v1/calls/{call_id}/cancel", json={"reason": "not needed"})
    assert answer.json()["status"] in {"running", "cancelled"}
    await world.ledger.until_ended([call_id], within_s=20)
    kinds = ["requested", "dispatched", "attempt_started", "cancel_requested", "cancelled"]
    assert world.ledger.kinds(call_id) == kinds
    await until_drained(world)
    assert len(opened) == 1
    for writer in opened:
        writer.close()
    server.close()

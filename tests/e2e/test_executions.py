"""Executions as people rely on them: what belongs to one, when it ends, and how it looked before."""

from typing import Any

import httpx
import pytest

from tests.e2e.harness import World
from tests.nats_fixtures import until

UNKNOWN = "exec_" + "0" * 32


async def opened(world: World, **body: object) -> str:
    """The id of a new execution."""
    answer = await world.http.post("/v1/executions", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def shown(world: World, execution_id: str, **query: object) -> dict[str, Any]:
    """The execution as it stands."""
    answer = await world.http.get(f"/v1/executions/{execution_id}", params=query)  # type: ignore[arg-type]
    assert answer.status_code == httpx.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def transitions(world: World, execution_id: str) -> list[dict[str, Any]]:
    """Its transitions, oldest first."""
    answer = await world.http.get(f"/v1/executions/{execution_id}/transitions")
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


@pytest.mark.timeout(90)
async def test_an_execution_from_its_first_call_to_its_end(sqlite_world: World) -> None:
    """Finished with open calls it runs until they end and takes none; transitions are in order; `at` looks back."""
    world = sqlite_world
    execution_id = await opened(world, labels={"run": "one"})
    world.target.hold_after(1)
    first = await world.submit("look", "first", execution_id=execution_id)
    await world.ledger.until_ended([first["id"]])
    second = await world.submit("look", "second", execution_id=execution_id)
    await until(lambda: "GET /items/second" in world.target.journal)
    finish = await world.http.post(f"/v1/executions/{execution_id}/finish", json={"output": {"sum": 1}})
    assert finish.json()["status"] == "running"
    late = await world.http.post(
        "/v1/calls", json={"tool": "look", "arguments": {"name": "late"}, "execution_id": execution_id}
    )
    assert (late.status_code, late.json()["code"]) == (409, "execution_finished")
    assert (await shown(world, execution_id))["finished_at"] is None
    world.target.release()
    await world.ledger.until_ended([second["id"]])
    ended = await shown(world, execution_id)
    assert (ended["status"], ended["output"], ended["calls"]) == ("succeeded", {"sum": 1}, {"succeeded": 2})
    assert "GET /items/late" not in world.target.journal

    steps = await transitions(world, execution_id)
    assert [step["position"] for step in steps] == sorted(step["position"] for step in steps)
    assert (steps[0]["type"], steps[-1]["type"]) == ("init", "finish")
    assert [step["type"] for step in steps].count("finish") == 1
    before = await shown(world, execution_id, at=steps[-1]["position"] - 1)
    assert before["status"] == "running"
    began = await shown(world, execution_id, at=steps[0]["at"])
    assert (began["status"], began["calls"]) == ("running", {})


@pytest.mark.timeout(90)
async def test_unknown_and_finished_executions_are_refused(sqlite_world: World) -> None:
    """A call into an unknown execution is 404; finishing it otherwise than it was finished is 409."""
    world = sqlite_world
    answer = await world.http.post(
        "/v1/calls", json={"tool": "look", "arguments": {"name": "x"}, "execution_id": UNKNOWN}
    )
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await world.http.get(f"/v1/executions/{UNKNOWN}")).status_code == 404
    assert (await world.http.post(f"/v1/executions/{UNKNOWN}/finish", json={})).status_code == 404
    execution_id = await opened(world)
    assert (await world.http.post(f"/v1/executions/{execution_id}/finish", json={})).json()["status"] == "succeeded"
    again = await world.http.post(f"/v1/executions/{execution_id}/finish", json={})
    assert again.status_code == 200
    assert (await world.http.post(f"/v1/executions/{execution_id}/cancel", json={})).status_code == 409


@pytest.mark.timeout(90)
async def test_cancelling_an_execution_cancels_its_open_calls(sqlite_world: World) -> None:
    """The reaction stops what is open, a call that ended keeps its end, and the execution ends cancelled."""
    world = sqlite_world
    execution_id = await opened(world)
    done = await world.submit("look", "done", execution_id=execution_id)
    await world.ledger.until_ended([done["id"]])
    await world.services["api_caller"].kill()
    waiting = [(await world.submit("look", f"open{n}", execution_id=execution_id))["id"] for n in range(5)]
    cancelled = await world.http.post(f"/v1/executions/{execution_id}/cancel", json={"reason": "enough"})
    assert cancelled.status_code == httpx.codes.OK
    await world.ledger.until_ended(waiting)
    assert {world.ledger.end_of(call_id) for call_id in waiting} == {"cancelled"}
    assert world.ledger.end_of(done["id"]) == "succeeded"
    ended = await shown(world, execution_id)
    assert (ended["status"], ended["reason"]) == ("cancelled", "enough")
    assert (await transitions(world, execution_id))[-1]["type"] == "cancelled"

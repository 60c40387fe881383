"""Retries through the whole system: what the target sees, and what the log tells."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.harness import World
from tests.nats_fixtures import until
from tests.ports import free_port

FAST: dict[str, Any] = {"first_delay_s": 0.05, "max_delay_s": 0.1}
SAFE: dict[str, Any] = {"contract": {"effect": "write", "idempotency": "required"}}
AGAIN = ["dispatched", "attempt_failed"]


async def ended(world: World, tool: str, name: str = "a", **options: object) -> tuple[list[str], dict[str, Any]]:
    """The kinds of events of a call of this tool, once it ended, and the call."""
    call_id = (await world.submit(tool, name, **options))["id"]
    await world.ledger.until_ended([call_id])
    return world.ledger.kinds(call_id)[1:], await world.call(call_id)


@pytest.mark.timeout(60)
async def test_answers(sqlite_world: World) -> None:
    """What an answer means is for contract and definition to say; each attempt carries the same key."""
    world = sqlite_world
    retry: dict[str, Any] = {"retry": {"attempts": 3, "retry_on": [503], **FAST}}
    await world.define("put", "PUT", "/status/503/{name}", **SAFE, **retry)
    await world.define("post", "POST", "/status/503/{name}", **retry)
    await world.define("silent", "POST", "/status/502/{name}", **retry)
    await world.define("patient", "PUT", "/status/429/{name}?after=1", **SAFE, retry={"attempts": 2, **FAST})
    await world.define("impatient", "POST", "/status/429/{name}?after=1", retry={"attempts": 2, **FAST})
    tools = ("put", "post", "silent", "patient", "impatient")
    began_at = datetime.now(UTC)
    ids = {tool: (await world.submit(tool, tool))["id"] for tool in tools}
    await world.ledger.until_ended(ids.values())
    found = {tool: (world.ledger.kinds(call_id)[1:], await world.call(call_id)) for tool, call_id in ids.items()}
    thrice = [*AGAIN, *AGAIN, "dispatched"]
    assert found["put"][0] == [*thrice, "failed"]
    assert [kind for kind in found["post"][0] if kind != "attempt_started"] == [*thrice, "failed"]
    assert found["silent"][0] == ["dispatched", "attempt_started", "failed"]
    assert found["patient"][0] == [*AGAIN, "dispatched", "failed"]
    assert found["impatient"][0] == ["dispatched", "attempt_started", "failed"]
    for tool, (_, call) in found.items():
        sent = 3 if tool in {"put", "post"} else 2 if tool == "patient" else 1
        keys = [keys for line, keys in world.target.keys.items() if line.endswith(f"/{tool}")]
        assert keys == [[call["id"]] * sent], tool
    waited = datetime.fromisoformat(found["patient"][1]["finished_at"]) - began_at
    assert waited >= timedelta(seconds=1)


@pytest.mark.timeout(60)
async def test_nothing_was_sent(sqlite_world: World) -> None:
    """A target that cannot be reached is tried again whatever the contract; every attempt of an unsafe call starts."""
    world = sqlite_world
    section = {"method": "POST", "url": f"http://127.0.0.1:{free_port()}/"}
    definition = {"name": "away", "api_call": section, "retry": {"attempts": 2, **FAST}}
    assert (await world.http.put("/v1/tools/away", json=definition)).is_success
    kinds, call = await ended(world, "away")
    attempt = ["dispatched", "attempt_started"]
    assert kinds == [*attempt, "attempt_failed", *attempt, "failed"]
    assert (call["error"]["code"], call["error"]["effect_happened"]) == ("connection_failed", "no")


@pytest.mark.timeout(60)
async def test_time_and_budget_end_it(sqlite_world: World) -> None:
    """A retry that would come after the deadline is none; a used up budget lets the answer at hand stand."""
    world = sqlite_world
    slow = {"attempts": 9, "retry_on": [503], "first_delay_s": 30.0, "jitter": 0.0}
    await world.define("slow", "PUT", "/status/503/{name}", **SAFE, retry=slow)
    poor = {"attempts": 9, "retry_on": [503], "budget": {"ratio": 0.0, "per_s": 0.0}, **FAST}
    await world.define("poor", "PUT", "/status/503/{name}", **SAFE, retry=poor)
    kinds, _ = await ended(world, "slow", deadline_s=20.0)
    assert kinds == ["dispatched", "failed"]
    kinds, _ = await ended(world, "poor", "b")
    assert kinds == [*AGAIN, "dispatched", "failed"]  # one is always saved up
    kinds, _ = await ended(world, "poor", "c")
    assert kinds == ["dispatched", "failed"]


@pytest.mark.timeout(60)
async def test_what_waits_for_its_next_attempt_can_be_cancelled_and_expires(sqlite_world: World) -> None:
    """It is `retrying`, says when it goes on, and ends at once."""
    world = sqlite_world
    retry = {"attempts": 2, "retry_on": [503], "first_delay_s": 25.0, "jitter": 0.0}
    await world.define("put", "PUT", "/status/503/{name}", **SAFE, retry=retry)
    first = (await world.submit("put", "a"))["id"]
    await world.ledger.until_kind(first, "attempt_failed")
    call = await world.call(first)
    assert call["status"] == "retrying"
    assert "the next one is due in 2" in call["why"]
    answer = await world.http.post(f"/v1/calls/{first}/cancel", json={})
    assert answer.json()["status"] == "cancelled"
    assert world.target.counts["PUT /status/503/a"] == 1


@pytest.mark.timeout(60)
async def test_the_next_attempt_comes_after_a_restart_of_the_dispatcher(sqlite_world: World) -> None:
    """Its due time lies in the store: whoever leads then lets it go."""
    world = sqlite_world
    retry = {"attempts": 2, "retry_on": [503], "first_delay_s": 4.0, "jitter": 0.0}
    await world.define("put", "PUT", "/status/503/{name}", **SAFE, retry=retry)
    call_id = (await world.submit("put", "a"))["id"]
    await world.ledger.until_kind(call_id, "attempt_failed")
    await world.restart("dispatcher")
    await world.ledger.until_ended([call_id])
    assert world.target.counts["PUT /status/503/a"] == 2
    await until(lambda: world.ledger.end_of(call_id) == "failed")

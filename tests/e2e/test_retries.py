"""Retries, limits and probes through the whole system: what the target sees, and what the log tells."""

import pytest

from tests.e2e.harness import World
from tests.nats_fixtures import until

FAST = {"first_delay_s": 0.05, "max_delay_s": 0.1}


@pytest.mark.timeout(60)
async def test_a_safe_call_is_tried_again_until_its_attempts_are_used_up(sqlite_world: World) -> None:
    """Three attempts, each with the same key, and then the last answer is the outcome."""
    world = sqlite_world
    put = {"contract": {"effect": "write", "idempotency": "required"}, "retry": {"attempts": 3, "retry_on": [503], **FAST}}
    await world.define("put", "PUT", "/status/503/{name}", **put)
    call_id = (await world.submit("put", "a"))["id"]
    await world.ledger.until_ended([call_id])
    attempt = ["dispatched", "attempt_failed"]
    assert world.ledger.kinds(call_id) == ["requested", *attempt, *attempt, "dispatched", "failed"]
    assert world.target.keys["PUT /status/503/a"] == [call_id] * 3
    call = await world.call(call_id)
    assert (call["attempt"], call["error"]["response"]["status_code"]) == (3, 503)

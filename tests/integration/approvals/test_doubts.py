"""How the waits end that show doubts."""

from datetime import UTC, datetime

import pytest

from tests.integration.approvals.service import Service, running
from tests.nats_fixtures import until
from toolbus_approvals.core.opening import doubt_id
from toolbus_approvals.heeding import ALWAYS
from toolbus_contracts.calls import AttemptFailed, CallDispatched, CallError, CallInDoubt, CallSucceeded, DoubtSettled

LOST = CallError(code="connection_lost", message="lost", effect_happened="unknown")


async def doubted(service: Service, call_id: str, attempt: int) -> str:
    """The attempt was made, and nobody knows what came of it; the wait that shows so is open."""
    at = datetime.now(UTC)
    dispatched = CallDispatched(call_id=call_id, attempt=attempt, tool_type="api_call", at=at)
    await service.say(call_id, dispatched, CallInDoubt(call_id=call_id, attempt=attempt, error=LOST, at=at))
    wait_id = doubt_id(call_id, attempt)
    assert (await service.desk.wait("acme", wait_id)).is_open
    return wait_id


@pytest.mark.parametrize("is_settled", [False, True], ids=["failed after all", "settled"])
async def test_a_doubt_ends_when_its_attempt_is_known_to_have_failed(database_url: str, *, is_settled: bool) -> None:
    """A late answer, a probe or a person told; the doubt about the next attempt is another one, and ends by itself."""
    async with running(database_url) as service:
        call_id, _ = await service.call()
        first, at = await doubted(service, call_id, 1), datetime.now(UTC)
        settled = DoubtSettled(call_id=call_id, attempt=1, outcome="retry", note="", at=at)
        failed = AttemptFailed(call_id=call_id, attempt=1, executor="x", error=LOST, retry_at=at, duration_ms=1, at=at)
        await service.say(call_id, settled if is_settled else failed)
        closed = (await service.until_closed(first)).closed
        assert closed is not None
        assert closed.outcome == "withdrawn"
        second = await doubted(service, call_id, 2)
        done = CallSucceeded(call_id=call_id, attempt=2, executor="x", output=1, duration_ms=1, at=datetime.now(UTC))
        await service.say(call_id, done)
        assert (await service.until_closed(second)).closed is not None


async def test_how_calls_end_is_heeded_only_while_a_doubt_is_open(sqlite_url: str) -> None:
    """A new leader asks at once whether any is: how all other calls end is none of its business."""
    async with running(sqlite_url) as service:
        heeding = service.approvals.heeding
        heeding.has_doubts = True  # as for a leader that does not know yet
        await until(service.approvals.leadership.is_held)
        await until(lambda: heeding.wanted() == ALWAYS)
        call_id, _ = await service.call()
        await doubted(service, call_id, 1)
        assert heeding.wanted() > ALWAYS

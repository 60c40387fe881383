"""What happens to waits without anybody's word, also when the process died in the middle of it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.integration.approvals.service import TENANT, Service, define_refund, person, running
from tests.nats_fixtures import until
from toolbus_approvals.adapters.queries import WaitFilter
from toolbus_approvals.aggregates import GRANT
from toolbus_approvals.commanding import Streams
from toolbus_approvals.core.grants import decide_use
from toolbus_approvals.keeping import Keeper
from toolbus_approvals.sweeping import LIMIT
from toolbus_contracts.calls import CallCancelled, CallDispatched, CallError, CallInDoubt
from toolbus_contracts.errors import NotFound, Unavailable
from toolbus_contracts.waits import ApproveWait, GiveDelegation, GiveGrant, Grant, WaitDetail, view_wait

HOUR = timedelta(hours=1)


async def grant(service: Service, uses: int = 1, by: str = "ana") -> Grant:
    """A grant of the calls of `refund`."""
    until = datetime.now(UTC) + HOUR
    command = GiveGrant.model_validate({"tool": "refund", "uses": uses, "until": until})
    return await service.desk.grants.give(TENANT, command, person(by, "finance"))


async def test_a_list_is_read_page_by_page_of_some_tools(database_url: str) -> None:
    """Newest first; the waits of other tools take no room, and the last page says that it is the last."""
    async with running(database_url) as service:
        asked = [(await service.call(tool=tool))[1] for tool in ("refund", "mail", "refund", "mail", "refund")]

        async def page(before: int | None, limit: int) -> tuple[list[str], int | None]:
            wanted = WaitFilter(status="open", tools=("refund",))
            found, behind = await service.desk.list(TENANT, wanted, before=before, limit=limit)
            return [wait.id for wait in found], behind

        async def are_listed() -> bool:
            return len((await page(None, 10))[0]) == 3

        await until(are_listed)
        first, behind = await page(None, 2)
        assert first == [asked[4], asked[2]]
        assert await page(behind, 2) == ([asked[0]], None)
        nothing = WaitFilter(status="open", tools=())
        assert await service.desk.list(TENANT, nothing, before=None, limit=10) == ([], None)


async def test_a_wait_that_was_asked_for_is_open(database_url: str) -> None:
    """Whoever reads it at once has it; the list has it soon; and it is opened once."""
    async with running(database_url) as service:
        _, wait_id = await service.call()
        wait = await service.desk.wait(TENANT, wait_id)
        assert (wait.is_open, wait.kind) == (True, "approval")

        async def is_listed() -> bool:
            found, _ = await service.desk.list(TENANT, WaitFilter(status="open"), before=None, limit=10)
            return [one.id for one in found] == [wait_id]

        await until(is_listed)
        assert await service.events("wait") == [(wait_id, "wait.opened.v1")]


async def test_a_wait_that_nobody_opened_yet_is_no_unknown_one(database_url: str) -> None:
    """Whoever asks is told to come back; one that nobody asked for is unknown."""
    async with running(database_url, leads=False) as service:
        with pytest.raises(NotFound):
            await service.desk.wait(TENANT, "wait_" + "0" * 32)
        _, wait_id = await service.call()
        with pytest.raises(Unavailable):
            await service.desk.wait(TENANT, wait_id)
    async with running(database_url) as service:
        assert (await service.desk.wait(TENANT, wait_id)).is_open


async def test_waits_expire_on_their_own_stream(database_url: str) -> None:
    """The clock of the leader closes them, more at once than one look takes up, each once."""
    number = LIMIT + 100
    async with running(database_url) as service:
        asked = await asyncio.gather(*(service.call(expires_s=0.5) for _ in range(number)))
        ids = {wait_id for _, wait_id in asked}
        for wait_id in ids:
            assert (await service.until_closed(wait_id)).closed is not None
        closed = [subject for subject, kind in await service.events("wait") if kind == "wait.closed.v1"]
        assert (len(closed), set(closed)) == (number, ids)


async def test_what_was_asked_for_while_nobody_led_is_opened_and_expires(database_url: str) -> None:
    """Reactions go on from their checkpoint; what has expired meanwhile is opened and closed."""
    async with running(database_url, leads=False) as service:
        _, short = await service.call(expires_s=0.01)
        _, long = await service.call()
        cancelled, gone = await service.call()
        await service.say(cancelled, CallCancelled(call_id=cancelled, reason="", at=datetime.now(UTC)))
    async with running(database_url) as service:
        assert (await service.until_closed(short)).closed is not None
        assert (await service.desk.wait(TENANT, long)).is_open
        assert gone not in {subject for subject, _ in await service.events("wait")}


async def test_a_call_that_ended_withdraws_its_wait(database_url: str) -> None:
    """Also when the end follows at once upon the asking."""
    async with running(database_url) as service:
        call_id, wait_id = await service.call()
        await service.desk.wait(TENANT, wait_id)
        cancelled = CallCancelled(call_id=call_id, reason="", at=datetime.now(UTC))
        await asyncio.gather(service.say(call_id, cancelled), service.noise())
        closed = (await service.until_closed(wait_id)).closed
        assert closed is not None
        assert (closed.outcome, closed.note) == ("withdrawn", "the call: cancelled")


async def test_a_grant_that_was_used_speaks_after_a_crash(database_url: str) -> None:
    """The use is on its own stream, the decision was never made: the next leader makes it, and uses it up once."""
    await define_refund(database_url)
    async with running(database_url, leads=False) as service:
        given = await grant(service)
        _, wait_id = await service.call(approvers=["role:finance"])

        def use(state: Grant | None, _: object, now: datetime) -> object:
            return decide_use(state, wait_id, now)

        await Streams(service.approvals.batcher).submit(TENANT, GRANT, given.id, use)  # type: ignore[arg-type]
    async with running(database_url) as service:
        wait = await service.until_closed(wait_id)
        assert [one.grant_id for one in wait.decisions] == [given.id]
        assert (await service.desk.grants.get(TENANT, given.id)).used_by == (wait_id,)


async def test_the_last_use_of_a_grant_goes_to_one_of_many(database_url: str) -> None:
    """Twenty calls at once, three uses: three are approved, the rest wait for a person."""
    await define_refund(database_url)
    async with running(database_url) as service:
        given = await grant(service, uses=3)
        ids = [wait_id for _, wait_id in await asyncio.gather(*(service.call() for _ in range(20)))]

        async def is_used_up() -> bool:
            return len((await service.desk.grants.get(TENANT, given.id)).used_by) == 3

        await until(is_used_up, within_s=20.0)
        for wait_id in (await service.desk.grants.get(TENANT, given.id)).used_by:
            assert (await service.until_closed(wait_id)).closed is not None
        waits = [await service.desk.wait(TENANT, wait_id) for wait_id in ids]
        assert sum(wait.closed is not None for wait in waits) == 3


async def test_two_leaders_that_do_the_same_do_it_once(database_url: str) -> None:
    """A former leader may still be at it: the ids of its commands are the same."""
    async with running(database_url) as service:
        call_id, wait_id = await service.call()
        keepers = [Keeper(service.approvals.batcher) for _ in range(3)]
        await asyncio.gather(*(keeper.open(TENANT, call_id, wait_id) for keeper in keepers))
        await asyncio.gather(*(keeper.withdraw(TENANT, wait_id, "x") for keeper in keepers))
        kinds = [kind for _, kind in await service.events("wait")]
        assert kinds == ["wait.opened.v1", "wait.closed.v1"]


async def test_a_delegation_counts_at_once(database_url: str) -> None:
    """Whoever it was given to decides with the next request, though lists lag behind the log."""
    async with running(database_url) as service:
        ana, ben = person("ana", "finance"), person("ben")
        for _ in range(5):
            _, wait_id = await service.call(approvers=["role:finance"])
            digest = (await service.desk.wait(TENANT, wait_id)).digest
            command = GiveDelegation.model_validate({"to": ben.subject, "until": datetime.now(UTC) + HOUR})
            given = await service.desk.delegations.give(TENANT, command, ana)
            await service.noise()
            decided = await service.desk.approve(TENANT, wait_id, ApproveWait(digest=digest), ben)
            assert decided.closed is not None
            await service.desk.delegations.revoke(TENANT, given.id, ana)


async def test_a_doubt_is_shown(database_url: str) -> None:
    """With what is known of it; it has no end of its own."""
    async with running(database_url) as service:
        call_id, wait_id = await service.call()
        error = CallError(code="connection_lost", message="lost", effect_happened="unknown")
        doubt = CallInDoubt(call_id=call_id, attempt=1, error=error, at=datetime.now(UTC))
        await service.desk.wait(TENANT, wait_id)
        dispatched = CallDispatched(call_id=call_id, attempt=1, tool_type="api_call", at=datetime.now(UTC))
        await service.say(call_id, dispatched, doubt)

        async def doubts() -> list[WaitDetail]:
            found, _ = await service.desk.list(TENANT, WaitFilter(kind="doubt"), before=None, limit=10)
            return [view_wait(wait) for wait in found]

        async def is_shown() -> bool:
            return len(await doubts()) == 1

        await until(is_shown)
        (shown,) = await doubts()
        assert (shown.error, shown.expires_at) == (error, None)

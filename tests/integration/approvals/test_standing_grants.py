"""Grants that are given, used up and revoked while calls come to stand still, and while leaders change."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

from tests.integration.approvals.service import TENANT, Service, define_refund, person, running
from tests.nats_fixtures import until
from toolbus_contracts.waits import GiveGrant, Grant

HOUR = timedelta(hours=1)
ROLE = ["role:finance"]


async def grant(service: Service, uses: int = 1, by: str = "ana") -> Grant:
    """A grant of the calls of `refund`."""
    command = GiveGrant.model_validate({"tool": "refund", "uses": uses, "until": datetime.now(UTC) + HOUR})
    return await service.desk.grants.give(TENANT, command, person(by, "finance"))


async def opened(service: Service) -> str:
    """The wait of a call, which is open: no grant spoke for it, and the leader is done with it."""
    _, wait_id = await service.call(approvers=ROLE)

    async def is_done() -> bool:
        return not await service.approvals.queries.has_unopened()

    await until(is_done)
    return wait_id


async def test_a_grant_speaks_for_the_calls_behind_it(database_url: str) -> None:
    """The leader knows that there is none, until there is; used up or revoked, it speaks for nobody."""
    await define_refund(database_url)
    async with running(database_url) as service:
        before = await opened(service)
        given = await grant(service, uses=2)
        for _ in range(2):
            _, wait_id = await service.call(approvers=ROLE)
            closed = (await service.until_closed(wait_id)).closed
            assert closed is not None
            assert closed.outcome == "approved"
        behind = await opened(service)
        revoked = await grant(service)
        await service.desk.grants.revoke(TENANT, revoked.id, person("ana"))
        last = await opened(service)
        for wait_id in (before, behind, last):
            assert (await service.desk.wait(TENANT, wait_id)).is_open
        assert (await service.desk.grants.get(TENANT, given.id)).left(datetime.now(UTC)) == 0


async def test_grants_and_calls_that_come_together_are_not_missed(database_url: str) -> None:
    """However they lie in the log: each call comes behind the one grant that may speak for it."""
    await define_refund(database_url)
    async with running(database_url) as service:

        async def granted_call(number: int) -> tuple[str, str]:
            given = await grant(service, by=f"p{number}")
            _, wait_id = await service.call(approvers=[f"user:p{number}"])
            return given.id, wait_id

        for grant_id, wait_id in await asyncio.gather(*map(granted_call, range(30))):
            assert (await service.until_closed(wait_id)).closed is not None
            assert (await service.desk.grants.get(TENANT, grant_id)).used_by == (wait_id,)


async def test_calls_that_reach_for_the_same_grant_take_another(database_url: str) -> None:
    """As many calls at once as there are grants of one use: none is left to a person."""
    await define_refund(database_url)
    async with running(database_url) as service:
        given = [await grant(service) for _ in range(10)]
        asked = [wait_id for _, wait_id in await asyncio.gather(*(service.call(approvers=ROLE) for _ in given))]
        for wait_id in asked:
            assert (await service.until_closed(wait_id)).closed is not None
        used = [(await service.desk.grants.get(TENANT, one.id)).used_by for one in given]
        assert sorted(used) == sorted((wait_id,) for wait_id in asked)


async def test_the_next_leader_knows_of_grants_that_nobody_told_it_of(database_url: str) -> None:
    """Given while the one before led, while nobody led, and while another process took the lease."""
    await define_refund(database_url)
    async with running(database_url) as service:
        await opened(service)
        await grant(service)
    async with running(database_url, leads=False) as service:
        await grant(service)
    async with AsyncExitStack() as former:
        first = await former.enter_async_context(running(database_url))
        _, one = await first.call(approvers=ROLE)
        assert (await first.until_closed(one)).closed is not None
        async with running(database_url) as second:
            await grant(second)
            for _ in range(2):
                _, wait_id = await second.call(approvers=ROLE)
                assert (await second.until_closed(wait_id)).closed is not None
            late = await opened(second)
            await former.aclose()
            await until(lambda: second.approvals.leadership.is_leader)
            await grant(second)
            _, last = await second.call(approvers=ROLE)
            assert (await second.until_closed(last)).closed is not None
            assert (await second.desk.wait(TENANT, late)).is_open

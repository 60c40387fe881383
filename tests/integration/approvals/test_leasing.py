"""Leasing where the table of hints is wrong: the stream of each wait says whether it is still open."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import insert

from tests.unit.approvals.making import OPENED
from tests.unit.approvals.test_completing import KEY, TOKEN_KEY
from tests.unit.dispatcher.making import ACTOR
from tests.unit.runtime.things import CAUSES, background
from toolbus_approvals.adapters.leases import Leases
from toolbus_approvals.adapters.tables import waits
from toolbus_approvals.adapters.tokens import read_token
from toolbus_approvals.aggregates import AGGREGATES, WAIT
from toolbus_approvals.leasing import MAX_LOOKS, MAX_WHOLE_BYTES, Leasing
from toolbus_contracts.errors import Conflict, NotAllowed, NotFound
from toolbus_contracts.values import Json
from toolbus_contracts.waits import HeartbeatWait, LeaseWaits, ReleaseWait, WaitClosed
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Command
from toolbus_runtime.payloads import keep_large
from toolbus_runtime.store.database import make_engine, open_store

NOW = datetime.now(UTC)
LEASE = "lease_" + "0" * 32


class Workplace:
    """Leasing on a database; waits are put into the log and into the table, or into one of them."""

    def __init__(self, database_url: str) -> None:
        self.store = open_store(database_url)
        self.engine = make_engine(database_url)
        self.batcher = Batcher(self.store, AGGREGATES, lambda _: None)
        self.leasing = Leasing(
            Leases(self.engine), self.batcher.states, self.store, token_key=TOKEN_KEY, clock=lambda: NOW
        )

    async def stand(self, *numbers: int, is_open: bool = True, arguments: Json = None, **changes: Any) -> None:
        """Calls wait; when not `is_open` they do so in the table alone, which has not heard of their end."""
        for number in numbers:
            wait_id = f"wait_{number:032x}"
            opened = OPENED.model_copy(
                update={
                    "wait_id": wait_id,
                    "wait_kind": "function",
                    "approval": None,
                    "arguments": arguments,
                    "expires_at": NOW + timedelta(days=1),
                    **changes,
                }
            )
            closed = WaitClosed(
                wait_id=wait_id,
                call_id=opened.call_id,
                wait_kind="function",
                outcome="completed",
                digest=opened.digest,
                at=NOW,
            )
            await self._happen(wait_id, [opened] if is_open else [opened, closed])
            row = {
                "wait_id": wait_id,
                "tenant": "acme",
                "call_id": opened.call_id,
                "kind": "function",
                "tool": "refund",
                "requester": "user:ana",
                "opened_at": NOW,
                "expires_at": opened.expires_at,
                "position": number,
                "created_position": number,
            }
            async with self.engine.begin() as connection:
                await connection.execute(insert(waits), row)

    async def lease(self, limit: int) -> list[int]:
        """The numbers of the waits that a worker gets."""
        command = LeaseWaits(tools=("refund",), max=limit)
        return [int(call.wait_id.removeprefix("wait_"), 16) for call in await self.leasing.lease(command, key=KEY)]

    async def _happen(self, wait_id: str, events: Sequence[BaseModel]) -> None:
        def decide(*_: object) -> Sequence[BaseModel]:
            return events

        await self.batcher.submit(Command("acme", WAIT, wait_id, f"cause {next(CAUSES)}", ACTOR, decide))


@asynccontextmanager
async def workplace(database_url: str) -> AsyncIterator[Workplace]:
    """A place to work at, while its batcher runs."""
    made = Workplace(database_url)
    async with background(made.batcher.run()):
        yield made
    await made.store.close()
    await made.engine.dispose()


@pytest.fixture
async def here(database_url: str) -> AsyncIterator[Workplace]:
    """On each database."""
    async with workplace(database_url) as made:
        yield made


async def test_what_is_over_is_passed_over_although_the_table_does_not_know(here: Workplace) -> None:
    """A worker gets as many open calls as it asked for, and never one that was answered."""
    await here.stand(1, 2, 3, is_open=False)
    await here.stand(4, 5)
    await here.stand(6, is_open=False)
    await here.stand(7)
    assert await here.lease(3) == [4, 5, 7]
    assert await here.lease(3) == []


async def test_a_long_row_of_what_is_over_is_not_gone_through_without_end(here: Workplace) -> None:
    """The next worker goes on behind it."""
    await here.stand(*range(1, MAX_LOOKS + 1), is_open=False)
    await here.stand(100)
    assert await here.lease(1) == []
    assert await here.lease(1) == [100]


async def test_large_arguments_are_given_whole_as_far_as_there_is_room(here: Workplace) -> None:
    """What is beyond stays a reference: an answer must not fill the memory of everybody."""
    large = "x" * (MAX_WHOLE_BYTES // 2 - 100)
    for number in (1, 2, 3):
        slim = await keep_large(here.store, "acme", {"text": large, "number": number})
        await here.stand(number, arguments=slim)
    await here.stand(4, arguments={"$payload": "sha256:" + "0" * 64})
    found = await here.leasing.lease(LeaseWaits(tools=("refund",), max=4), key=KEY)
    assert [call.arguments["number"] for call in found[:3]] == [1, 2, 3]
    assert [call.arguments["text"] == large for call in found[:3]] == [True, True, False]
    assert "$payload" in found[2].arguments["text"]
    assert found[3].arguments == {"$payload": "sha256:" + "0" * 64}
    assert len(json.dumps(found[2].model_dump(mode="json"))) < 2000
    assert {read_token(TOKEN_KEY, call.token) for call in found} == {("acme", call.wait_id) for call in found}


async def test_who_may_work_on_what(here: Workplace) -> None:
    """Other tools, other kinds of waits, and waits that are not there."""
    await here.stand(1)
    await here.stand(2, wait_kind="input")
    wait_id, other = f"wait_{1:032x}", KEY.model_copy(update={"tools": ("other",)})
    heartbeat, release = HeartbeatWait(lease_id=LEASE), ReleaseWait(lease_id=LEASE)
    with pytest.raises(NotAllowed):
        await here.leasing.lease(LeaseWaits(tools=("other", "refund")), key=other)
    with pytest.raises(NotAllowed):
        await here.leasing.heartbeat(wait_id, heartbeat, key=other)
    with pytest.raises(NotFound):
        await here.leasing.release(wait_id, release, key=KEY.model_copy(update={"tenant": "second"}))
    with pytest.raises(Conflict) as wrong:
        await here.leasing.release(f"wait_{2:032x}", release, key=KEY)
    with pytest.raises(Conflict) as lost:
        await here.leasing.heartbeat(wait_id, heartbeat, key=KEY)
    assert (wrong.value.code, lost.value.code) == ("wrong_wait_kind", "lease_lost")

"""Orphans among the calls that stand still: each has a wait that somebody can still answer."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.logs import asked, requested, resumed
from tests.unit.dispatcher.making import ACTOR, NOW
from tests.unit.dispatcher.test_sweeper import Scene, scene
from toolbus_contracts.calls import AnyCallEvent
from toolbus_contracts.tools import Terms
from toolbus_contracts.waits import AnyWaitEvent, WaitClosed, WaitOpened
from toolbus_dispatcher.orphans import STANDING_LIMIT
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import Append, Appended, NewEvent

SOON = NOW + timedelta(days=36500)
OPENED = WaitOpened(
    wait_id="wait_1",
    call_id="call_1",
    wait_kind="approval",
    execution_id="exec_1",
    tool="refund",
    tool_scope="tenant",
    tool_version=1,
    definition_hash="sha256:0",
    terms=Terms(),
    arguments={},
    digest="sha256:0",
    requester=ACTOR,
    expires_at=SOON,
    at=NOW,
)
CLOSED = WaitClosed(
    wait_id="wait_1", call_id="call_1", wait_kind="approval", outcome="approved", digest="sha256:0", at=NOW
)


def waiting(call_id: str = "call_1", *, expires_at: datetime = SOON, **changes: Any) -> list[AnyCallEvent]:
    """A call that stands still since long ago."""
    return [
        requested(call_id),
        asked(call_id).model_copy(update={"wait_id": f"wait_{call_id}", "expires_at": expires_at, **changes}),
    ]


async def write_wait(store: MemoryStore, call_id: str, *events: AnyWaitEvent) -> None:
    """The wait of a call in the store."""
    stream = f"acme/wait/wait_{call_id}"
    written = tuple(NewEvent(event.kind, event.model_dump_json()) for event in events)
    append = Append(
        tenant="acme",
        category="wait",
        stream=stream,
        expected_version=0,
        events=written,
        causation_id=stream,
        correlation_id="exec_1",
        actor=ACTOR.model_dump_json(),
    )
    assert isinstance((await store.append([append]))[0], Appended)


@pytest.mark.parametrize(
    ("events", "expires_at", "count"),
    [
        ([OPENED], SOON, 0),
        ([], SOON, 1),
        ([OPENED, CLOSED], SOON, 1),
        ([OPENED], NOW, 1),
    ],
)
async def test_a_call_stands_still_for_an_open_wait(
    sqlite_url: str, events: Sequence[AnyWaitEvent], expires_at: datetime, count: int
) -> None:
    """One whose wait is not there, is closed, or should have expired long ago would stand there for ever."""
    async with scene(sqlite_url, [waiting(expires_at=expires_at)]) as found:
        if events:
            await write_wait(found.store, "call_1", *events)
        await found.sweeper.orphans.look()
        assert found.sweeper.orphans.count == count


async def test_a_call_that_has_just_begun_to_wait_is_no_orphan(sqlite_url: str) -> None:
    """Its wait is opened by another service, which may take a moment; and one that went on is none."""
    just = datetime.now(NOW.tzinfo)
    went_on = [*waiting("call_2"), resumed("call_2").model_copy(update={"wait_id": "wait_call_2", "at": just})]
    async with scene(sqlite_url, [waiting(at=just), went_on]) as found:
        await found.sweeper.orphans.look()
        assert found.sweeper.orphans.count == 0


async def counts(found: Scene, looks: int) -> list[int]:
    """What so many looks found."""
    told = []
    for _ in range(looks):
        await found.sweeper.orphans.look()
        told.append(found.sweeper.orphans.count)
    return told


async def test_every_standing_call_is_looked_at_in_turn(sqlite_url: str) -> None:
    """So many at once and no more, each in its turn: as many looks as there are hundreds reach them all."""
    number = 3 * STANDING_LIMIT + 1
    forgotten = {0, STANDING_LIMIT, 3 * STANDING_LIMIT}  # of the first, of the second and of the last look
    async with scene(sqlite_url, [waiting(f"call_{one}") for one in range(number)]) as found:
        for one in set(range(number)) - forgotten:
            await write_wait(found.store, f"call_{one}", OPENED)
        assert await counts(found, 4) == [1, 2, 2, 3]


async def test_who_was_found_counts_until_it_is_over(sqlite_url: str) -> None:
    """Not only in the one look that found it; once its wait is there it is forgotten at the next look."""
    async with scene(sqlite_url, [waiting(f"call_{one}") for one in range(2 * STANDING_LIMIT + 1)]) as found:
        for one in range(1, 2 * STANDING_LIMIT + 1):
            await write_wait(found.store, f"call_{one}", OPENED)
        assert await counts(found, 3) == [1, 1, 1]
        await write_wait(found.store, "call_0", OPENED)
        assert await counts(found, 1) == [0]


async def test_those_that_were_found_have_turns_too(sqlite_url: str) -> None:
    """When all waits are lost no look takes up more than twice as many, and each of them is looked at again."""
    number = 2 * STANDING_LIMIT + 1
    async with scene(sqlite_url, [waiting(f"call_{one}") for one in range(number)]) as found:
        assert await counts(found, 3) == [STANDING_LIMIT, 2 * STANDING_LIMIT, number]
        for one in range(number):
            await write_wait(found.store, f"call_{one}", OPENED)
        assert await counts(found, 2) == [1, 0]

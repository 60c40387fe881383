"""Reactions: every event of a kind is answered, in order, also after a crash."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.unit.runtime.things import Store, background, in_virtual_time, loop_clock, pass_time, until
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import NotFound, Unavailable
from toolbus_runtime.feed import Feed
from toolbus_runtime.leader import Leadership
from toolbus_runtime.reactions import Reactions

KIND = "thing.counted.v1"


@dataclass
class Answers:
    """Notes what it reacts to, and fails when it is told to."""

    seen: list[int] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    async def react(self, event: StoredEvent) -> None:
        """Answer, or fail."""
        if self.failures:
            raise self.failures.pop()
        self.seen.append(event.position)


async def scene(count: int) -> tuple[Store, Feed]:
    """A store with so many events, and a feed that heard of them; owner a holds the lease."""
    store = Store(loop_clock)
    for _ in range(count):
        await store.elsewhere("a")
    feed = Feed(store)
    feed.wake(count)
    assert await store.hold_lease("main", "a", 3600)
    return store, feed


def reactions(store: Store, feed: Feed, answers: Answers, *, kind: str = KIND, owner: str = "a") -> Reactions:
    """Reactions of this owner to events of this kind."""
    leadership = Leadership(store, "main", owner)
    return Reactions("test", store, feed, leadership=leadership, reactions={kind: answers.react})


def test_every_event_is_answered_in_order_and_once() -> None:
    """A successor goes on where the one before it stood."""

    async def scenario() -> None:
        store, feed = await scene(3)
        answers = Answers()
        async with background(reactions(store, feed, answers).run()):
            await until(lambda: len(answers.seen) == 3)
            await pass_time(1)
        await store.elsewhere("a")
        feed.wake(4)
        async with background(reactions(store, feed, answers).run()):
            await until(lambda: len(answers.seen) == 4)
            await pass_time(60)
        assert answers.seen == [1, 2, 3, 4]

    in_virtual_time(scenario())


@pytest.mark.parametrize(
    "failure", [Unavailable("the store is away"), NotFound("no such call"), ValueError("a fault of ours")]
)
def test_what_cannot_be_done_now_is_tried_again_from_the_same_place(failure: Exception) -> None:
    """Nothing is skipped, and nothing that comes later goes first."""

    async def scenario() -> None:
        store, feed = await scene(2)
        answers = Answers(failures=[failure, failure])
        async with background(reactions(store, feed, answers).run()):
            await until(lambda: len(answers.seen) == 2)
        assert answers.seen == [1, 2]

    in_virtual_time(scenario())


def test_events_of_other_kinds_only_move_the_place() -> None:
    """Now and then, so that a successor need not read them all again."""

    async def scenario() -> None:
        store, feed = await scene(1)
        answers = Answers()
        async with background(reactions(store, feed, answers, kind="other.kind.v1").run()):
            await pass_time(2)
            await store.elsewhere("a")
            feed.wake(2)
            await pass_time(1)
        assert answers.seen == []
        assert (await store.load_checkpoint("reactions:test")).position == 2

    in_virtual_time(scenario())


def test_who_does_not_lead_keeps_no_place() -> None:
    """A leader that was paused may react again, which changes nothing; it does not move its successor's place."""

    async def scenario() -> None:
        store, feed = await scene(2)
        answers = Answers()
        async with background(reactions(store, feed, answers, owner="b").run()):
            await until(lambda: len(answers.seen) >= 4)
        assert (await store.load_checkpoint("reactions:test")).position == 0
        assert answers.seen[:4] == [1, 2, 1, 2]

    in_virtual_time(scenario())


@dataclass
class Meeting:
    """Answers only when so many are asked at once, or when they are of one stream."""

    size: int
    present: int = 0
    seen: list[int] = field(default_factory=list)
    full: asyncio.Event = field(default_factory=asyncio.Event)

    async def react(self, event: StoredEvent) -> None:
        """Wait for the others."""
        self.present += 1
        if self.present == self.size:
            self.full.set()
        await self.full.wait()
        self.seen.append(event.position)


def test_streams_do_not_wait_for_each_other() -> None:
    """What came together is answered at once, so that one commit holds the answers of all."""

    async def scenario() -> None:
        store = Store(loop_clock)
        for name in ("a", "b", "a", "c"):
            await store.elsewhere(name)
        feed, meeting = Feed(store), Meeting(3)
        feed.wake(4)
        assert await store.hold_lease("main", "a", 3600)
        together = Reactions(
            "test", store, feed, leadership=Leadership(store, "main", "a"), reactions={KIND: meeting.react}
        )
        async with background(together.run()):
            await until(lambda: len(meeting.seen) == 4)
        assert sorted(meeting.seen) == [1, 2, 3, 4]
        assert meeting.seen.index(1) < meeting.seen.index(3)  # of one stream

    in_virtual_time(scenario())


def test_what_comes_is_heard_before_it_is_answered() -> None:
    """All of a list, of whatever kind, and again when it is tried again."""

    async def scenario() -> None:
        store, feed = await scene(2)
        answers = Answers(failures=[NotFound("not yet")])
        told: list[tuple[list[int], list[int]]] = []

        def hear(events: Sequence[StoredEvent]) -> None:
            told.append(([event.position for event in events], list(answers.seen)))

        leadership = Leadership(store, "main", "a")
        heard = Reactions("test", store, feed, leadership=leadership, reactions={KIND: answers.react}, hear=hear)
        async with background(heard.run()):
            await until(lambda: len(answers.seen) == 2)
        assert told == [([1, 2], []), ([1, 2], [])]

    in_virtual_time(scenario())


def test_one_fault_holds_up_no_other_stream() -> None:
    """The others are answered; then all are tried again, which changes nothing for those."""

    async def scenario() -> None:
        store = Store(loop_clock)
        for name in ("a", "b"):
            await store.elsewhere(name)
        feed, answers = Feed(store), Answers(failures=[ValueError("a fault of ours")])
        feed.wake(2)
        assert await store.hold_lease("main", "a", 3600)
        async with background(reactions(store, feed, answers).run()):
            await until(lambda: len(answers.seen) == 3)
        assert answers.seen == [2, 1, 2]

    in_virtual_time(scenario())

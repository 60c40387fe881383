"""The batcher: many commands in one append, and nobody is harmed by a neighbour."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import pytest
from pydantic import BaseModel

from tests.unit.runtime.things import Counted, Store, background, batcher, count, until
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Conflict, StreamMoved, Unavailable
from toolbus_runtime.batcher import MAX_ROUNDS
from toolbus_runtime.deciding import Decide, Decided, Snapshot

GathersResults = list[Decided | BaseException]


def refusing(error: Exception) -> Decide:
    """A decision that refuses."""

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        snapshot.of("acme", "thing", "a")
        raise error

    return decide


async def test_commands_of_one_stream_are_folded_in_order() -> None:
    """Each sees what the ones before it in the same batch decided; one append stores them all."""
    store = Store()
    seen: list[int] = []

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        seen.append(snapshot.of("acme", "thing", "a"))
        return (Counted(by=10),)

    work = batcher(store)
    found = [work.enqueue(count(cause=f"c{n}", decide=decide)) for n in range(3)]
    async with background(work.run()):
        states = [decided.state for decided in await asyncio.gather(*found)]
    assert (seen, states) == ([0, 10, 20], [10, 20, 30])
    assert [len(appends) for appends in store.appends] == [3]
    assert [event.version for event in store.events] == [1, 2, 3]


async def test_what_was_committed_is_told_once_and_in_order() -> None:
    """Whoever follows the log here hears of it with its positions, and the sender gets its own events."""
    heard: list[StoredEvent] = []
    store = Store()
    work = batcher(store, on_commit=heard.extend)
    first, second = work.enqueue(count("a")), work.enqueue(count("b", traceparent="00-1-2-01"))
    async with background(work.run()):
        assert (await first).events + (await second).events == tuple(heard) == tuple(store.events)
    (_, event) = heard
    assert (event.position, event.stream, event.traceparent) == (2, "acme/thing/b", "00-1-2-01")
    assert (event.correlation_id, event.actor) == ("together", '{"subject":"service:test","via":"internal"}')


async def test_a_stream_that_moved_is_decided_afresh_and_its_neighbours_go_through() -> None:
    """The state in memory was old; the append said so, and the second decision sees what others wrote."""
    store = Store()
    work = batcher(store)
    async with background(work.run()):
        await work.submit(count("a"))
        await store.elsewhere("a", by=100)
        moved, neighbour = work.enqueue(count("a")), work.enqueue(count("b"))
        assert ((await moved).state, (await neighbour).state) == (102, 1)
    assert [len(appends) for appends in store.appends] == [1, 2, 1]


async def test_nobody_is_overtaken_when_several_moved() -> None:
    """Commands that are put back keep their order: a cancel does not come before its submit."""
    store = Store()
    order: list[str] = []

    def noting(name: str) -> Decide:
        def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
            order.append(f"{name}@{snapshot.of('acme', 'thing', 'a')}")
            return (Counted(),)

        return decide

    work = batcher(store)
    async with background(work.run()):
        await work.submit(count("a"))
        await store.elsewhere("a", by=10)
        found = [work.enqueue(count(cause=name, decide=noting(name))) for name in "xyz"]
        await asyncio.gather(*found)
    assert order == ["x@1", "y@2", "z@3", "x@11", "y@12", "z@13"]


async def test_what_a_decision_looked_at_guards_it() -> None:
    """When another stream that it read has moved, the decision is made again."""
    store = Store()

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        return (Counted(by=snapshot.of("acme", "thing", "limit")),)

    work = batcher(store)
    async with background(work.run()):
        await work.submit(count("limit", by=5))
        await store.elsewhere("limit", by=2)
        assert (await work.submit(count("a", decide=decide, needs=("acme/thing/limit",)))).state == 7
    guards = [appends[0].guards for appends in store.appends]
    assert guards == [(), (("acme/thing/limit", 1),), (("acme/thing/limit", 2),)]


async def test_a_stream_that_was_not_loaded_is_loaded_and_decided_again() -> None:
    """Also when a decision finds out only while it looks; what it named in `needs` comes with the first query."""
    store = Store()
    await store.elsewhere("b", by=2)
    await store.elsewhere("c", by=3)

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        return (Counted(by=snapshot.of("acme", "thing", "b") * snapshot.of("acme", "thing", "c")),)

    work = batcher(store)
    async with background(work.run()):
        assert (await work.submit(count("a", decide=decide, needs=("acme/thing/b",)))).state == 6
    assert [set(wanted) for wanted in store.loads] == [{"acme/thing/a", "acme/thing/b"}, {"acme/thing/c"}]


async def test_a_first_command_does_not_look_for_its_stream() -> None:
    """If it is there all the same, the append says so and nothing is overwritten."""
    store = Store()
    await store.elsewhere("a", by=5)
    work = batcher(store)
    async with background(work.run()):
        assert (await work.submit(count("new", is_first=True))).state == 1
        assert store.loads == []
        assert (await work.submit(count("a", is_first=True))).state == 6


async def test_the_same_command_again_adds_nothing() -> None:
    """It hears what became of the stream, also when it comes twice in one batch."""
    store = Store()
    work = batcher(store)
    async with background(work.run()):
        await work.submit(count(cause="once"))
        twice = [work.enqueue(count(cause=cause)) for cause in ("once", "new", "new")]
        answers = await asyncio.gather(*twice)
    assert [decided.state for decided in answers] == [1, 2, 2]
    assert [len(decided.events) for decided in answers] == [0, 1, 0]
    assert len(store.events) == 2


@pytest.mark.parametrize("error", [Conflict("call_ended", "no"), ValueError("a fault")])
async def test_a_decision_that_fails_harms_no_neighbour(error: Exception) -> None:
    """Its sender hears the reason, a rule's or a fault's; the others are stored."""
    store = Store()
    work = batcher(store)
    commands = [count("a"), count("a", decide=refusing(error)), count("b")]
    found = [work.enqueue(command) for command in commands]
    async with background(work.run()):
        first, failed, last = await asyncio.gather(*found, return_exceptions=True)
    assert failed is error
    assert isinstance(first, Decided)
    assert isinstance(last, Decided)
    assert len(store.events) == 2


async def test_an_event_that_cannot_be_written_harms_no_neighbour() -> None:
    """Half of a surrogate pair is no JSON text: its sender hears so, and nobody builds on what was not stored."""
    store = Store()

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        snapshot.of("acme", "thing", "a")
        return (Counted(by=100, note="\ud800"),)

    work = batcher(store)
    found = [work.enqueue(command) for command in (count("b"), count("a", decide=decide), count("a"))]
    async with background(work.run()):
        neighbour, failed, later = await asyncio.gather(*found, return_exceptions=True)
    assert isinstance(failed, ValueError)
    assert isinstance(neighbour, Decided)
    assert isinstance(later, Decided)
    assert (neighbour.state, later.state) == (1, 1)


async def test_a_store_that_is_away_is_told_to_everybody_in_the_batch() -> None:
    """And when it is back, the next batch goes through."""
    store = Store()
    work = batcher(store)
    async with background(work.run()):
        store.is_away = True
        found = [work.enqueue(count(name)) for name in ("a", "b")]
        answers = await asyncio.gather(*found, return_exceptions=True)
        assert [type(answer) for answer in answers] == [Unavailable, Unavailable]
        store.is_away = False
        assert (await work.submit(count("a"))).state == 1


async def test_a_command_that_keeps_losing_is_given_back() -> None:
    """Its sender is told to come back, instead of waiting for ever."""

    class Racing(Store):
        async def append(self, appends: Sequence[object]) -> list[object]:  # type: ignore[override]
            """Somebody else is always faster."""
            await self.elsewhere("a")
            return await super().append(appends)  # type: ignore[arg-type,return-value]

    store = Racing()
    work = batcher(store)
    async with background(work.run()):
        with pytest.raises(StreamMoved, match="acme/thing/a keeps moving"):
            await work.submit(count("a"))
    assert len(store.appends) == MAX_ROUNDS


async def test_the_queue_is_bounded() -> None:
    """One command more is refused at once, and those inside are not lost."""
    work = batcher(Store(), queue_limit=2)
    found = [work.enqueue(count(name)) for name in ("a", "b")]
    with pytest.raises(Unavailable, match="2 commands of this tenant are waiting already"):
        work.enqueue(count("c"))
    async with background(work.run()):
        assert [decided.state for decided in await asyncio.gather(*found)] == [1, 1]


async def test_no_tenant_fills_the_queue_alone() -> None:
    """One more of the tenant that has many is refused; another's is taken."""
    work = batcher(Store(), tenant_limit=2)
    found = [work.enqueue(count(name)) for name in ("a", "b")]
    with pytest.raises(Unavailable, match="2 commands of this tenant are waiting already"):
        work.enqueue(count("c"))
    found.append(work.enqueue(count("d", decide=lambda *_: (Counted(by=1),))._replace(tenant="other")))
    async with background(work.run()):
        assert [decided.state for decided in await asyncio.gather(*found)] == [1, 1, 1]


async def test_batches_are_bounded_and_gather_while_one_is_synced() -> None:
    """What comes in during an append is the next batch, at most `batch_size` commands long."""
    store = Store()
    work = batcher(store, batch_size=3)
    async with background(work.run()):
        store.open.clear()
        found = [work.enqueue(count("first"))]
        await until(lambda: store.appends)
        found += [work.enqueue(count(f"a{n}")) for n in range(5)]
        store.open.set()
        await asyncio.gather(*found)
    assert [len(appends) for appends in store.appends] == [1, 3, 2]


async def test_whoever_waits_at_shutdown_is_told_so() -> None:
    """Both who is in a batch and who is still in the queue; afterwards nobody is let in."""
    store = Store()
    work = batcher(store, batch_size=1)
    task = asyncio.ensure_future(work.run())
    store.open.clear()
    found = [work.enqueue(count(name)) for name in ("a", "b")]
    await until(lambda: store.appends)
    task.cancel()
    answers: GathersResults = await asyncio.gather(*found, return_exceptions=True)
    assert [str(answer) for answer in answers] == ["shutting down", "shutting down"]
    with pytest.raises(Unavailable, match="shutting down"):
        work.enqueue(count("c"))
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_sender_that_went_away_stops_nobody() -> None:
    """Its command is decided all the same, and the next one, too."""
    store = Store()
    work = batcher(store)
    gone, stays = work.enqueue(count("a")), work.enqueue(count("a", decide=refusing(Conflict("busy", "no"))))
    last = work.enqueue(count("a"))
    gone.cancel()
    stays.cancel()
    async with background(work.run()):
        assert (await last).state == 2

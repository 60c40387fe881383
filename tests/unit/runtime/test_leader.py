"""Leadership: one of several runs the work, for as long as it holds the lease."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

from tests.unit.runtime.things import Store, VirtualLoop, background, in_virtual_time, loop_clock, pass_time, until
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.leader import LOOK_S, TTL_S, Leadership


@dataclass
class Work:
    """What a leader does: says when it begins and ends, and may fail."""

    name: str
    said: list[str] = field(default_factory=list)
    failure: Exception | None = None
    starts: int = 0

    async def lead(self) -> None:
        """Work until stopped."""
        self.starts += 1
        self.said.append(f"{self.name} begins")
        try:
            if self.failure is not None:
                raise self.failure
            await asyncio.Event().wait()
        finally:
            self.said.append(f"{self.name} ends")


def test_one_leads_and_goes_on_leading() -> None:
    """The lease is renewed for as long as its owner lives; the others only look."""

    async def scenario() -> list[str]:
        store = Store(loop_clock)
        said: list[str] = []
        first, second = Leadership(store, "main", "a"), Leadership(store, "main", "b")
        async with background(first.run(Work("a", said).lead)), background(second.run(Work("b", said).lead)):
            await pass_time(10 * TTL_S)
            assert (first.is_leader, second.is_leader) == (True, False)
            assert first.lease == ("main", "a")
            return list(said)

    assert in_virtual_time(scenario()) == ["a begins"]


def test_a_leader_that_leaves_gives_the_lease_back() -> None:
    """The next one follows within one look, not after the time to live."""

    async def scenario() -> tuple[list[str], float]:
        store = Store(loop_clock)
        said: list[str] = []
        second = Leadership(store, "main", "b")
        async with background(Leadership(store, "main", "a").run(Work("a", said).lead)) as first:
            await pass_time(1)
            async with background(second.run(Work("b", said).lead)):
                first.cancel()
                left_at = asyncio.get_running_loop().time()
                await until(lambda: second.is_leader)
                return list(said), asyncio.get_running_loop().time() - left_at

    said, passed = in_virtual_time(scenario())
    assert said == ["a begins", "a ends", "b begins"]
    assert passed <= LOOK_S + 0.01


def test_a_leader_that_died_is_followed_when_its_lease_has_run_out() -> None:
    """Nobody gave it back; the store's clock counts."""

    async def scenario() -> float:
        store = Store(loop_clock)
        await store.hold_lease("main", "dead", TTL_S)
        second = Leadership(store, "main", "b")
        async with background(second.run(Work("b").lead)):
            await until(lambda: second.is_leader)
            return asyncio.get_running_loop().time()

    assert TTL_S <= in_virtual_time(scenario()) <= TTL_S + LOOK_S


def test_a_leader_that_cannot_renew_stops_before_another_may_begin() -> None:
    """While the store is away it works on only as long as its lease surely holds."""

    async def scenario() -> tuple[list[str], float, bool]:
        store = Store(loop_clock)
        said: list[str] = []
        first = Leadership(store, "main", "a")
        async with background(first.run(Work("a", said).lead)):
            await until(lambda: first.is_leader)
            began_at = asyncio.get_running_loop().time()
            store.is_away = True
            await until(lambda: not first.is_leader)
            passed = asyncio.get_running_loop().time() - began_at
            store.is_away = False
            await until(lambda: len(said) == 3)
            return list(said), passed, first.is_leader

    said, passed, is_leader = in_virtual_time(scenario())
    assert said == ["a begins", "a ends", "a begins"]
    assert passed <= TTL_S + 0.01
    assert is_leader


def test_a_lease_that_somebody_else_took_is_lost() -> None:
    """A leader that was paused finds it taken, and stops its work."""

    async def scenario() -> list[str]:
        store = Store(loop_clock)
        said: list[str] = []
        first = Leadership(store, "main", "a")
        async with background(first.run(Work("a", said).lead)):
            await until(lambda: first.is_leader)
            await store.release_lease("main", "a")
            assert await store.hold_lease("main", "b", TTL_S)
            await until(lambda: not first.is_leader)
            await pass_time(LOOK_S / 2)
            return list(said)

    assert in_virtual_time(scenario()) == ["a begins", "a ends"]


def test_work_that_fails_is_begun_again() -> None:
    """Whether something was away or it was a fault: after a moment, by whoever holds the lease then."""

    async def scenario(failure: Exception) -> int:
        store = Store(loop_clock)
        work = Work("a", failure=failure)
        async with background(Leadership(store, "main", "a").run(work.lead)):
            await until(lambda: work.starts >= 3, 60)
            return len(store.appends)

    for failure in (Unavailable("the bus is away"), ValueError("a fault")):
        assert in_virtual_time(scenario(failure)) == 0


def test_a_store_that_hangs_is_no_lease() -> None:
    """No answer within the time to live counts as none, and leaving does not wait for it either."""

    class Hanging(Store):
        async def hold_lease(self, *_: object) -> bool:
            """Never answer."""
            await asyncio.Event().wait()
            return True

        async def release_lease(self, *_: object) -> None:
            """Never answer."""
            await asyncio.Event().wait()

    async def scenario() -> tuple[bool, float]:
        leadership = Leadership(Hanging(loop_clock), "main", "a")
        async with background(leadership.run(Work("a").lead)):
            await pass_time(10 * TTL_S)
            is_leader = leadership.is_leader
            left_at = asyncio.get_running_loop().time()
        return is_leader, asyncio.get_running_loop().time() - left_at

    is_leader, passed = in_virtual_time(scenario())
    assert not is_leader
    assert passed <= 1.01


def test_a_slow_answer_does_not_make_a_lease_longer() -> None:
    """Its time counts from when it was asked for: by then the store may have granted it already."""

    class Slow(Store):
        async def hold_lease(self, name: str, owner: str, ttl_s: float) -> bool:
            """Grant at once, and answer late; later on be away."""
            is_held = await super().hold_lease(name, owner, ttl_s)
            self.is_away = True
            await pass_time(TTL_S - 0.5)
            return is_held

    async def scenario() -> float:
        leadership = Leadership(Slow(loop_clock), "main", "a")
        work = Work("a")
        async with background(leadership.run(work.lead)):
            await until(lambda: len(work.said) == 2)
            return asyncio.get_running_loop().time()

    assert in_virtual_time(scenario()) <= TTL_S + 0.01


def test_a_store_that_begins_to_hang_does_not_hold_a_leader() -> None:
    """Waiting for a renewal ends when the lease does."""

    class Stalling(Store):
        async def hold_lease(self, name: str, owner: str, ttl_s: float) -> bool:
            """Grant once, and never answer again."""
            if self._leases:
                await asyncio.Event().wait()
            return await super().hold_lease(name, owner, ttl_s)

    async def scenario() -> float:
        leadership = Leadership(Stalling(loop_clock), "main", "a")
        work = Work("a")
        async with background(leadership.run(work.lead)):
            await until(lambda: len(work.said) == 2)
            return asyncio.get_running_loop().time()

    assert in_virtual_time(scenario()) <= TTL_S + 0.01


def test_a_leader_that_was_paused_knows_that_its_lease_is_over() -> None:
    """Before anybody had the time to tell it to stop."""

    async def scenario() -> list[bool]:
        store = Store(loop_clock)
        first = Leadership(store, "main", "a")
        held = [first.is_held()]

        async def lead() -> None:
            held.append(first.is_held())
            cast("VirtualLoop", asyncio.get_running_loop()).selector.now += TTL_S  # nothing ran meanwhile
            held.append(first.is_held())
            await asyncio.Event().wait()

        async with background(first.run(lead)):
            await until(lambda: len(held) == 3)
        return held

    assert in_virtual_time(scenario()) == [False, True, False]

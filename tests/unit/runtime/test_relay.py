"""The relay: every event gets to the bus, in order, and one that does not stops no other."""

import orjson

from tests.unit.runtime.relays import Scene
from tests.unit.runtime.things import in_virtual_time, pass_time, until
from toolbus_runtime.relay import CHECKPOINT


def test_everything_is_published_in_order() -> None:
    """Events and work, each in its stream; the lag tells what is not there yet."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(7)
        async with scene.relaying() as relay:
            assert relay.lag == 7
            await scene.caught_up(relay)
            await scene.fill(2)
            await scene.caught_up(relay)
        assert scene.told == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert scene.wire.streams["WORK"].positions() == [3, 6, 9]

    in_virtual_time(scenario())


def test_a_new_leader_goes_on_where_the_last_one_stood() -> None:
    """The checkpoint is kept when a relay stops; nothing is lost, and hardly anything told twice."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(5)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        await scene.fill(2)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        assert scene.told == [1, 2, 3, 4, 5, 6, 7]
        assert scene.resent == 0

    in_virtual_time(scenario())


def test_a_bus_that_is_away_is_waited_for() -> None:
    """Also when it goes away in the middle of a list: that list is told again from its beginning."""

    async def scenario() -> None:
        scene = Scene()
        scene.wire.is_away = True
        await scene.fill(4)
        async with scene.relaying() as relay:
            await pass_time(60)
            assert relay.position == 0
            scene.wire.is_away, scene.wire.away_after = False, 2
            await until(lambda: scene.wire.is_away)
            assert relay.position == 0
            scene.wire.is_away, scene.wire.away_after = False, None
            await scene.caught_up(relay)
        assert scene.told == [1, 2, 1, 2, 3, 4]

    in_virtual_time(scenario())


def test_a_message_that_the_bus_refuses_is_buried_and_the_others_go_on() -> None:
    """Whether it is refused at once or by its ack: one event must not stop all others."""

    async def scenario() -> None:
        scene = Scene()
        scene.wire.refused = {"toolbus.evt.2"}
        scene.wire.refused_late = {"toolbus.work.3"}
        await scene.fill(4)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        assert scene.told == [1, 3, 4]
        dead = scene.wire.streams["DEAD"].messages
        assert [kept.subject for kept in dead] == ["toolbus.dead.acme.refused_by_bus"] * 2
        assert orjson.loads(dead[0].data) == {
            "subject": "toolbus.evt.2",
            "position": 2,
            "bytes": len(scene.store.events[1].data),
        }
        assert [kept.headers for kept in dead] == [
            {"Toolbus-Error": "toolbus.evt.2 is refused in two lines"},
            {"Toolbus-Error": "too large"},
        ]

    in_virtual_time(scenario())


def test_a_message_that_cannot_even_be_buried_stops_nobody() -> None:
    """It is in the log of the process, and its event is in the store."""

    async def scenario() -> None:
        scene = Scene()
        scene.wire.refused = {"toolbus.evt.1", "toolbus.dead.acme.refused_by_bus"}
        await scene.fill(2)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
        assert scene.told == [2]

    in_virtual_time(scenario())


def test_only_who_leads_keeps_the_place() -> None:
    """A leader that was paused must not set its successor back."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(2)
        async with scene.relaying("a") as old:
            await scene.caught_up(old)
            await scene.store.release_lease("main", "a")
            async with scene.relaying("b") as new:
                await scene.fill(5)
                await scene.caught_up(new)
            old.position = 1
        assert (await scene.store.load_checkpoint(CHECKPOINT)).position == 7

    in_virtual_time(scenario())


def test_a_long_log_is_followed_in_pieces_and_the_place_is_kept_on_the_way() -> None:
    """A crash far behind the head does not begin at the beginning again."""

    async def scenario() -> None:
        scene = Scene()
        async with scene.relaying() as relay:
            for _ in range(3):
                await scene.fill(2)
                await scene.caught_up(relay)
                await pass_time(1)
            assert (await scene.store.load_checkpoint(CHECKPOINT)).position >= 4

    in_virtual_time(scenario())

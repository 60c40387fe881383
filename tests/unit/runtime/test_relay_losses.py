"""The relay when the bus forgets: what is missing is told again, work is sent again, once."""

from tests.unit.runtime.relays import Scene
from tests.unit.runtime.things import in_virtual_time, pass_time, until
from toolbus_runtime.relay import CHECKPOINT


def test_events_that_the_bus_lost_are_told_again() -> None:
    """It was restored from an older copy: what is missing comes from the store, work is sent again."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            del scene.wire.streams["EVENTS"].messages[4:]
            del scene.wire.streams["WORK"].messages[1:]
            relay.on_reconnect()
            await until(lambda: len(scene.told) == 9)
            assert (scene.told, scene.resent) == ([1, 2, 3, 4, 5, 6, 7, 8, 9], 1)
            await scene.fill(1)
            await scene.caught_up(relay)
        assert scene.told[-1] == 10

    in_virtual_time(scenario())


def test_streams_that_were_taken_away_are_made_and_filled_again() -> None:
    """Also when nobody publishes anything and the connection never broke."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(3)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            scene.wire.streams.clear()
            await until(lambda: scene.wire.streams and scene.told == [1, 2, 3], 60)
            assert scene.resent == 1

    in_virtual_time(scenario())


def test_a_loss_is_made_good_once_whoever_leads_next() -> None:
    """Although no event came in between: the next leader knows the streams as they are now."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(3)
        async with scene.relaying("a") as relay:
            await scene.caught_up(relay)
            await pass_time(1)
            await scene.fill(1)
            await scene.caught_up(relay)
            assert (await scene.store.load_checkpoint(CHECKPOINT)).position == 4
            scene.wire.streams.clear()
            await until(lambda: scene.wire.streams and scene.told == [1, 2, 3, 4], 60)
        await scene.store.release_lease("main", "a")
        async with scene.relaying("b") as relay:
            await scene.caught_up(relay)
            await pass_time(5)
        assert (scene.told, scene.resent) == ([1, 2, 3, 4], 1)

    in_virtual_time(scenario())


def test_a_loss_that_is_seen_only_by_an_ack_is_made_good_too() -> None:
    """The bus came back shorter, and the relay published before it heard of the new connection."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            del scene.wire.streams["EVENTS"].messages[4:]
            await scene.fill(2)
            await until(lambda: set(scene.told) == set(range(1, 12)))
            await scene.caught_up(relay)

    in_virtual_time(scenario())


def test_lost_work_is_sent_again_when_an_ack_shows_the_loss() -> None:
    """The number that was due is the only sign of it."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            scene.wire.streams["WORK"].messages.clear()
            await scene.fill(3)
            await until(lambda: scene.resent == 1)
            await scene.caught_up(relay)

    in_virtual_time(scenario())


def test_a_refill_that_was_interrupted_goes_on() -> None:
    """The bus goes away while it is filled again; what is still missing is not forgotten."""

    async def scenario() -> None:
        scene = Scene()
        await scene.fill(9)
        async with scene.relaying() as relay:
            await scene.caught_up(relay)
            scene.wire.streams["EVENTS"].messages.clear()
            scene.wire.away_after = 4
            relay.on_reconnect()
            await until(lambda: scene.wire.is_away)
            scene.wire.is_away, scene.wire.away_after = False, None
            await until(lambda: set(scene.told) == set(range(1, 10)))

    in_virtual_time(scenario())

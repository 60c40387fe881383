"""The bus forgets: its folder is deleted or rolled back, it stands still, streams and durables are taken away."""

import asyncio
import shutil

import httpx
import pytest

from tests.e2e.harness import World, readiness
from tests.e2e.load import Load
from tests.e2e.test_reading import Listener, paged
from tests.nats_fixtures import until

LOST = ("COMMANDS", "INTERNAL", "WORK", "EVENTS")


async def forget(world: World, copy: bool) -> None:
    """NATS is killed and its streams are gone, or as they were when `remember` was called."""
    await world.nats.kill()
    streams = world.nats.folder / "jetstream"
    shutil.rmtree(streams)
    if copy:
        shutil.copytree(world.folder / "copy", streams)
    await world.nats.start()


async def remember(world: World) -> None:
    """Copy the streams as they lie on disk, with the server stopped for that."""
    await world.nats.stop()
    shutil.copytree(world.nats.folder / "jetstream", world.folder / "copy")
    await world.nats.start()


@pytest.mark.parametrize("is_rolled_back", [False, True], ids=["deleted", "rolled back"])
@pytest.mark.timeout(120)
async def test_the_folder_of_the_bus_is_lost_while_calls_run(sqlite_world: World, *, is_rolled_back: bool) -> None:
    """Every accepted call still ends, and who reads by position misses nothing."""
    world = sqlite_world
    listener = Listener(world.http)
    listening = asyncio.create_task(listener.run())
    load = Load(world)
    await load.submit(f"first-{number}" for number in range(40))
    if is_rolled_back:
        world.target.hold_after(0)
        await load.submit(f"held-{number}" for number in range(40))
        await remember(world)
        world.target.release()
        await load.submit(f"second-{number}" for number in range(40))
    for part in range(3):
        world.target.hold_after(20)
        submitting = asyncio.create_task(load.submit(f"{part}-{number}" for number in range(100)))
        await until(lambda at=part: len(load.accepted) > 100 * at + 60)  # type: ignore[misc]
        await forget(world, is_rolled_back)
        world.target.release()
        await submitting
    await load.assert_all_succeeded()
    wanted = [event.position for event in world.ledger.log if event.tenant == "default"]
    await until(lambda: listener.seen[-1] >= wanted[-1])
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    assert listener.seen == wanted
    assert await paged(world.http) == wanted


@pytest.mark.timeout(90)
async def test_while_the_bus_stands_still_calls_are_taken_and_nothing_is_done(sqlite_world: World) -> None:
    """Without NATS a submission over HTTP is on disk; its effect happens once NATS is back."""
    world = sqlite_world
    http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.port}", trust_env=False)
    async with http:
        await world.nats.stop()

        async def is_red() -> bool:
            return await readiness(http) == httpx.codes.SERVICE_UNAVAILABLE

        await until(is_red)
        load = Load(world)
        await load.submit(f"quiet-{number}" for number in range(50))
        act = await world.submit("act", "unsafe")
        assert world.target.journal == []
        assert (await world.call(act["id"]))["status"] == "dispatched"
        await world.nats.start()
    await load.assert_all_succeeded()
    await world.ledger.until_ended([act["id"]])
    assert world.target.counts["POST /items/unsafe"] == 1


@pytest.mark.parametrize("stream", LOST)
@pytest.mark.timeout(90)
async def test_a_stream_is_deleted_under_running_services(sqlite_world: World, stream: str) -> None:
    """It is made again by itself, also when nothing else happens, and every call still ends."""
    world = sqlite_world
    root = await world.bus("root")
    load = Load(world)
    world.target.hold_after(10)
    if stream == "WORK":
        await world.services["api_caller"].kill()  # so that the work is in the stream alone
    await load.submit(f"before-{number}" for number in range(60))
    await root.api(f"STREAM.DELETE.{stream}")

    async def is_back() -> bool:
        return await root.stream_state(stream) is not None

    await until(is_back, within_s=20)
    if stream == "WORK":
        world.services["api_caller"].start()
    world.target.release()
    await load.assert_all_succeeded()
    bus = await world.client_bus()
    await bus.publish("toolbus.cmd.default.call.submit", b'{"tool":"look","arguments":{"name":"by bus"}}')
    await until(lambda: "GET /items/by bus" in world.target.journal)
    await load.submit(["after"])
    await load.assert_all_succeeded()
    told = len([event for event in world.ledger.log if event.category != "key"])

    async def is_all_told() -> bool:
        state = await root.stream_state("EVENTS")
        return state is not None and state.messages >= told

    await until(is_all_told)


@pytest.mark.parametrize("place", ["COMMANDS.dispatcher", "INTERNAL.dispatcher", "WORK.api_caller"])
@pytest.mark.timeout(90)
async def test_a_durable_is_deleted_under_running_services(sqlite_world: World, place: str) -> None:
    """It is made again; `/readyz` is red meanwhile when the dispatcher reads it; nothing is lost."""
    world = sqlite_world
    root = await world.bus("root")
    load = Load(world)
    world.target.hold_after(10)
    await load.submit(f"before-{number}" for number in range(60))
    states: list[int] = []
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{world.port}", trust_env=False) as http:

        async def is_noticed() -> bool:
            states.append(await readiness(http))
            return states[-1] != httpx.codes.OK

        await root.api(f"CONSUMER.DELETE.{place}")
        if place.endswith("dispatcher"):
            await until(is_noticed)

        async def is_back() -> bool:
            states.append(await readiness(http))
            there = await root.consumer_state(*place.split("."))
            return there is not None and states[-1] == httpx.codes.OK

        await until(is_back)
    world.target.release()
    bus = await world.client_bus()
    await bus.publish("toolbus.cmd.default.call.submit", b'{"tool":"look","arguments":{"name":"by bus"}}')
    await until(lambda: "GET /items/by bus" in world.target.journal)
    await load.assert_all_succeeded()

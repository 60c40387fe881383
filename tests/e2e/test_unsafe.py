"""A call that may not be repeated reaches the target once, whatever breaks; nobody guesses what became of it."""

import asyncio
from collections.abc import Iterable

import pytest

from tests.e2e.harness import World
from tests.e2e.test_bus_loss import forget, remember
from tests.nats_fixtures import until
from toolbus_runtime.bus.connection import Bus

NAMES = ("first", "second", "third")
TIMEOUT_S = 2  # a started attempt may take this long after its start window of 10 s


async def submitted(world: World) -> dict[str, str]:
    """Three calls of a tool whose target never answers: their ids by name."""
    await world.define("hang", "POST", "/hang/{name}", timeout_s=TIMEOUT_S)
    return {name: (await world.submit("hang", name))["id"] for name in NAMES}


async def work_items(root: Bus) -> list[tuple[str, bytes]]:
    """What lies in the WORK stream: subject and body of each message."""
    found: list[tuple[str, bytes]] = []
    sequence = 1
    while (message := await root.next_message("WORK", "toolbus.work.>", sequence)) is not None:
        found.append((message.subject, message.data))
        sequence = message.sequence + 1
    return found


async def until_in_doubt(world: World, root: Bus, call_ids: Iterable[str]) -> None:
    """Each of these calls is in doubt, and no executor holds work any more."""
    for call_id in call_ids:
        await world.ledger.until_kind(call_id, "in_doubt")

    async def is_drained() -> bool:
        return not await work_items(root)

    await until(is_drained, within_s=30)


def requests(world: World) -> dict[str, int]:
    """How often each of the three reached the target."""
    return {name: world.target.counts[f"POST /hang/{name}"] for name in NAMES}


@pytest.mark.timeout(120)
async def test_the_executor_dies_after_the_request_arrived(sqlite_world: World) -> None:
    """In doubt once its time is over, never sent again although its work comes ten times more; a person settles it."""
    world = sqlite_world
    root = await world.bus("root")
    ids = await submitted(world)
    await until(lambda: requests(world) == dict.fromkeys(NAMES, 1))
    copies = await work_items(root)
    assert len(copies) == len(NAMES)
    await world.services["api_caller"].kill()
    early = await world.http.post(f"/v1/calls/{ids['first']}/settle", json={"outcome": "failed", "note": "too early"})
    assert (early.status_code, early.json()["code"]) == (409, "not_in_doubt")
    for subject, body in copies * 10:
        await root.publish(subject, body)
    world.services["api_caller"].start()
    await until_in_doubt(world, root, ids.values())
    assert requests(world) == dict.fromkeys(NAMES, 1)
    assert (await world.call(ids["first"]))["error"]["effect_happened"] == "unknown"

    for name, outcome in zip(NAMES, ("succeeded", "failed", "retry"), strict=True):
        verdict = {"outcome": outcome, "note": "looked at it", **({"output": 1} if outcome == "succeeded" else {})}
        answer = await world.http.post(f"/v1/calls/{ids[name]}/settle", json=verdict)
        assert answer.is_success, answer.text
    await until(lambda: requests(world)["third"] == 2)
    world.target.release_hanging()
    await world.ledger.until_ended(ids.values())
    assert [world.ledger.end_of(call_id) for call_id in ids.values()] == ["succeeded", "failed", "succeeded"]
    assert requests(world) == {"first": 1, "second": 1, "third": 2}
    assert world.target.keys["POST /hang/third"] == [ids["third"]] * 2


@pytest.mark.timeout(120)
async def test_the_bus_is_rolled_back_to_before_the_request(sqlite_world: World) -> None:
    """The work lies in the stream again, for the same and for another executor: neither sends a second time."""
    world = sqlite_world
    root = await world.bus("root")
    await world.services["api_caller"].kill()
    ids = await submitted(world)

    async def are_there() -> bool:
        return len(await work_items(root)) == len(NAMES)

    await until(are_there)
    await remember(world)
    world.services["api_caller"].start()
    await until(lambda: requests(world) == dict.fromkeys(NAMES, 1))
    await forget(world, copy=True)
    world.start("api_caller2")
    await until_in_doubt(world, root, ids.values())
    assert requests(world) == dict.fromkeys(NAMES, 1)
    await world.ledger.assert_whole()


@pytest.mark.timeout(90)
async def test_a_late_answer_settles_a_doubt(sqlite_world: World) -> None:
    """The bus is away while the target answers and the attempt's time runs out; when it is back, the answer counts."""
    world = sqlite_world
    await world.define("hang", "POST", "/hang/{name}", timeout_s=TIMEOUT_S)
    call_id = (await world.submit("hang", "first"))["id"]
    await until(lambda: requests(world)["first"] == 1)
    await world.nats.kill()
    world.target.release_hanging()
    await world.ledger.until_kind(call_id, "in_doubt")
    await world.nats.start()
    await world.ledger.until_ended([call_id])
    assert world.ledger.kinds(call_id) == ["requested", "dispatched", "attempt_started", "in_doubt", "succeeded"]
    assert requests(world)["first"] == 1


@pytest.mark.timeout(90)
async def test_the_dispatcher_dies_while_an_effect_happens(sqlite_world: World) -> None:
    """The answer of the target waits for the next dispatcher; the effect is not repeated and not in doubt."""
    world = sqlite_world
    await world.define("hang", "POST", "/hang/{name}", timeout_s=30)
    call_id = (await world.submit("hang", "first"))["id"]
    await until(lambda: requests(world)["first"] == 1)
    await world.services["dispatcher"].kill()
    world.target.release_hanging()
    world.services["dispatcher"].start()
    await world.ledger.until_ended([call_id])
    assert world.ledger.kinds(call_id) == ["requested", "dispatched", "attempt_started", "succeeded"]
    assert requests(world)["first"] == 1


@pytest.mark.timeout(90)
async def test_many_executors_and_copies_of_work_make_one_request_each(sqlite_world: World) -> None:
    """Three executors find five copies of the same work at once: one request for each call."""
    world = sqlite_world
    root = await world.bus("root")
    await world.define("act", "POST", timeout_s=1)  # who hears "taken" comes back when that and 10 s are over
    await world.services["api_caller"].kill()
    ids = [(await world.submit("act", f"n{number}"))["id"] for number in range(20)]

    async def are_there() -> bool:
        return len(await work_items(root)) == len(ids)

    await until(are_there)
    copies = await work_items(root)
    await asyncio.gather(*(root.publish(subject, body) for subject, body in copies * 4))
    for name in ("api_caller", "api_caller2", "api_caller3"):
        world.start(name)
    await world.ledger.until_ended(ids)
    assert {world.ledger.end_of(call_id) for call_id in ids} == {"succeeded"}

    async def is_drained() -> bool:
        return not await work_items(root)

    await until(is_drained, within_s=40)
    assert set(world.target.counts.values()) == {1}
    assert len(world.target.counts) == len(ids)

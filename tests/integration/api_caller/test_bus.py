"""The executor as a process on a real bus: asks before unsafe effects, tells every outcome, loses nothing."""

import json

from tests.integration.api_caller.dispatching import FakeDispatcher, gone, work_for
from tests.integration.api_caller.raw_target import RawTarget, raw_target, response, saying
from tests.nats_fixtures import until
from tests.unit.api_caller.making import READ, UNSAFE
from toolbus_api_caller.app import ApiCaller
from toolbus_contracts import subjects
from toolbus_contracts.digests import digest_bytes


async def test_a_safe_call(executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget) -> None:
    """No start is asked; the outcome is on the bus before the work is gone from it."""
    await dispatcher.give(work_for(target, "GET", terms=READ))
    await until(lambda: len(dispatcher.told) == 1)
    assert (dispatcher.told[0].result, dispatcher.told[0].output["json"], dispatcher.asked) == ("succeeded", {}, [])
    await until(lambda: gone(dispatcher))
    assert len(target.seen) == 1


async def test_an_unsafe_call(executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget) -> None:
    """The start names call, attempt and executor; after `go` there is one request and one outcome."""
    await dispatcher.give(work_for(target, "POST", {"json": {"a": 1}}, terms=UNSAFE, attempt=2))
    await until(lambda: len(dispatcher.told) == 1)
    (asked,) = dispatcher.asked
    assert (asked.attempt, asked.executor.startswith("api_caller@")) == (2, True)
    assert (target.seen[0].body, len(target.seen)) == (b'{"a":1}', 1)


async def test_dropped_work(executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget) -> None:
    """`drop` ends the work without a request and without an outcome."""
    dispatcher.verdict = "drop"
    await dispatcher.give(work_for(target, "POST", terms=UNSAFE))
    await until(lambda: len(dispatcher.asked) == 1)
    await until(lambda: gone(dispatcher))
    assert (target.seen, dispatcher.told) == ([], [])


async def test_work_that_another_holds_stays(
    executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget
) -> None:
    """`taken` sends nothing, and the work stays on the bus until later."""
    dispatcher.verdict = "taken"
    await dispatcher.give(work_for(target, "POST", terms=UNSAFE))
    await until(lambda: len(dispatcher.asked) == 1)
    assert (await dispatcher.work_left(), target.seen, dispatcher.told) == (1, [], [])


async def test_a_start_that_is_not_answered_is_asked_again(
    executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget
) -> None:
    """The same start id, until there is an answer; nothing is sent before."""
    dispatcher.verdict = "silent"
    await dispatcher.give(work_for(target, "POST", terms=UNSAFE))
    await until(lambda: len(dispatcher.asked) == 1)
    assert target.seen == []
    dispatcher.verdict = "go"
    await until(lambda: len(dispatcher.told) == 1)
    assert len({asked.start_id for asked in dispatcher.asked}) == 1
    assert len(target.seen) == 1


async def test_large_values_travel_through_the_bucket(executor: ApiCaller, dispatcher: FakeDispatcher) -> None:
    """Arguments come from the bucket, and a large answer lies there when its outcome is told."""
    argument, answer = json.dumps("x" * 700_000).encode(), json.dumps(["y" * 700_000]).encode()
    await dispatcher.bus.put_payload(digest_bytes(argument), argument)
    async with raw_target(saying(response(answer, "Content-Type: application/json"))) as target:
        reference = {"$payload": digest_bytes(argument), "bytes": len(argument), "preview": ""}
        await dispatcher.give(work_for(target, "POST", {"a": reference}, terms=READ))
        await until(lambda: len(dispatcher.told) == 1)
        assert target.seen[0].body == b'{"a":' + argument + b"}"
    told = dispatcher.told[0].output["json"]
    assert (told["$payload"], told["bytes"]) == (digest_bytes(answer), len(answer))
    assert await dispatcher.bus.get_payload(told["$payload"]) == answer


async def test_what_is_no_work_is_buried(executor: ApiCaller, dispatcher: FakeDispatcher) -> None:
    """A message that nobody can read goes to DEAD and not round and round."""
    await dispatcher.bus.publish(subjects.work("api_call", "acme"), b"{}")
    await until(lambda: gone(dispatcher))
    state = await dispatcher.bus.stream_state("DEAD")
    assert state is not None
    assert state.messages == 1


async def test_many_at_once(executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget) -> None:
    """Two hundred calls, each sent once and told once."""
    for number in range(200):
        work = work_for(target, "GET", {"params": {"n": number}}, terms=READ, call_id=f"call_{number:032x}")
        await dispatcher.give(work)
    await until(lambda: len(dispatcher.told) == 200)
    assert len({told.call_id for told in dispatcher.told}) == 200
    assert len({seen.line for seen in target.seen}) == len(target.seen) == 200

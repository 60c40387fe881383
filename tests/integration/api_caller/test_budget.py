"""Real sockets: what answers hold altogether stays within its budget, and whoever waits for room gets it."""

import asyncio
import gzip
import json

import pytest

from tests.integration.api_caller.calling import PAUSE_S, call, code, ok
from tests.integration.api_caller.conftest import StartExecutor
from tests.integration.api_caller.dispatching import FakeDispatcher, work_for
from tests.integration.api_caller.raw_target import OK, raw_target, response, saying
from tests.nats_fixtures import until
from tests.unit.api_caller.making import READ
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_runtime.executing.body_budget import BodyBudget
from toolbus_runtime.executing.runs import Runs

MIB = 1024 * 1024
BODY = json.dumps("x" * 700_000).encode()
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
PLAIN = response(BODY)
PACKED = response(gzip.compress(BODY), "Content-Encoding: gzip")


async def test_a_large_answer_waits_for_room(client: HttpClient) -> None:
    """Until the one before it was told; small ones pass by, and so does nothing else."""
    budget = BodyBudget(MIB)
    runs = Runs(budget)
    first, second = runs.begin("call_1", 1), runs.begin("call_2", 1)
    async with raw_target(saying(PLAIN)) as target, raw_target(saying(OK)) as small:
        assert ok(await call(client, target, "GET", run=first))["bytes"] == len(BODY)
        assert budget.free_bytes == MIB - len(BODY)
        waiting = asyncio.ensure_future(call(client, target, "GET", run=second))
        await until(lambda: budget.is_wanted)
        ok(await call(client, small, "GET", run=runs.begin("call_3", 1)))
        assert not waiting.done()
        runs.done(first)
        assert ok(await waiting)["bytes"] == len(BODY)
    runs.done(second)
    assert budget.free_bytes == MIB


async def test_waiting_for_room_is_bounded_by_the_timeout(client: HttpClient) -> None:
    """An answer that finds no room in time was sent and not read: nobody knows; its place in the queue is free."""
    budget = BodyBudget(MIB)
    held = await budget.take(MIB)
    runs = Runs(budget)
    run = runs.begin("call_1", 1)
    async with raw_target(saying(PLAIN)) as target:
        outcome = await call(client, target, "GET", {"timeout": PAUSE_S}, run=run)
    assert (outcome.result, code(outcome), budget.is_wanted) == ("unknown", "timeout", False)
    runs.done(run)
    budget.give_back(held)
    assert budget.free_bytes == MIB


@pytest.mark.parametrize(("raw", "most"), [(PLAIN, len(BODY)), (CHUNKED, 2 * MIB), (PACKED, 4 * MIB)])
async def test_room_is_taken_for_all_that_may_come(client: HttpClient, raw: bytes, most: int) -> None:
    """By its length where that is told, else by `max_output_bytes`; what was not needed is free when it is read."""
    budget = BodyBudget(8 * MIB)
    held = await budget.take(8 * MIB - most + 1)
    runs = Runs(budget)
    run = runs.begin("call_1", 1)
    async with raw_target(saying(raw)) as target:
        reading = asyncio.ensure_future(call(client, target, "GET", run=run, definition={"max_output_bytes": 2 * MIB}))
        await until(lambda: budget.is_wanted)
        budget.give_back(1)
        assert ok(await reading)["bytes"] == len(BODY)
    assert MIB > 8 * MIB - held + 1 - budget.free_bytes >= len(BODY) > MIB // 2
    runs.done(run)


async def test_many_large_answers_fit_into_a_small_budget(
    start_executor: StartExecutor, dispatcher: FakeDispatcher
) -> None:
    """Twenty answers of 700 kB, a budget of 1 MiB: one after the other, and all of them arrive."""
    await start_executor(api_caller_body_budget_bytes=MIB)
    async with raw_target(saying(PLAIN)) as target:
        for number in range(20):
            await dispatcher.give(work_for(target, "GET", terms=READ, call_id=f"call_{number}"))
        await until(lambda: len(dispatcher.told) == 20)
    assert {told.result for told in dispatcher.told} == {"succeeded"}
    assert len(target.seen) == 20

"""A call that is stopped while the executor has its work: on a real bus, and a target that shows every byte."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.integration.api_caller.calling import PAUSE_S, call, code, guard, ok
from tests.integration.api_caller.conftest import StartExecutor
from tests.integration.api_caller.dispatching import FakeDispatcher, gone, work_for
from tests.integration.api_caller.raw_target import OK, RawTarget, Seen, raw_target, saying
from tests.nats_fixtures import until
from tests.unit.api_caller.making import READ, UNSAFE, item
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.adapters.watched_request import Exchange, Unwanted
from toolbus_api_caller.app import ApiCaller
from toolbus_contracts.tools import Terms
from toolbus_contracts.work import WorkItem
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run


class Holding:
    """Answers nothing until told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()

    async def __call__(self, _: Seen, writer: asyncio.StreamWriter) -> bool:
        """Wait for leave to answer."""
        await self.may_answer.wait()
        writer.write(OK)
        return True


@asynccontextmanager
async def silent() -> AsyncIterator[tuple[str, Callable[[], int]]]:
    """A port that takes connections and says nothing, so that TLS never comes about: its url, and how many came."""
    opened: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", lambda: len(opened)
    finally:
        server.close()
        for writer in opened:
            writer.close()


async def heard(dispatcher: FakeDispatcher) -> None:
    """The executor has heard all that was told before: other work came to it later, and was done."""
    async with raw_target(saying(OK)) as other:
        before = len(dispatcher.told)
        await dispatcher.give(work_for(other, "GET", terms=READ, call_id="call_other"))
        await until(lambda: len(dispatcher.told) > before)
    dispatcher.told = [told for told in dispatcher.told if told.call_id != "call_other"]


@pytest.mark.parametrize("terms", [READ, UNSAFE])
@pytest.mark.parametrize("event", ["cancelled", "expired"])
async def test_a_call_that_ended_is_given_up_at_once(
    start_executor: StartExecutor, dispatcher: FakeDispatcher, event: str, *, terms: Terms
) -> None:
    """The connection is cut, nothing is told, the work is gone, and its slot is free for the next call."""
    await start_executor(api_caller_concurrency=1)
    holding = Holding()
    async with raw_target(holding) as target:
        work = work_for(target, "POST", terms=terms)
        await dispatcher.give(work)
        await until(lambda: len(target.seen) == 1)
        await dispatcher.tell_event(work, event)
        await until(target.seen[0].has_left)
        await until(lambda: gone(dispatcher))
        holding.may_answer.set()
        await dispatcher.give(work_for(target, "GET", terms=READ, call_id="call_next"))
        await until(lambda: len(dispatcher.told) == 1)
    assert [told.call_id for told in dispatcher.told] == ["call_next"]


async def test_a_call_that_ended_before_its_work_came(
    executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget
) -> None:
    """Nothing is asked, sent or told."""
    work = work_for(target, "POST", terms=UNSAFE)
    await dispatcher.tell_event(work, "cancelled")
    await heard(dispatcher)
    await dispatcher.give(work)
    await until(lambda: gone(dispatcher))
    assert (dispatcher.asked, target.seen, dispatcher.told) == ([], [], [])


async def test_a_wish_to_stop_while_the_start_is_asked(
    executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget
) -> None:
    """The start is granted and the wish recorded behind it: no connection is made, and that is told."""
    dispatcher.may_answer.clear()
    work = work_for(target, "POST", terms=UNSAFE)
    await dispatcher.give(work)
    await until(lambda: len(dispatcher.asked) == 1)
    await dispatcher.tell_event(work, "cancel_requested", attempt=1, reason="")
    dispatcher.may_answer.set()
    await assert_not_sent(dispatcher)
    assert target.connections == 0


@pytest.mark.parametrize("event", ["cancel_requested", "cancelled"])
async def test_a_call_is_stopped_between_start_and_send(
    executor: ApiCaller, dispatcher: FakeDispatcher, event: str
) -> None:
    """While the connection is being made: it is given up at once. A wish is answered, an end is not."""
    async with silent() as (url, connections):
        work = item({"method": "POST", "url": url}, terms=UNSAFE)
        await dispatcher.give(work)
        await until(lambda: connections() == 1)
        await dispatcher.tell_event(work, event, **({"reason": ""} if event == "cancel_requested" else {}))
        if event == "cancel_requested":
            await assert_not_sent(dispatcher)
        await until(lambda: gone(dispatcher))
    assert len(dispatcher.told) == (event == "cancel_requested")


async def assert_not_sent(dispatcher: FakeDispatcher) -> None:
    """It is told that nothing was sent, and why, and that nothing happened."""
    await until(lambda: len(dispatcher.told) == 1)
    (told,) = dispatcher.told
    assert told.error is not None
    assert (told.result, told.error.code, told.error.effect_happened) == ("not_sent", "cancelled", "no")
    await until(lambda: gone(dispatcher))


async def test_what_was_sent_is_waited_for(executor: ApiCaller, dispatcher: FakeDispatcher) -> None:
    """A wish that comes after the request went out changes nothing: the answer is the outcome."""
    holding = Holding()
    async with raw_target(holding) as target:
        work = work_for(target, "POST", terms=UNSAFE)
        await dispatcher.give(work)
        await until(lambda: len(target.seen) == 1)
        await dispatcher.tell_event(work, "cancel_requested", attempt=1, reason="")
        await heard(dispatcher)
        holding.may_answer.set()
        await until(lambda: len(dispatcher.told) == 1)
        has_left = target.seen[0].has_left()
    assert (dispatcher.told[0].result, len(target.seen), has_left) == ("succeeded", 1, False)


async def test_a_wish_about_an_earlier_attempt_stops_nothing(
    executor: ApiCaller, dispatcher: FakeDispatcher, target: RawTarget
) -> None:
    """Heard late, or again because the bus was given its events anew, while the next attempt asks for its start."""
    dispatcher.may_answer.clear()
    work: WorkItem = work_for(target, "POST", terms=UNSAFE, attempt=2)
    await dispatcher.give(work)
    await until(lambda: len(dispatcher.asked) == 1)
    await dispatcher.tell_event(work, "cancel_requested", attempt=1, reason="")
    dispatcher.may_answer.set()
    await until(lambda: len(dispatcher.told) == 1)
    assert (dispatcher.told[0].result, len(target.seen)) == ("succeeded", 1)


# ── the network client alone ────────────────────────────────────────────────────────────────────


async def test_a_request_that_is_half_sent_is_waited_for(client: HttpClient) -> None:
    """The flag at the socket counts, not what the target has read: a wish does not end it, its time does."""
    begun: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        begun.set_result(writer)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    target, run = RawTarget(saying(OK), port=server.sockets[0].getsockname()[1]), Run()
    arguments = {"content": "eHh4" * 4_000_000, "timeout": PAUSE_S}
    going = asyncio.ensure_future(call(client, target, "POST", arguments, terms=UNSAFE, run=run))
    writer = await begun
    run.stop()
    outcome = await going
    writer.close()
    server.close()
    assert (outcome.result, code(outcome)) == ("unknown", "timeout")


@pytest.mark.parametrize("hear", [Run.stop, Run.end])
async def test_what_is_heard_before_sending_makes_no_connection(
    client: HttpClient, hear: Callable[[Run], None]
) -> None:
    """Whoever heard it before has no business at the target."""
    run = Run()
    hear(run)
    async with raw_target(saying(OK)) as target:
        outcome = await call(client, target, "POST", terms=UNSAFE, run=run)
        assert target.connections == 0
    assert (outcome.result, code(outcome)) == ("not_sent", "cancelled")


async def test_what_is_heard_after_the_answer_changes_nothing(client: HttpClient) -> None:
    """The exchange is over and its connection kept: nothing is left to be stopped."""
    run = Run()
    async with raw_target(saying(OK)) as target:
        ok(await call(client, target, "POST", terms=UNSAFE, run=run))
        run.stop()
        run.end()
        ok(await call(client, target, "POST", terms=UNSAFE))
        assert target.connections == 1


def test_the_last_look_is_at_the_socket() -> None:
    """A wish that is heard while the connection is handed out: the request is not handed over."""
    run = Run()
    exchange = Exchange(SystemClock(), None, guard(), run)
    exchange.turn_to("http://127.0.0.1/")
    run.stop()
    with pytest.raises(Unwanted):
        exchange.hand_over(None)
    assert not exchange.is_sent

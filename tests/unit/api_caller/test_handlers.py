"""One delivery, one attempt: what is asked, sent and told, with a bus and a network of our own."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.unit.api_caller.handling import GO, Delivered, FakeBus, FakeNetwork, FrozenClock, executor, handle
from tests.unit.api_caller.making import JSON, NOW, READ, UNSAFE, answer, item
from toolbus_api_caller.core.response import HttpAnswer
from toolbus_contracts.calls import RecordOutcome, StartAnswer
from toolbus_contracts.digests import digest_bytes, effect_digest
from toolbus_contracts.errors import Unavailable, Unreadable
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.permits import Permit
from toolbus_runtime.executing.executor import read_work
from toolbus_runtime.executing.runs import Run, Runs


async def test_the_times_of_a_start_hold_whatever_our_calendar_says() -> None:
    """The dispatcher's clock is an hour ahead of ours: five seconds to start are five seconds from when we asked."""
    theirs = NOW + timedelta(hours=1)
    times = {"start_by": theirs + timedelta(seconds=5), "stop_by": theirs + timedelta(seconds=60)}
    bus = FakeBus([StartAnswer.model_validate({"verdict": "go", "answered_at": theirs, **times})])
    network = await handle(item({"method": "POST"}, terms=UNSAFE), bus)
    assert network.sent[0][1] == Permit(send_by=105.0, stop_by=160.0)


async def test_a_safe_call_is_sent_and_told() -> None:
    """No start is asked; the outcome carries output, attempt and a delivery id of its own."""
    bus = FakeBus()
    network = await handle(item({}, {"params": {"a": None, "b": 1}}, terms=READ, attempt=3), bus)
    assert network.sent[0][0].url.endswith("?b=1")
    assert network.sent[0][1] == Permit()
    (told,) = bus.told
    assert (told.result, told.attempt, told.executor, told.output["json"]) == ("succeeded", 3, "me", {"a": 1})
    await handle(item({}, terms=READ), bus)
    assert told.delivery_id != bus.told[1].delivery_id
    assert bus.asked == []


async def test_null_arguments_survive_the_way() -> None:
    """A null in the arguments reaches the body, though work items are written without empty fields."""
    bus = FakeBus()
    network = await handle(item({"method": "POST"}, {"a": None, "b": {"c": None}}, terms=READ), bus)
    assert network.sent[0][0].body == b'{"a":null,"b":{"c":null}}'


async def test_an_approved_call_says_what_it_holds() -> None:
    """Computed from the work item as it came, large values by their references; who needs no approval says nothing."""
    large = b'"much"'
    reference = {"$payload": digest_bytes(large), "bytes": len(large), "preview": ""}
    bus = FakeBus([GO, GO])
    bus.payloads[digest_bytes(large)] = large
    work = item({"method": "POST"}, {"a": reference}, terms=READ, needs_start=True, approved="sha256:1")
    network = await handle(work, bus)
    assert network.sent[0][0].body == b'{"a":"much"}'
    assert bus.asked[0].digest == effect_digest(
        tenant="acme",
        call_id=work.call_id,
        definition_hash=work.definition.definition_hash(),
        arguments={"a": reference},
        on_behalf_of=None,
        deadline_at=None,
    )
    await handle(item({"method": "POST"}, terms=UNSAFE), bus)
    assert bus.asked[1].digest is None


async def test_an_unsafe_call_asks_first() -> None:
    """Even when the work item forgot to say so; the permission bounds the sending."""
    bus = FakeBus([GO])
    network = await handle(item({"method": "POST"}, terms=UNSAFE, needs_start=False), bus)
    assert network.sent[0][1] == Permit(send_by=105.0, stop_by=160.0)
    assert (bus.asked[0].attempt, bus.asked[0].executor) == (1, "me")
    assert bus.told[0].result == "succeeded"


async def test_the_same_start_is_asked_again() -> None:
    """No answer, or one that cannot be read, is asked for again under the same id."""
    bus = FakeBus([Unavailable("no answer"), b'{"status": 503}', GO])
    await handle(item({"method": "POST"}), bus)
    assert len({asked.start_id for asked in bus.asked}) == 1
    assert (len(bus.asked), len(bus.told)) == (3, 1)


async def test_dropped_work_sends_nothing_and_tells_nothing() -> None:
    """`drop` ends the delivery in silence."""
    bus = FakeBus([StartAnswer(verdict="drop")])
    network = await handle(item({"method": "POST"}), bus)
    assert (network.sent, bus.told) == ([], [])


async def test_work_that_another_holds_comes_back() -> None:
    """`taken` and a dispatcher that stays away leave the delivery to be delivered again; nothing is sent."""
    taken = StartAnswer(verdict="taken", stop_by=NOW + timedelta(seconds=7))
    for starts in ([taken], [Unavailable("away")] * 50):
        bus = FakeBus(starts)
        with pytest.raises(Unavailable):
            await handle(item({"method": "POST"}), bus, tick=6.0)
        assert bus.told == []


async def test_what_can_be_refused_is_refused_before_the_start() -> None:
    """No permission is taken for a request that cannot be made."""
    bus = FakeBus()
    network = await handle(item({"method": "POST", "headers": {"host": "x"}}), bus)
    assert (network.sent, bus.asked) == ([], [])
    told = bus.told[0]
    assert told.error is not None
    assert (told.result, told.error.code, told.error.effect_happened) == ("failed", "request_invalid", "no")


async def test_late_work_is_not_sent() -> None:
    """Past the deadline nothing is sent, and neither when it passes on the way to the socket."""
    bus = FakeBus()
    network = await handle(item({}, deadline_at=NOW), bus)
    assert network.sent == []
    assert bus.told[0].error is not None
    assert bus.told[0].error.code == "deadline_passed"


async def test_a_deadline_that_passes_on_the_way() -> None:
    """What was not sent because the deadline passed says so."""

    class Later(FrozenClock):
        looks = 0

        def now(self) -> datetime:
            self.looks += 1
            return NOW + timedelta(seconds=self.looks)

    bus, clock = FakeBus(), Later()
    network = FakeNetwork(Failure("too_late", "too late", is_sent=False))
    await executor(bus, network, clock).on_work(Delivered(item({}, deadline_at=NOW + timedelta(seconds=3))))
    assert bus.told[0].error is not None
    assert bus.told[0].error.code == "deadline_passed"


async def test_no_answer_to_an_unsafe_call_is_unknown() -> None:
    """The outcome is told as it is: nobody guesses."""
    bus = FakeBus([GO])
    await handle(item({"method": "POST"}), bus, Failure("lost", "broken", is_sent=True))
    assert bus.told[0].result == "unknown"


async def test_a_target_that_is_refused_asks_for_no_start() -> None:
    """What the url alone tells is told before anything else: no start, nothing sent, no effect."""
    bus = FakeBus()
    network = await handle(item({"method": "POST", "url": "https://refused.test/v1"}), bus)
    (told,) = bus.told
    assert told.error is not None
    assert (network.sent, told.result, told.error.code) == ([], "failed", "egress_denied")
    assert (told.error.effect_happened, told.error.retryable, bus.asked) == ("no", False, [])


async def test_large_arguments_are_fetched() -> None:
    """A reference is replaced by its value; one that is lost fails the call, and nothing is sent."""
    bus = FakeBus()
    body = json.dumps("x" * 100).encode()
    bus.payloads[digest_bytes(body)] = body
    work = item({"method": "POST"}, {"a": {"$payload": digest_bytes(body), "bytes": 1}}, terms=READ)
    network = await handle(work, bus)
    assert network.sent[0][0].body == b'{"a":"' + b"x" * 100 + b'"}'
    for broken in ({}, {digest_bytes(body): b"other"}):
        bus.payloads = broken
        network = await handle(work, bus)
        told = bus.told[-1]
        assert told.error is not None
        assert (network.sent, told.error.code, told.result) == ([], "payload_missing", "not_sent")
        assert (told.error.retryable, told.error.effect_happened) == (True, "no")


@pytest.mark.parametrize("size", [70_000, 300_000])
async def test_large_outputs_travel_as_payloads(size: int) -> None:
    """The body lies in the bucket before the outcome is told, which holds a reference."""
    body = json.dumps(["x" * size]).encode()
    bus = FakeBus(away=1)
    await handle(item({}), bus, answer(200, body, headers=JSON))
    reference = bus.told[0].output["json"]
    assert bus.payloads[reference["$payload"]] == body
    assert (reference["bytes"], reference["preview"]) == (len(body), body[:256].decode())


async def test_an_outcome_is_told_again_while_the_bus_is_away() -> None:
    """A short absence is waited out; after a long one the work is delivered again."""
    bus = FakeBus(away=2)
    await handle(item({}), bus)
    assert len(bus.told) == 1
    bus = FakeBus(away=1000)
    with pytest.raises(Unavailable):
        await handle(item({}), bus, tick=3.0)


def test_messages_that_are_no_work() -> None:
    """They are buried, not tried again; the reason is one line and holds no value."""
    with pytest.raises(Unreadable) as caught:
        read_work(b'{"call_id": {"secret": 1}}')
    assert (caught.value.message.count("\n"), "secret" in str(caught.value)) == (0, False)
    assert caught.value.faults[0].path == "/call_id"
    with pytest.raises(Unreadable):
        read_work(b"no json")


async def heard(found: HttpAnswer | Failure, meanwhile: Callable[[Run], None]) -> list[RecordOutcome]:
    """What is told of an unsafe call of which something is heard on its way."""
    bus, clock, network = FakeBus([GO]), FrozenClock(), FakeNetwork(found)
    network.meanwhile = meanwhile
    runs = Runs()
    await executor(bus, network, clock, runs).on_work(Delivered(item({"method": "POST"})))
    assert runs.of(item({}).call_id) == ()
    return bus.told


async def test_of_a_call_that_ended_on_its_way_nothing_is_told() -> None:
    """Neither a failure nor an answer that came all the same: the call has its end."""
    for found in (Failure("unwanted", "stopped", is_sent=True), answer(200)):
        assert await heard(found, Run.end) == []


async def test_a_call_that_is_to_be_stopped_tells_what_it_found() -> None:
    """Nothing was sent: told as that, without effect. What was sent is told as it ended."""
    (told,) = await heard(Failure("unwanted", "nothing was sent: stopped", is_sent=False), Run.stop)
    assert told.error is not None
    assert (told.result, told.error.code, told.error.effect_happened) == ("not_sent", "cancelled", "no")
    assert not told.error.retryable
    (told,) = await heard(answer(200), Run.stop)
    assert told.result == "succeeded"


async def test_a_permission_that_ran_out_is_no_refusal() -> None:
    """Nothing was sent because it took too long, and the deadline is still to come: it may be tried again."""
    bus = FakeBus([GO])
    await handle(item({"method": "POST"}), bus, Failure("too_late", "ran out", is_sent=False))
    (told,) = bus.told
    assert told.error is not None
    assert (told.result, told.error.code, told.error.effect_happened) == ("not_sent", "connection_failed", "no")


async def test_how_long_the_target_wants_to_be_left_alone_is_told() -> None:
    """A number of seconds beside the failure."""
    bus = FakeBus()
    await handle(item({}), bus, answer(503, headers={"retry-after": "9"}))
    assert (bus.told[0].result, bus.told[0].retry_after_s) == ("failed", 9.0)

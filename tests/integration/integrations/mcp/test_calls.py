"""Calls over streamable HTTP, in both eras of the protocol: what is kept of answers, and what errors say."""

import asyncio

from tests.integration.integrations.mcp.rig import READ, Process, Rig, rigged
from tests.nats_fixtures import until
from toolbus_contracts.executing.permits import Permit
from toolbus_runtime.executing.runs import Run

SMALL = 64 * 1024


async def test_the_answer_of_a_tool_is_kept(rig: Rig, server: Process) -> None:
    """Text, structured content and the blocks as they came; one request a call."""
    for text in ("grüße", "again"):
        found = await rig.call("echo", {"text": text})
        assert found.result == "succeeded"
        assert found.output == {"text": text, "content": [{"type": "text", "text": text}], "is_error": False}
    summed = await rig.call("add", {"terms": [1, 2, 3]})
    assert summed.output is not None
    assert summed.output["structured"] == {"sum": 6}
    assert server.ran() == ["echo", "echo", "add"]


async def test_what_was_sent_is_known(rig: Rig) -> None:
    """The moment when the request was handed to the socket stands in the run, in whichever task that happened."""
    run = Run()
    before_s = rig.clock.steady_s()
    assert (await rig.call("echo", {"text": "x"}, run=run)).result == "succeeded"
    assert run.sent_s is not None
    assert before_s <= run.sent_s <= rig.clock.steady_s()


async def test_an_error_of_the_tool_is_the_outcome(rig: Rig) -> None:
    """An answer came: the call failed, and what the tool says is the message."""
    found = await rig.call("fail")
    assert found.result == "failed"
    assert found.error is not None
    assert (found.error.code, found.error.message) == ("tool_error", "it went wrong")
    assert found.error.effect_happened == "unknown"
    read = await rig.call("fail", terms=READ)
    assert read.error is not None
    assert read.error.effect_happened == "no"


async def test_large_answers_travel_apart_and_too_large_ones_not_at_all(rig: Rig) -> None:
    """Above 64 KiB a field is a payload; above `max_output_bytes` reading stops, and the effect happened."""
    large = await rig.call("large", {"size": SMALL + 1})
    assert large.result == "succeeded"
    assert large.output is not None
    assert large.output["text"] is None
    assert large.large["text"] == b'"' + b"x" * (SMALL + 1) + b'"'
    too_large = await rig.call("large", {"size": 10_000}, max_output_bytes=4096)
    assert too_large.result == "failed"
    assert too_large.error is not None
    assert (too_large.error.code, too_large.error.effect_happened) == ("response_too_large", "yes")
    assert (await rig.call("echo", {"text": "on"})).result == "succeeded"


async def test_a_slow_server_is_not_waited_for(rig: Rig, server: Process) -> None:
    """At the deadline the effect is unknown; other calls over the same connection go on, and nothing ran twice."""
    other = asyncio.create_task(rig.call("wait", {"s": 2}))
    found = await rig.call("wait", {"s": 600}, timeout_s=0.5)
    assert found.result == "unknown"
    assert found.error is not None
    assert (found.error.code, found.error.effect_happened) == ("timeout", "unknown")
    assert (await other).result == "succeeded"
    assert server.ran() == ["wait", "wait"]


async def test_a_call_that_is_stopped_ends_at_once(rig: Rig, server: Process) -> None:
    """Stopped while its effect may be on its way: nobody knows whether it happened."""
    run = Run()
    work = asyncio.create_task(rig.call("wait", {"s": 600}, run=run))
    await until(lambda: server.ran() == ["wait"])
    run.end()
    found = await asyncio.wait_for(work, 5)
    assert found.result == "unknown"


async def test_nothing_leaves_after_the_permission_ran_out(rig: Rig, server: Process) -> None:
    """The connection was ready too late: the call may be made again."""
    found = await rig.call("echo", {"text": "x"}, permit=Permit(send_by=rig.clock.steady_s() - 1))
    assert found.result == "not_sent"
    assert found.error is not None
    assert found.error.message.startswith("nothing was sent")
    stopped = Run()
    stopped.stop()
    unwanted = await rig.call("echo", {"text": "x"}, run=stopped)
    assert unwanted.result == "not_sent"
    assert unwanted.error is not None
    assert unwanted.error.code == "cancelled"
    assert server.ran() == []


async def test_the_guard_is_asked_before_anything_connects(server: Process) -> None:
    """A server at a place that is not allowed is no server."""
    server.journal.unlink(missing_ok=True)
    async with rigged(egress="") as rig:
        rig.put(transport="http", url=server.url)
        found = await rig.call("echo", {"text": "x"})
    assert found.result == "failed"
    assert found.error is not None
    assert found.error.code == "egress_denied"
    assert server.ran() == []

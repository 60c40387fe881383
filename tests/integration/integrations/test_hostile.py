"""What a provider does that goes around its host: it harms its own process and calls, and no others."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.integrations.shelf import Started, asked
from toolbus_contracts.errors import Refused
from toolbus_integrations.host.frames import LENGTH, SENT, framed
from toolbus_integrations.host.messages import Ended, FailedMethod, Gave, Raised
from toolbus_integrations.hosting.asking import HostLost
from toolbus_integrations.hosting.lines import LINES_AT_ONCE, PAUSE_S

HOSTILE = "hostile"
SECOND = 2  # the number of the call that writes, behind the one that hangs


async def run(started: Started, method: str, written: bytes = b"", to: str = "channel") -> Ended:
    """What came of a call of the hostile provider."""
    question = asked(method, written=written.hex(), to=to)
    return await started.hosts.perform(HOSTILE, question, lambda: None, asyncio.Event())


async def lost(started: Started, method: str, written: bytes, to: str = "channel") -> HostLost:
    """Why a call that hung meanwhile was lost; another provider went on, and this one is started again."""
    await asyncio.gather(started.hosts.view("dummy"), started.hosts.view(HOSTILE))
    hanging = asyncio.create_task(run(started, "hang"))
    await asyncio.sleep(0)
    writing = asyncio.create_task(run(started, method, written, to))
    await asyncio.gather(*(started.hosts.perform("dummy", asked("echo"), lambda: None, asyncio.Event()) for _ in "123"))
    with pytest.raises(HostLost) as caught:
        await hanging
    await asyncio.wait({writing})
    writing.exception()  # it may have been answered before, or be lost too
    again = await run(started, "well")
    assert isinstance(again, Gave)
    assert again.output["text"] == "well"
    assert (started.starts.count(HOSTILE), started.starts.count("dummy")) == (2, 1)
    assert next(one for one in started.processes if one.view.provider == HOSTILE).ended.is_set()
    return caught.value


@pytest.mark.parametrize(
    "frame",
    [framed(b'{"type":"gave","id":2,"output":{"a":NaN}}'), framed(b""), LENGTH.pack(2**32 - 1)],
    ids=["no number", "nothing", "without end"],
)
async def test_a_frame_that_nobody_can_read_ends_its_process(started: Started, frame: bytes) -> None:
    """What could not be stored does not come so far as to be an outcome."""
    found = await lost(started, "write", frame)
    assert found.reason.startswith("it sent what nobody can read: ")
    assert not found.is_sent


async def test_half_a_frame_is_silence(started: Started) -> None:
    """The rest does not come, and what does come is part of it: it gives no sign of life any more."""
    found = await lost(started, "write", LENGTH.pack(100_000) + b'{"type":')
    assert "no sign of life" in found.reason


async def test_an_answer_to_another_question_is_none(started: Started) -> None:
    """The call fits, says the process, where it was to be made."""
    said = {"type": "checked", "id": SECOND, "faults": []}
    found = await lost(started, "write", framed(json.dumps(said).encode()))
    assert found.reason == "it answered with something else"


@pytest.mark.parametrize(
    "said",
    [{"type": "pong"}, {"type": "broken", "fault": {"code": "made_up", "message": "x"}}],
    ids=lambda said: said["type"],
)
async def test_an_answer_too_many_ends_the_process(started: Started, said: dict[str, Any]) -> None:
    """The answer behind it was not asked for any more."""
    with pytest.raises(HostLost, match="it said more than it was asked"):
        await run(started, "write", framed(json.dumps(said).encode()))
    assert isinstance(await run(started, "well"), Gave)
    assert started.starts == [HOSTILE, HOSTILE]


@pytest.mark.parametrize(
    ("written", "to"),
    [
        (framed(b'{"type":"pong"}'), "channel"),
        (framed(b'{"type":"gave","id":99,"output":{}}'), "channel"),
        (SENT.pack(SECOND), "notices"),
    ],
    ids=["pongs", "answers", "notices"],
)
async def test_whoever_says_more_than_it_was_asked_is_ended(started: Started, written: bytes, to: str) -> None:
    """Without end it would keep the service from everything else."""
    found = await lost(started, "flood", written, to)
    assert found.reason.startswith("it sent what nobody can read: it ")


@pytest.mark.parametrize("written", [b"half", SENT.pack(SECOND) * 3], ids=["torn", "more"])
async def test_notes_that_tell_nothing_leave_everything_open(started: Started, written: bytes) -> None:
    """Which of its calls may have sent something, nobody knows any more: all of them may."""
    found = await lost(started, "write", written, "notices")
    assert found.reason == "it sent what nobody can read: it noted what it was not asked"
    assert found.is_sent


async def test_lines_without_end_are_not_handed_on_without_end(started: Started) -> None:
    """Whoever writes faster than anybody reads waits; others, and its own calls, go on."""
    await started.hosts.view("dummy")
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert isinstance(await run(started, "flood", b"\n" * 1000, "stderr"), Gave)
    for _ in range(20):
        assert isinstance(await run(started, "well"), Gave)
        await started.hosts.perform("dummy", asked("echo"), lambda: None, asyncio.Event())
    assert 0 < len(started.lines) <= LINES_AT_ONCE * ((loop.time() - began) / PAUSE_S + 1)


async def test_a_check_that_breaks_is_told(started: Started) -> None:
    """The call is refused, and not held for ever; what the check says can be stored."""
    with pytest.raises(Refused, match="KeyError in a check") as refused:
        await started.hosts.check(HOSTILE, "touch", {}, {"word": "break"})
    assert refused.value.code == "provider_failed"
    (fault,) = await started.hosts.check(HOSTILE, "touch", {}, {"word": "else"})
    assert (fault.path, fault.message) == ("/word", "half of it �")
    assert started.starts == [HOSTILE]


async def test_words_that_nobody_can_store_are_told_as_well_as_they_can_be(started: Started) -> None:
    """And a time that is none is a fault of the provider; its process goes on."""
    failed = await run(started, "mumble")
    assert isinstance(failed, FailedMethod)
    assert (failed.message, failed.retry_after_s) == ("half ? of it �", None)
    assert isinstance(await run(started, "mumble", b"x"), Raised)
    assert started.starts == [HOSTILE]


async def test_a_provider_that_describes_itself_with_what_cannot_be_stored_says_why(started: Started) -> None:
    """Once: it would do so again."""
    for _ in range(2):
        with pytest.raises(Refused, match="cannot be stored: /view/methods/0/arguments") as refused:
            await started.hosts.view("exact")
        assert refused.value.code == "provider_failed"
    assert started.starts == ["exact"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux knows how")
async def test_what_a_provider_may_become_and_who_may_look_into_it(started: Started, tmp_path: Path) -> None:
    """No more than it is, and nobody of its user; it holds nothing open of the service, inheritable or not."""
    key = tmp_path / "master.keys"
    key.write_text("k 0000")
    held = os.open(key, os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        ended = await run(started, "look")
    finally:
        os.close(held)
    assert isinstance(ended, Gave)
    assert ended.output["text"] == "1 0"
    assert [one for one in ended.output["names"] if one.startswith("/") and not one.startswith("/dev/null")] == []

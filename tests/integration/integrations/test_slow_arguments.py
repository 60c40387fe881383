"""Arguments that take long to be checked hold up no other call, and do not end the process."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.integrations.test_left_programs import offer
from toolbus_integrations.host.messages import Gave, Perform
from toolbus_integrations.hosting.process import HostProcess

MEMORY_BYTES = 256 * 1024 * 1024
LARGE = "x" * 100_000


def asked(text: str) -> Perform:
    """A call with this text."""
    return Perform(
        id=0,
        method="ponder",
        setup={},
        arguments={"text": text},
        tenant="acme",
        call_id="call_1",
        max_output_bytes=1000,
    )


async def test_others_go_on_while_large_arguments_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that gives no sign of life for half a second is ended here; reading takes twice as long."""
    offer(tmp_path, monkeypatch)
    process = await HostProcess.start(
        "leaving", egress_allow="", memory_bytes=MEMORY_BYTES, silence_s=0.5, on_line=lambda _: None
    )
    try:
        checking = asyncio.create_task(process.check("ponder", {}, {"text": LARGE}))
        slow = asyncio.create_task(process.perform(asked(LARGE), lambda: None, asyncio.Event()))
        for _ in range(20):
            ended = await process.perform(asked(""), lambda: None, asyncio.Event())
            assert isinstance(ended, Gave), ended
        assert not slow.done()
        assert isinstance(await slow, Gave)
        assert await checking == ()
        assert not process.is_lost
    finally:
        await process.kill("the test is over")

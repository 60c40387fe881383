"""A process that has ended is not killed again: its number may belong to another by then."""

import os
import signal

import pytest

from toolbus_integrations.hosting.process import HostProcess


async def test_nobody_else_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service stops hours after the process of a provider has died while nobody called it."""
    process = await HostProcess.start(
        "dummy", egress_allow="", memory_bytes=256 * 1024 * 1024, silence_s=30.0, on_line=lambda _: None
    )
    os.kill(process._spawned.process.pid, signal.SIGKILL)
    await process.ended.wait()
    killed: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, _: killed.append(group))
    await process.kill("the service stops")
    await process.end()
    assert killed == []

"""What a process of a provider is given, when it is started and ended, and why it may not start."""

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest
from pytest_httpserver import HTTPServer

from tests.integration.integrations.shelf import (
    MISBEHAVING,
    Started,
    asked,
    is_well,
    others_go_on,
    put_on_shelf,
    run,
    url_of,
)
from tests.nats_fixtures import until
from toolbus_contracts.errors import Refused
from toolbus_integrations.host.messages import Gave, Interrupted


async def test_what_a_provider_sees(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting and no secret of the service, nothing of the service's libraries, a folder that is gone afterwards."""
    monkeypatch.setenv("TOOLBUS_SECRETS_KEY", "k 0000")
    monkeypatch.setenv("TOOLBUS_SECRET_ACME__KEY", "canary")
    monkeypatch.setenv("PASSWORD", "canary")
    ended = await run(started, "look_around", text="hello")
    assert isinstance(ended, Gave)
    names = {line.partition("=")[0] for line in ended.output["text"].splitlines()}
    assert names <= {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HOME",
        "TMPDIR",
        "PYTHONPATH",
        "PYTHONUNBUFFERED",
    }
    (folder,) = ended.output["names"]
    assert not await asyncio.to_thread(Path(folder).exists)
    assert await asyncio.to_thread(Path(folder).parent.exists)
    await until(lambda: len(started.lines) >= 2)
    assert sorted(started.lines) == ["printed by a provider hello", "written by a provider"]
    await started.hosts.close()
    assert not await asyncio.to_thread(Path(folder).parent.exists)


async def test_an_idle_process_is_ended_and_started_when_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while without calls; not while one runs."""
    put_on_shelf(tmp_path, monkeypatch)
    started = Started(idle_s=0.3)
    looking = asyncio.create_task(started.hosts.run())
    try:
        stop = asyncio.Event()
        hanging = asyncio.create_task(run(started, "hang", stop))
        await until(lambda: bool(started.processes))
        process = started.processes[0]
        await others_go_on(started, hanging)
        assert not process.is_lost
        stop.set()
        await hanging
        await asyncio.wait_for(process.ended.wait(), 20)
        assert started.hosts.pause_s(MISBEHAVING) == 0
        assert await is_well(started)
    finally:
        looking.cancel()
        await started.hosts.close()


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("unloadable", "provider_failed", "half of it is missing"),
        ("second", "provider_failed", "not the provider of this name"),
        ("wanting", "provider_missing", 'pip install "toolbus\\[magic\\]"'),
        ("nobody", "provider_failed", "0 packages offer it"),
    ],
)
async def test_a_provider_that_cannot_be_loaded_says_why(started: Started, name: str, code: str, words: str) -> None:
    """With the extra that is missing, or what is wrong with its package; it is not tried again and again."""
    for _ in range(2):
        with pytest.raises(Refused, match=words) as refused:
            await started.hosts.view(name)
        assert refused.value.code == code
    assert started.starts.count(name) == 1


async def test_a_call_that_comes_too_late_sends_nothing(started: Started, httpserver: HTTPServer) -> None:
    """Nothing leaves after the time in which it may be sent."""
    question = asked("store", send_by=0.001, url=url_of(httpserver))
    ended = await started.hosts.perform(MISBEHAVING, question, lambda: None, asyncio.Event())
    assert isinstance(ended, Interrupted)
    assert ended.kind == "too_late"
    assert httpserver.log == []


ORPHAN = """
import asyncio, os, sys
from toolbus_integrations.hosting.process import HostProcess
from toolbus_integrations.host.messages import Perform

async def main():
    process = await HostProcess.start(
        "misbehaving", egress_allow="", memory_bytes=2**28, silence_s=600, on_line=lambda line: None
    )
    asked = Perform(
        id=0, method=sys.argv[1], setup={}, arguments={"number": 600}, tenant="t", call_id="c", max_output_bytes=9
    )
    doing = asyncio.ensure_future(process.perform(asked, lambda: None, asyncio.Event()))
    await asyncio.sleep(0)
    print(process._spawned.process.pid, flush=True)
    await doing

asyncio.run(main())
"""


@pytest.mark.parametrize("method", ["hang", "block"])
async def test_a_process_ends_with_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """However that ended, and whatever the provider does meanwhile."""
    put_on_shelf(tmp_path, monkeypatch)
    service = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ORPHAN, method),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert service.stdout is not None
    host = int(await service.stdout.readline())
    assert psutil.pid_exists(host)
    service.kill()
    await service.wait()

    def is_gone() -> bool:
        try:
            return psutil.Process(host).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    await until(is_gone)

"""Processes of providers: one that blocks, crashes, leaks, floods or never ends, and others that go on meanwhile."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from pytest_httpserver import HTTPServer

from tests.integration.integrations.shelf import MIB, Started, put_on_shelf
from tests.nats_fixtures import until
from toolbus_contracts.errors import Refused, Unavailable
from toolbus_integrations.host.messages import Ended, FailedMethod, Gave, Interrupted, Perform, Raised, Stopped
from toolbus_integrations.hosting.asking import HostLost

MISBEHAVING = "misbehaving"


@pytest.fixture
async def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Started]:
    """Hosts that find the misbehaving providers too."""
    put_on_shelf(tmp_path, monkeypatch)
    made = Started()
    yield made
    await made.hosts.close()


def asked(
    method: str, *, max_output_bytes: int = 10 * MIB, send_by: float | None = None, **arguments: object
) -> Perform:
    """A call of this method."""
    return Perform(
        id=0,
        method=method,
        setup={},
        arguments=arguments,
        tenant="acme",
        call_id="call_1",
        max_output_bytes=max_output_bytes,
        send_by=send_by,
    )


def url_of(server: HTTPServer, path: str = "/") -> str:
    """Where the server is, by its address: its name is refused as one that stands for this machine."""
    return f"http://127.0.0.1:{server.port}{path}"


async def run(started: Started, method: str, stop: asyncio.Event | None = None, **arguments: object) -> Ended:
    """What came of a call of a misbehaving method."""
    question = asked(method).model_copy(update={"arguments": arguments})
    return await started.hosts.perform(MISBEHAVING, question, lambda: None, stop or asyncio.Event())


async def others_go_on(started: Started, doing: asyncio.Task[Ended], *, times: int = 20) -> None:
    """Calls of another provider are answered while this one is not."""
    for number in range(times):
        ended = await started.hosts.perform("dummy", asked("echo", number=number), lambda: None, asyncio.Event())
        assert isinstance(ended, Gave)
        assert ended.output == {"number": number}
    assert not doing.done()


async def is_well(started: Started) -> bool:
    """Whether the misbehaving provider answers again."""
    ended = await run(started, "bloat", number=3)
    return isinstance(ended, Gave) and ended.output["text"] == "xxx"


async def warm(started: Started) -> None:
    """Both processes run."""
    await asyncio.gather(started.hosts.view("dummy"), started.hosts.view(MISBEHAVING))


async def test_one_that_blocks_its_loop_is_ended(started: Started) -> None:
    """It gives no sign of life; its call is lost, others go on, and it is started again."""
    await warm(started)
    blocking = asyncio.create_task(run(started, "block", number=600))
    await others_go_on(started, blocking)
    with pytest.raises(HostLost, match="no sign of life for 5 s") as lost:
        await blocking
    assert not lost.value.is_sent
    assert await is_well(started)
    assert started.starts.count("dummy") == 1


async def test_one_that_works_for_long_is_left_alone(started: Started) -> None:
    """A loop that is free is a sign of life, however long a call takes."""
    await warm(started)
    stop = asyncio.Event()
    hanging = asyncio.create_task(run(started, "hang", stop))
    blocked = await run(started, "block", number=1.0)  # shorter than what counts as silence
    assert isinstance(blocked, Gave)
    await others_go_on(started, hanging)
    stop.set()
    assert isinstance(await hanging, Stopped)
    assert started.starts.count(MISBEHAVING) == 1


async def test_one_that_crashes_takes_its_own_calls_along(started: Started) -> None:
    """All its calls hear why; nothing was sent; another process takes the next."""
    await warm(started)
    hanging = asyncio.create_task(run(started, "hang"))
    await others_go_on(started, hanging)
    with pytest.raises(HostLost, match="exit code 3") as crashed:
        await run(started, "crash")
    with pytest.raises(HostLost, match="exit code 3"):
        await hanging
    assert not crashed.value.is_sent
    assert await is_well(started)


async def test_what_had_left_before_a_crash_is_known(started: Started, httpserver: HTTPServer) -> None:
    """The note that something may have left reaches the service, though the process is gone at once."""
    httpserver.expect_oneshot_request("/", method="POST").respond_with_data("taken")
    noted: list[str] = []
    with pytest.raises(HostLost) as crashed:
        await started.hosts.perform(
            MISBEHAVING,
            asked("crash_after_sending", url=url_of(httpserver)),
            lambda: noted.append("sent"),
            asyncio.Event(),
        )
    assert (crashed.value.is_sent, noted) == (True, ["sent"])
    assert len(httpserver.log) == 1


async def test_one_that_takes_too_much_memory_is_ended(started: Started) -> None:
    """At its bound, by itself; others go on."""
    await warm(started)
    leaking = asyncio.create_task(run(started, "leak"))
    with pytest.raises(HostLost, match="more memory than 256 MiB"):
        await leaking
    hanging = asyncio.create_task(run(started, "hang"))
    await others_go_on(started, hanging)
    hanging.cancel()
    assert await is_well(started)


async def test_one_that_gives_50_megabytes_is_refused_and_goes_on(started: Started) -> None:
    """The output is larger than it may be; the process stays."""
    await warm(started)
    ended = await run(started, "bloat", number=50 * MIB)
    assert isinstance(ended, FailedMethod)
    assert ended.code == "response_too_large"
    assert await is_well(started)
    assert started.starts.count(MISBEHAVING) == 1


async def test_an_output_as_large_as_allowed_arrives(started: Started) -> None:
    """Megabytes come through the socket whole."""
    ended = await run(started, "bloat", number=9 * MIB)
    assert isinstance(ended, Gave)
    assert len(ended.output["text"]) == 9 * MIB


async def test_one_that_never_ends_is_stopped(started: Started) -> None:
    """When its time is up; its process goes on with others."""
    await warm(started)
    stop = asyncio.Event()
    hanging = asyncio.create_task(run(started, "hang", stop))
    await others_go_on(started, hanging)
    stop.set()
    assert isinstance(await hanging, Stopped)
    assert await is_well(started)
    assert started.starts.count(MISBEHAVING) == 1


async def test_one_that_does_not_heed_a_stop_is_ended(started: Started) -> None:
    """Its process is gone two seconds later, and started again."""
    await warm(started)
    stop = asyncio.Event()
    stubborn = asyncio.create_task(run(started, "stubborn", stop))
    await others_go_on(started, stubborn)
    stop.set()
    with pytest.raises(HostLost, match="did not end within 2 s"):
        await stubborn
    assert await is_well(started)


async def test_one_that_crashes_again_and_again_is_left_alone_for_longer(started: Started) -> None:
    """Pauses double; a long one is told with the time, so that whoever asks comes back then. Others run."""
    await warm(started)
    pauses = []
    for _ in range(5):
        with pytest.raises(HostLost):
            await run(started, "crash")
        pauses.append(started.hosts.pause_s(MISBEHAVING))
    assert [round(pause, 1) for pause in pauses] == [0.1, 0.2, 0.4, 0.8, 1.6]
    with pytest.raises(Unavailable, match="not started again yet") as away:
        await run(started, "crash")
    assert 1.0 < away.value.retry_after_s <= 1.6
    hanging = asyncio.create_task(started.hosts.perform("dummy", asked("echo"), lambda: None, asyncio.Event()))
    assert isinstance(await hanging, Gave)


async def test_a_fault_of_a_method_is_its_own(started: Started) -> None:
    """What it raises is told; its process goes on."""
    ended = await run(started, "fail", text="nothing there")
    assert isinstance(ended, Raised)
    assert ended.message == "KeyError: 'nothing there'"
    assert isinstance(await run(started, "lie"), FailedMethod)
    assert await is_well(started)
    assert started.starts.count(MISBEHAVING) == 1


async def test_an_output_that_is_not_what_was_declared_is_refused(started: Started) -> None:
    """The model is checked, also when the provider went around it."""
    ended = await run(started, "lie")
    assert isinstance(ended, FailedMethod)
    assert ended.code == "response_invalid"


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

"""Processes of providers: one that blocks, crashes, leaks, floods or never ends, and others that go on meanwhile."""

import asyncio

import pytest
from pytest_httpserver import HTTPServer

from tests.integration.integrations.shelf import (
    MIB,
    MISBEHAVING,
    Started,
    asked,
    is_well,
    others_go_on,
    run,
    url_of,
    warm,
)
from tests.nats_fixtures import until
from toolbus_contracts.errors import Unavailable
from toolbus_integrations.host.messages import FailedMethod, Gave, Raised, Stopped
from toolbus_integrations.host.running import LARGE_BYTES
from toolbus_integrations.hosting import asking
from toolbus_integrations.hosting.asking import HostLost


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


@pytest.mark.parametrize(("takes_s", "give_s"), [(1.0, 30.0), (600.0, 0.2)], ids=["in time", "without end"])
async def test_what_was_given_before_a_stop_is_waited_for(
    started: Started, monkeypatch: pytest.MonkeyPatch, takes_s: float, give_s: float
) -> None:
    """For longer than a method that does not heed the stop, whose process is ended, but not for ever."""
    monkeypatch.setattr(asking, "STOP_S", 0.2)
    monkeypatch.setattr(asking, "GIVE_S", give_s)
    stop = asyncio.Event()
    lingering = asyncio.create_task(run(started, "linger", stop, number=takes_s))
    await until(lambda: "writing" in started.lines)
    stop.set()
    if takes_s > give_s:
        with pytest.raises(HostLost, match=r"did not end within 0\.4 s"):
            await lingering
    else:
        ended = await lingering
        assert isinstance(ended, Gave)
        assert len(ended.output["text"]) == LARGE_BYTES + 1
    assert started.starts == [MISBEHAVING]


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

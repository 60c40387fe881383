"""Servers as processes of ours: exactly the commands that the operator listed, and nothing left of them afterwards."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.integration.integrations.mcp.conftest import ERAS
from tests.integration.integrations.mcp.rig import PROGRAM, Rig, rigged
from tests.nats_fixtures import until
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_integrations.core.mcp_commands import AllowedCommand

ARGV = (sys.executable, PROGRAM, "stdio")
NAMES = frozenset({"JOURNAL", "ERA", "TOKEN", "EDITION"})
SECRET = "correct horse battery"


def started() -> list[psutil.Process]:
    """The servers that this process has started and that still run."""
    return [one for one in psutil.Process().children(recursive=True) if runs(one)]


def runs(process: psutil.Process) -> bool:
    """Whether it is a server, and has not ended while it was looked at."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and PROGRAM in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def ran(env: dict[str, str]) -> list[str]:
    """The tools that ran, in order."""
    return Path(env["JOURNAL"]).read_text().split()


def code(outcome: Outcome) -> str:
    """The code of a failure."""
    assert outcome.error is not None
    return outcome.error.code


@pytest.fixture(params=ERAS)
def env(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """What the server is told: its era, and where its journal is."""
    return {"ERA": str(request.param), "JOURNAL": str(tmp_path / "journal")}


@pytest.fixture
async def stdio(env: dict[str, str]) -> AsyncIterator[Rig]:
    """The effect, with a server over stdio put as `thing`."""
    async with rigged(allowed=(AllowedCommand(argv=ARGV, env=NAMES),), secrets={"token": SECRET}) as made:
        made.put(transport="stdio", command=ARGV[0], args=list(ARGV[1:]), env={**env, "TOKEN": "secret://token"})
        yield made


async def test_a_process_is_started_once_and_ends_with_the_service(stdio: Rig) -> None:
    """Calls share it; when the service stops it is gone."""
    for text in ("one", "two"):
        found = await stdio.call("echo", {"text": text})
        assert found.output is not None
        assert found.output["text"] == text
    assert len(started()) == 1
    await stdio.aclose()
    assert started() == []


async def test_its_secret_does_not_come_back(stdio: Rig) -> None:
    """The process has the value; whoever asks for its answer reads the name."""
    found = await stdio.call("secret")
    assert found.output is not None
    assert found.output["text"] == "[secret:token]"


async def test_nothing_of_our_environment_is_handed_on(stdio: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside PATH and HOME it finds what its settings name, and no more."""
    monkeypatch.setenv("TOOLBUS_SECRETS_KEY", "one secret-of-ours")
    assert (await stdio.call("echo", {"text": "x"})).result == "succeeded"
    (process,) = started()
    # LC_CTYPE is what Python itself sets in the C locale.
    assert set(process.environ()) - {"LC_CTYPE"} == {"PATH", "HOME", "ERA", "JOURNAL", "TOKEN"}
    assert process.cwd() == process.environ()["HOME"] != str(Path.home())


async def test_a_process_that_dies_of_the_request(stdio: Rig, env: dict[str, str]) -> None:
    """Sent, and not answered: unknown, and not sent again. The next call starts another process."""
    assert (await stdio.call("echo", {"text": "x"})).result == "succeeded"
    found = await stdio.call("die")
    assert (found.result, code(found)) == ("unknown", "connection_lost")
    again = await stdio.call("echo", {"text": "y"})
    assert again.result == "succeeded"
    assert ran(env) == ["echo", "die", "echo"]


async def test_a_process_that_dies_between_calls(stdio: Rig) -> None:
    """Whoever comes next has another one."""
    assert (await stdio.call("echo", {"text": "x"})).result == "succeeded"
    (process,) = started()
    process.send_signal(signal.SIGKILL)
    await until(lambda: not started())
    await until(lambda: stdio.connections.open_count() == 0)
    assert (await stdio.call("echo", {"text": "y"})).result == "succeeded"


async def test_a_process_that_nobody_uses_ends(env: dict[str, str]) -> None:
    """After the idle time."""
    async with rigged(allowed=(AllowedCommand(argv=ARGV, env=NAMES),), idle_s=0.05) as rig:
        rig.put(transport="stdio", command=ARGV[0], args=list(ARGV[1:]), env=env)
        assert (await rig.call("echo", {"text": "x"})).result == "succeeded"
        await until(lambda: not started())


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        ((), frozenset()),  # nothing is listed
        ((sys.executable, PROGRAM), frozenset({"ERA"})),  # one argument less
        ((sys.executable, PROGRAM, "stdio", "more"), frozenset({"ERA"})),
        (ARGV, frozenset()),  # this command, without the variable
    ],
)
async def test_other_commands_are_refused(argv: tuple[str, ...], names: frozenset[str]) -> None:
    """Argument for argument, and variable for variable; nothing is started."""
    allowed = (AllowedCommand(argv=argv, env=names),) if argv else ()
    async with rigged(allowed=allowed) as rig:
        rig.put(transport="stdio", command=ARGV[0], args=list(ARGV[1:]), env={"ERA": "initialize"})
        found = await rig.call("echo", {"text": "x"})
    assert (found.result, code(found)) == ("failed", "command_denied")
    assert started() == []


async def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    """Nothing was sent; it may be there later."""
    argv = (str(tmp_path / "nothing"),)
    async with rigged(allowed=(AllowedCommand(argv=argv),)) as rig:
        rig.put(transport="stdio", command=argv[0])
        found = await rig.call("echo", {"text": "x"})
    assert (found.result, code(found)) == ("not_sent", "connection_failed")


async def test_what_a_process_started_ends_with_it(tmp_path: Path) -> None:
    """A child that does not heed SIGTERM and keeps our pipe open is ended with the group."""
    script = tmp_path / "server.sh"
    script.write_text(f"#!/bin/sh\ntrap '' TERM\nsleep 600 &\necho $! > {tmp_path}/child\nexec \"$@\"\n")
    script.chmod(0o755)
    argv = (str(script), *ARGV)
    async with rigged(allowed=(AllowedCommand(argv=argv),)) as rig:
        rig.put(transport="stdio", command=argv[0], args=list(argv[1:]))
        assert (await rig.call("echo", {"text": "x"})).result == "succeeded"
        child = int((tmp_path / "child").read_text())
        os.kill(child, 0)  # it runs
    await until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)

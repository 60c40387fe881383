"""The public reference server, over stdio and over streamable HTTP: `make mcp` fetches it."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.integration.integrations.mcp.rig import TENANT, Rig, rigged
from tests.nats_fixtures import until
from tests.ports import free_port
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.tools import JsonObject
from toolbus_integrations.core.mcp_commands import AllowedCommand
from toolbus_runtime.executing.runs import Run

NODE = shutil.which("node")
PROGRAM = Path(__file__).parent / "everything/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
pytestmark = pytest.mark.skipif(NODE is None or not PROGRAM.exists(), reason="make mcp fetches the reference server")


class Everything:
    """The server over HTTP."""

    def __init__(self) -> None:
        self.port = free_port()
        self._running: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """It listens on return."""
        env = {**os.environ, "PORT": str(self.port)}
        command = [str(NODE), str(PROGRAM), "streamableHttp"]
        self._running = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self._running.stderr is not None
        while "listening" not in self._running.stderr.readline():
            assert self._running.poll() is None

    def kill(self) -> None:
        """It is gone on return."""
        if self._running is not None:
            self._running.kill()
            self._running.communicate()
            self._running = None


@pytest.fixture
def everything() -> Iterator[Everything]:
    """The server over HTTP, running."""
    server = Everything()
    server.start()
    yield server
    server.kill()


@pytest.fixture(params=["stdio", "http"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """The effect, with the reference server put as `thing`."""
    argv = (str(NODE), str(PROGRAM), "stdio")
    async with rigged(allowed=(AllowedCommand(argv=argv),)) as made:
        if request.param == "stdio":
            made.put(transport="stdio", command=argv[0], args=list(argv[1:]))
        else:
            made.put(transport="http", url=f"http://127.0.0.1:{request.getfixturevalue('everything').port}/mcp")
        yield made


def ok(outcome: Outcome) -> JsonObject:
    """The output of a success."""
    assert outcome.error is None, outcome.error
    assert outcome.output is not None
    return outcome.output


async def test_its_tools_are_listed_and_called(rig: Rig) -> None:
    """Text, numbers, structured content and pictures; each tool as it was described."""
    said = await rig.describing.listed(TENANT, "thing")
    assert {"echo", "get-sum", "get-tiny-image"} <= {tool.name for tool in said.tools}
    assert said.protocol < "2026"
    echo = await rig.surface("echo")
    assert ok(await rig.call("echo", {"message": "grüße"}, surface=echo))["text"] == "Echo: grüße"
    assert "5" in ok(await rig.call("get-sum", {"a": 2, "b": 3}))["text"]
    structured = ok(await rig.call("get-structured-content", {"location": "New York"}))["structured"]
    assert {"temperature", "conditions", "humidity"} <= structured.keys()
    kinds = [block["type"] for block in ok(await rig.call("get-tiny-image"))["content"]]
    assert "image" in kinds


async def test_what_it_refuses_has_failed(rig: Rig) -> None:
    """Arguments that it does not take: it says so, and nothing ran."""
    found = await rig.call("get-sum", {"a": "x"})
    assert found.result == "failed"
    assert found.error is not None
    assert found.error.code in {"tool_error", "mcp_error"}


async def test_a_long_operation_is_given_up_and_others_go_on(rig: Rig) -> None:
    """Unknown at the deadline; what is called meanwhile over the same connection is answered."""
    assert ok(await rig.call("echo", {"message": "before"}))["text"] == "Echo: before"
    long = asyncio.create_task(rig.call("trigger-long-running-operation", {"duration": 30, "steps": 3}, timeout_s=2))
    assert ok(await rig.call("echo", {"message": "meanwhile"}))["text"] == "Echo: meanwhile"
    found = await long
    assert found.result == "unknown"
    assert found.error is not None
    assert found.error.code == "timeout"
    assert ok(await rig.call("echo", {"message": "after"}))["text"] == "Echo: after"


async def test_it_is_killed_in_the_middle_of_a_call_and_started_again(everything: Everything) -> None:
    """Unknown; the session that is gone is noticed, and the next call has another."""
    async with rigged() as rig:
        rig.put(transport="http", url=f"http://127.0.0.1:{everything.port}/mcp")
        assert ok(await rig.call("echo", {"message": "x"}))["text"] == "Echo: x"
        run = Run()
        work = asyncio.create_task(rig.call("trigger-long-running-operation", {"duration": 60, "steps": 2}, run=run))
        await until(lambda: run.sent_s is not None)
        everything.kill()
        found = await work
        assert found.result == "unknown"
        everything.start()
        gone = await rig.call("echo", {"message": "y"})
        assert gone.result == "not_sent"
        assert ok(await rig.call("echo", {"message": "z"}))["text"] == "Echo: z"


async def test_it_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own tool that tells its environment has nothing to tell."""
    monkeypatch.setenv("TOOLBUS_NATS_PASSWORD", "password-of-ours")
    argv = (str(NODE), str(PROGRAM), "stdio")
    async with rigged(allowed=(AllowedCommand(argv=argv),)) as rig:
        rig.put(transport="stdio", command=argv[0], args=list(argv[1:]))
        told = ok(await rig.call("get-env"))["text"]
    assert "HOME" in told
    assert "password-of-ours" not in told
    assert "TOOLBUS" not in told

"""What a server as a process writes for people: lines of our log, bounded and paced, and no secret in them."""

import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from tests.integration.integrations.mcp.rig import PROGRAM, rigged
from toolbus_integrations.core.mcp_commands import AllowedCommand
from toolbus_integrations.hosting.lines import CUT, LAST_LINES, LINES_AT_ONCE, PAUSE_S
from toolbus_integrations.mcp import stdio
from toolbus_integrations.mcp.saying import MAX_SAID_CHARS

NAMES = frozenset({"JOURNAL", "ERA", "TOKEN"})
SECRET = "correct horse battery"
# A server that says something before, beside or behind what it does.
SERVER = """
import os, runpy, sys, threading
def say():
    {say}
{begin}
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
{end}
"""
AT_ONCE, BESIDE = "say()", "threading.Thread(target=say, daemon=True).start()"


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    """What the server said, line by line, as it stands in the log."""
    with structlog.testing.capture_logs() as lines:
        yield lines


def said(logged: list[Any]) -> list[str]:
    """The texts of it."""
    return [str(line["text"]) for line in logged if line["event"] == "mcp.server_said"]


def program(say: str, begin: str = AT_ONCE, end: str = "") -> tuple[str, ...]:
    """The command of a server that says this."""
    return (sys.executable, "-c", SERVER.format(say=say, begin=begin, end=end), PROGRAM, "stdio")


async def call_of(argv: tuple[str, ...]) -> tuple[str, str | None]:
    """How one call of it ended, and the code of its failure; the server has ended on return."""
    async with rigged(allowed=(AllowedCommand(argv=argv, env=NAMES),), secrets={"token": SECRET}) as rig:
        rig.put(transport="stdio", command=argv[0], args=list(argv[1:]), env={"TOKEN": "secret://token"})
        found = await rig.call("echo", {"text": "x"})
    return found.result, None if found.error is None else found.error.code


async def test_a_server_that_writes_without_end_does_not_fill_the_log(logged: list[Any]) -> None:
    """So many lines in so much time, each cut, and how many were left out; its calls go on, and it ends as others."""
    line = "os.write(2, b'x' * 2000 + b'\\n')"
    argv = program(f"while True: {line}", BESIDE, end=f"for _ in range({2 * LAST_LINES}): {line}")
    began = time.monotonic()
    assert await call_of(argv) == ("succeeded", None)
    paces = (time.monotonic() - began) / PAUSE_S + 1
    *lines, last = said(logged)
    assert set(lines) == {"x" * MAX_SAID_CHARS + CUT}
    assert LAST_LINES <= len(lines) <= LAST_LINES + paces * LINES_AT_ONCE
    assert last.startswith(CUT)
    assert last.endswith(" more lines")


async def test_a_line_without_end_is_read_to_its_end(logged: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning is told, then what follows it: it is not as long as an answer may be that is kept."""
    monkeypatch.setattr(stdio, "MAX_LINE_BYTES", 256 * 1024)
    argv = program("os.write(2, b'x' * 1024 * 1024 + b'\\nnext\\n')")
    assert await call_of(argv) == ("succeeded", None)
    assert said(logged) == ["x" * MAX_SAID_CHARS + CUT, "next"]


@pytest.mark.parametrize("shown", [5, len(SECRET) - 1])
async def test_its_secret_is_not_told(logged: list[Any], shown: int) -> None:
    """Neither whole nor the half that stands before a line is cut."""
    before = MAX_SAID_CHARS - shown
    say = "os.write(2, f\"it is {os.environ['TOKEN']}\\n{'.' * BEFORE}{os.environ['TOKEN']}\\nnext\\n\".encode())"
    assert await call_of(program(say.replace("BEFORE", str(before)))) == ("succeeded", None)
    whole, cut, following = said(logged)
    assert (whole, following) == ("it is [secret:token]", "next")
    assert cut.removesuffix(CUT) == ("." * before + "[secret:token]")[:MAX_SAID_CHARS]


async def test_its_last_words_are_told(logged: list[Any]) -> None:
    """Why it ended stands there, as a rule."""
    argv = program("os.write(2, b'no database\\n'); os._exit(3)")
    assert (await call_of(argv))[0] == "not_sent"
    assert said(logged) == ["no database"]

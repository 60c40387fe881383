"""
A server as a process of ours: messages as lines over its standard input and output.

No shell, nothing of our environment, a process group and an empty folder of its own; it ends with the connection, and
so does whatever it started. Source: MCP 2025-11-25, "stdio" and "Shutdown".
"""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from toolbus_contracts.executing.redaction import Redactor
from toolbus_integrations.mcp.saying import listening

log = structlog.get_logger(__name__)
MAX_LINE_BYTES: Final = 52 * 1024 * 1024  # a line is an answer, and no answer is kept that is larger
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LEAVE_S: Final = 2.0  # from closed input to SIGTERM, and from there to SIGKILL


@dataclass(frozen=True)
class Command:
    """What to run. `env` is all that it finds beside PATH and HOME; `redactor` cleans what it says for people."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    redactor: Redactor = field(default_factory=Redactor)


class Lines(NamedTuple):
    """Both directions of a session. `gone` is set when the process speaks no more."""

    read: MemoryObjectReceiveStream[SessionMessage | Exception]
    write: MemoryObjectSendStream[SessionMessage]
    gone: asyncio.Event


@asynccontextmanager
async def running(command: Command) -> AsyncIterator[Lines]:
    """
    The process runs inside, and neither it nor anything of its group afterwards.

    Raises:
        OSError: it cannot be started.
    """
    with TemporaryDirectory(prefix="mcp-", ignore_cleanup_errors=True) as folder:
        async with listening(command.name, command.redactor) as ear:
            process = await _start(command, folder, ear.pipe)
            gone = asyncio.Event()
            heard, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
            write, spoken = anyio.create_memory_object_stream[SessionMessage]()
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_hear, process, heard, gone)
                    tasks.start_soon(_speak, process, spoken, gone)
                    try:
                        yield Lines(read, write, gone)
                    finally:
                        tasks.cancel_scope.cancel()
            finally:
                ear.over.set()  # a server that waits to be read would not see that it is to end
                for stream in (heard, read, write, spoken):
                    stream.close()
                await _end(process)


async def _start(command: Command, folder: str, said: int) -> Process:
    """The process has begun; the pipe of this number, where it writes for people, is its own from now on."""
    try:
        return await asyncio.create_subprocess_exec(
            *command.argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=said,
            env={"PATH": PATH, "HOME": folder, **command.env},
            cwd=folder,
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    finally:
        os.close(said)


async def _hear(
    process: Process, heard: MemoryObjectSendStream[SessionMessage | Exception], gone: asyncio.Event
) -> None:
    """Hand on each line as a message, until there are no more."""
    if process.stdout is None:
        raise AssertionError("a process is started with pipes")
    try:
        async with heard:
            while line := await process.stdout.readline():
                if line.strip():
                    await heard.send(_message(line))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the session has ended
    except (ValueError, OSError) as error:
        log.warning("mcp.line_unreadable", reason=str(error))  # longer than any answer may be
    finally:
        gone.set()


async def _speak(process: Process, spoken: MemoryObjectReceiveStream[SessionMessage], gone: asyncio.Event) -> None:
    """Write each message as a line."""
    if process.stdin is None:
        raise AssertionError("a process is started with pipes")
    try:
        async with spoken:
            async for one in spoken:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
    except OSError:
        gone.set()


async def _end(process: Process) -> None:
    """Close its input, wait, ask its group to end, and end it. Nothing here takes longer than twice `LEAVE_S`."""
    with anyio.CancelScope(shield=True):
        if process.stdin is not None:
            process.stdin.close()
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await process.wait()
                    break
            _signal(process, signal_number)
        _signal(process, signal.SIGKILL)  # what it left behind
        await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        return error

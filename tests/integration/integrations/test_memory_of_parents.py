"""What a service holds in its memory is not counted as memory of a process that it starts."""

import asyncio
import subprocess
import sys

from tests.integration.integrations.shelf import MIB

HELD_BYTES = 300 * MIB
MEMORY_BYTES = 128 * MIB
TELL = "from toolbus_integrations.host.watch import most_held_bytes; print(most_held_bytes())"
PARENT = f"""
import subprocess, sys
held = b"x" * {HELD_BYTES}
print(subprocess.run([sys.executable, "-c", {TELL!r}], capture_output=True, check=True, text=True).stdout)
"""
GIVING_BACK = f'held = b"x" * {HELD_BYTES}; del held; {TELL}'
SERVICE = f"""
import asyncio
from tests.integration.integrations.shelf import asked
from toolbus_integrations.host.watch import LOOK_S
from toolbus_integrations.hosting.process import HostProcess

held = b"x" * {HELD_BYTES}

async def main():
    process = await HostProcess.start(
        "dummy", egress_allow="", memory_bytes={MEMORY_BYTES}, silence_s=30, on_line=print
    )
    looks = asyncio.create_task(asyncio.wait_for(process.ended.wait(), 3 * LOOK_S))
    await asyncio.wait([looks])
    print((await process.perform(asked("echo", text="hello"), lambda: None, asyncio.Event())).output)
    await process.end()

asyncio.run(main())
"""


def told(program: str) -> int:
    """The number that a program prints."""
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)


def test_what_its_parent_held_is_not_counted() -> None:
    """Only what the program itself has held."""
    assert 0 < told(PARENT) < HELD_BYTES // 2


def test_what_it_has_held_is_counted() -> None:
    """Also when it was given back."""
    assert told(GIVING_BACK) > HELD_BYTES


async def test_a_service_that_holds_much_starts_processes_that_live() -> None:
    """The process has looked at what it holds, more than once, and still answers."""
    service = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SERVICE), env={"PYTHONPATH": ":".join(sys.path)}, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await service.communicate()
    assert (service.returncode, told.decode()) == (0, "{'text': 'hello'}\n")

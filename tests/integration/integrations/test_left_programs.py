"""What a provider started ends with its process, however that ends."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.nats_fixtures import until
from toolbus_integrations.host.messages import Perform
from toolbus_integrations.hosting.asking import HostLost
from toolbus_integrations.hosting.process import HostProcess

HERE = Path(__file__).parent
MEMORY_BYTES = 256 * 1024 * 1024
SERVICE = """
import asyncio, sys
from toolbus_integrations.host.messages import Perform
from toolbus_integrations.hosting.process import HostProcess

async def main():
    process = await HostProcess.start(
        "leaving", egress_allow="", memory_bytes=256 * 1024 * 1024, silence_s=30, on_line=print
    )
    asked = Perform(id=0, method="leave", setup={}, arguments={"file": sys.argv[1], "stays": True}, tenant="acme",
                    call_id="call_1", max_output_bytes=1000)
    await process.perform(asked, lambda: None, asyncio.Event())

asyncio.run(main())
"""


def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider lies in the folder, and is found there by this process and those it starts."""
    shutil.copy(HERE / "leaving.py", tmp_path)
    information = tmp_path / "leaving-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: leaving\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[toolbus.integrations]\nleaving = leaving:leaving\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the provider is found."""
    offer(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
async def process(site: Path) -> AsyncIterator[HostProcess]:
    """The process of the provider."""
    made = await HostProcess.start(
        "leaving", egress_allow="", memory_bytes=MEMORY_BYTES, silence_s=30.0, on_line=lambda _: None
    )
    yield made
    if not made.is_lost:
        await made.kill("the test is over")


def program_of(file: Path) -> psutil.Process | None:
    """The program that the provider has started, if it still runs."""
    try:
        found = psutil.Process(int(file.read_text()))
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None
    return found if found.status() != psutil.STATUS_ZOMBIE else None


async def test_a_program_ends_with_a_process_that_ends_by_itself(process: HostProcess, tmp_path: Path) -> None:
    """A crash, or too much memory: nobody told the program, and nobody else knows of it."""
    file = tmp_path / "program"
    asked = Perform(
        id=0,
        method="leave",
        setup={},
        arguments={"file": str(file)},
        tenant="acme",
        call_id="call_1",
        max_output_bytes=1000,
    )
    with pytest.raises(HostLost):
        await process.perform(asked, lambda: None, asyncio.Event())
    assert file.exists()
    await until(lambda: program_of(file) is None, within_s=3)


async def test_a_program_ends_with_the_service(site: Path) -> None:
    """A service that is killed tells nobody anything."""
    file = site / "program"
    command, env = (sys.executable, "-c", SERVICE, str(file)), {"PYTHONPATH": ":".join(sys.path)}
    service = await asyncio.create_subprocess_exec(*command, env=env)
    try:
        await until(lambda: program_of(file) is not None, within_s=30)
    finally:
        service.kill()
        await service.wait()
    await until(lambda: program_of(file) is None, within_s=3)

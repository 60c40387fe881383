"""A package that offers providers which misbehave, where this process and those it starts find it."""

import asyncio
import shutil
import sys
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from toolbus_integrations.host.messages import Ended, Gave, Perform
from toolbus_integrations.hosting.hosts import Hosts
from toolbus_integrations.hosting.process import HostProcess

MISBEHAVING = "misbehaving"
HERE = Path(__file__).parent
OFFERS = {
    "misbehaving": "misbehaving:misbehaving",
    "keyed": "misbehaving:keyed",
    "second": "misbehaving:misnamed",
    "wanting": "misbehaving:wanting",
    "unloadable": "unloadable:provider",
    "hostile": "hostile:hostile",
    "exact": "hostile:exact",
    "deadly": "deadly:provider",
}
MIB = 1024 * 1024
MEMORY_BYTES = 256 * MIB
SILENCE_S = 5.0


def put_on_shelf(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package lies in the folder, and is found there as if it were installed."""
    for module in ("misbehaving.py", "hostile.py", "deadly.py"):
        shutil.copy(HERE / module, folder)
    (folder / "unloadable.py").write_text("raise ImportError('half of it is missing')\n")
    information = folder / "misbehaving-1.2.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.2\n")
    lines = [f"{name} = {place}" for name, place in OFFERS.items()]
    (information / "entry_points.txt").write_text("\n".join(("[toolbus.integrations]", *lines, "")))
    monkeypatch.syspath_prepend(str(folder))
    assert str(folder) in sys.path


class Started:
    """Hosts as the service has them, with what their processes wrote and how many were started."""

    def __init__(
        self, *, egress_allow: str = "127.0.0.0/8", idle_s: float = 300.0, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._egress_allow = egress_allow
        self._memory_bytes = memory_bytes
        self.lines: list[str] = []
        self.starts: list[str] = []
        self.processes: list[HostProcess] = []
        self.hosts = Hosts(self._start, idle_s=idle_s)

    async def _start(self, name: str, on_line: object) -> HostProcess:
        del on_line
        self.starts.append(name)
        process = await HostProcess.start(
            name,
            egress_allow=self._egress_allow,
            memory_bytes=self._memory_bytes,
            silence_s=SILENCE_S,
            on_line=self.lines.append,
        )
        self.processes.append(process)
        return process


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

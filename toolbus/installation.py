"""The data folder of `toolbus up`: where everything lies, and who knows which password."""

import asyncio
import fcntl
import json
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from toolbus.options import UpOptions
from toolbus_contracts import subjects
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.serving import SERVED
from toolbus_dispatcher.bootstrap import create_first_key
from toolbus_runtime.bus.server import EmbeddedNats, make_credentials

TENANT = "default"
TOKEN_KEY = "token_key"  # noqa: S105 - the name of one: of the approvals service, kept beside the passwords
FORMER_KEY = "secrets_key"  # of an installation that was made before master keys had a file of their own
MASTER_KEYS = "master.keys"
LOOK_S = 0.05


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """
    Hold the folder, made where it is missing: two `toolbus up` on one would take each other's NATS server away.

    The system lets go of it when the process ends, however it ends.

    Raises:
        Unavailable: another process holds it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Unavailable(f"another one runs on {folder}; stop it, or choose another folder with --data") from error
        yield
    finally:
        os.close(descriptor)


@dataclass
class Installation:
    """
    One installation on this machine. `is_new` when this start made its first key.

    `beside_ports`: where services listen that are served behind the dispatcher's port from processes of their own.
    """

    folder: Path
    http_port: int
    nats_port: int
    nats_url: str
    database_url: str
    passwords: dict[str, str]
    egress_allow: str = ""
    beside_ports: dict[str, int] = field(default_factory=dict)
    credentials: dict[str, str] = field(default_factory=dict)
    is_new: bool = False

    @classmethod
    def open(cls, options: UpOptions, http_port: int) -> "Installation":
        """Open the folder, which is held."""
        folder = options.data.resolve()
        passwords = _read(folder / "services.json") or {}
        wanted = {**make_credentials([TENANT]), TOKEN_KEY: secrets.token_urlsafe(32)}
        if wanted.keys() - passwords.keys():
            passwords = {**wanted, **passwords}
            _write_private(folder / "services.json", json.dumps(passwords, indent=2))
        make_master_key(folder, passwords.get(FORMER_KEY, ""))
        return cls(
            folder=folder,
            http_port=http_port,
            nats_port=options.nats_port,
            nats_url=options.nats or f"nats://127.0.0.1:{options.nats_port}",
            database_url=options.database or f"sqlite:///{folder / 'toolbus.db'}",
            passwords=passwords,
            egress_allow=options.allow_egress,
            beside_ports={name: _free_port() for name in SERVED} if options.processes else {},
            credentials=_read(folder / "credentials.json") or {},
        )

    @property
    def credentials_path(self) -> Path:
        """Where clients find URL, key and NATS user."""
        return self.folder / "credentials.json"

    def nats(self) -> EmbeddedNats:
        """The embedded NATS server of this installation."""
        folder = self.folder / "nats"
        folder.mkdir(mode=0o700, exist_ok=True)
        return EmbeddedNats(folder, self.passwords, subjects.users([TENANT]), port=self.nats_port)

    async def write_credentials(self) -> None:
        """Leave what a client needs, with a first key when there is none yet."""
        api_key = self.credentials.get("api_key")
        if api_key is None:
            api_key = await create_first_key(self.database_url, TENANT)
            self.is_new = True
        client = subjects.client(TENANT)
        self.credentials = {
            "url": f"http://127.0.0.1:{self.http_port}",
            "api_key": api_key,
            "nats_url": self.nats_url,
            "nats_user": client.name,
            "nats_password": self.passwords[client.name],
            "nats_inbox_prefix": client.inbox_prefix,
            "tenant": TENANT,
        }
        _write_private(self.credentials_path, json.dumps(self.credentials, indent=2))

    def settings(self, service: str) -> dict[str, Any]:
        """The settings of a service as keyword arguments."""
        found: dict[str, Any] = {
            "nats_url": self.nats_url,
            "nats_user": service,
            "nats_password": self.passwords[service],
        }
        if service == "dispatcher":
            found |= {"database_url": self.database_url, "http_port": self.http_port}
            found |= {f"{name}_url": f"http://127.0.0.1:{port}" for name, port in self.beside_ports.items()}
        if service in SERVED:
            found |= {"database_url": self.database_url, "http_port": self.beside_ports.get(service, 0)}
        if service == "approvals":
            found |= {TOKEN_KEY: self.passwords[TOKEN_KEY]} if TOKEN_KEY in self.passwords else {}
        if service != "dispatcher":
            found |= {"secrets_key_file": self.folder / MASTER_KEYS}
        if service != "dispatcher" and self.egress_allow:
            found |= {"egress_allow": self.egress_allow}
        return found

    def environment(self, service: str) -> dict[str, str]:
        """The settings of a service as environment variables."""
        return {f"TOOLBUS_{name.upper()}": str(value) for name, value in self.settings(service).items()}

    async def until_ready(self, stop: asyncio.Event) -> bool:
        """Wait until every check of the dispatcher is fine; false when `stop` came first."""
        async with httpx.AsyncClient(base_url=self.credentials["url"], trust_env=False) as client:
            while not stop.is_set():
                try:
                    if (await client.get("/readyz")).status_code == httpx.codes.OK:
                        return True
                except httpx.TransportError:
                    pass
                await asyncio.sleep(LOOK_S)
        return False


def make_master_key(folder: Path, former: str = "") -> None:
    """The folder has a file of master keys; a new one holds the former key, or one that is made."""
    if not (folder / MASTER_KEYS).exists():
        _write_private(folder / MASTER_KEYS, f"{former or secrets.token_urlsafe(32)}\n")


def _free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _read(path: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return found


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, all of it or nothing."""
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)

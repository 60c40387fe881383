"""Toolbus as it runs for the bench: `toolbus up --processes` in a folder of its own."""

import json
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nats
import psutil
from nats.aio.client import Client

from bench.failures import BenchError
from bench.http_client import HttpClient
from bench.postgres import Postgres
from bench.processes import Child, Crew, NotReady, accepts, free_port, until

READY_WITHIN_S = 60.0
HTTP_OK = 200
COUNT_ENDS = "SELECT count(*) FROM events WHERE kind = 'call.succeeded.v1'"


@dataclass
class Installation:
    """A running installation, as its `credentials.json` tells of it; `ready_s` is how long it took to be ready."""

    child: Child
    folder: Path
    postgres: Postgres | None
    credentials: dict[str, str]
    ready_s: float

    @classmethod
    async def start(cls, crew: Crew, postgres: Postgres | None) -> "Installation":
        """
        Start it on free ports and wait until it is ready.

        Raises:
            NotReady: it ended, or was not ready in time.
        """
        folder = crew.folder / "installation"
        command = [
            *(sys.executable, "-m", "toolbus", "up", "--processes", "--data", str(folder)),
            *("--port", str(free_port()), "--nats-port", str(free_port()), "--allow-egress", "127.0.0.0/8"),
            *(("--database", postgres.url) if postgres is not None else ()),
        ]
        began = time.perf_counter()
        child = crew.start("toolbus-up", command)
        written = folder / "credentials.json"

        async def ready() -> bool:
            if child.process.poll() is not None:
                raise NotReady(f"toolbus up ended with {child.process.returncode}: {child.tail()}")
            return written.is_file() and await _is_ready(_read(written))

        await until(ready, "toolbus up", within_s=READY_WITHIN_S)
        return cls(child, folder, postgres, _read(written), time.perf_counter() - began)

    @property
    def tenant(self) -> str:
        """The tenant that the credentials belong to."""
        return self.credentials["tenant"]

    @property
    def port(self) -> int:
        """Where HTTP is served."""
        return _port(self.credentials)

    def roots(self) -> dict[str, int]:
        """Every process of it by its role."""
        found = {"toolbus up": self.child.process.pid}
        for process in psutil.Process(self.child.process.pid).children():
            words = process.cmdline()
            found[words[words.index("serve") + 1] if "serve" in words else process.name()] = process.pid
        if self.postgres is not None:
            found["postgres"] = self.postgres.pid
        return found

    async def http(self) -> HttpClient:
        """A connection with the API key."""
        return await HttpClient.connect(self.port, {"authorization": f"Bearer {self.credentials['api_key']}"})

    async def bus(self) -> Client:
        """A connection to the bus as the tenant's client."""
        told = self.credentials
        return await nats.connect(
            told["nats_url"],
            user=told["nats_user"],
            password=told["nats_password"],
            inbox_prefix=told["nats_inbox_prefix"].encode(),
        )

    async def recorded_ends(self) -> int:
        """How many calls the event store has as succeeded."""
        if self.postgres is not None:
            return int(str(await self.postgres.value(COUNT_ENDS)))
        (database,) = self.folder.glob("*.db")
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return int(connection.execute(COUNT_ENDS).fetchone()[0])
        finally:
            connection.close()

    async def define(self, definition: dict[str, Any]) -> None:
        """
        Define a tool.

        Raises:
            BenchError: it was refused.
        """
        client = await self.http()
        body = json.dumps(definition).encode()
        answer = await client.send("PUT", f"/v1/tools/{definition['name']}", body)
        client.close()
        if answer.status not in {200, 201}:
            raise BenchError(f"the tool was refused with {answer.status}: {answer.body.decode()}")


def _read(path: Path) -> dict[str, str]:
    told: dict[str, str] = json.loads(path.read_text() or "{}")
    return told


def _port(credentials: dict[str, str]) -> int:
    port = urlsplit(credentials["url"]).port
    assert port is not None
    return port


async def _is_ready(credentials: dict[str, str]) -> bool:
    if not credentials or not await accepts(_port(credentials)):
        return False
    client = await HttpClient.connect(_port(credentials))
    try:
        return (await client.get("/readyz")).status == HTTP_OK
    except ConnectionError:
        return False
    finally:
        client.close()

"""A whole installation for one test: real services as processes, a real bus, a real database, and a target."""

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import httpx

from tests.e2e.ledger import Ledger
from tests.e2e.nursery import Nursery
from tests.e2e.target import Target
from tests.nats_fixtures import until
from tests.ports import free_port
from toolbus.installation import TOKEN_KEY, Installation, make_master_key
from toolbus_contracts.serving import SERVED
from toolbus_contracts.subjects import BusUser, Permissions, client, users
from toolbus_dispatcher.bootstrap import create_first_key
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server import EmbeddedNats, make_credentials
from toolbus_runtime.bus.streams import declare

TENANTS = ("default", "second")
ROOT = "root"  # a user that no installation has: it may do everything, to break things with
READY_S = 40.0
CALM = httpx.Timeout(20.0)


class Process:
    """A service of this test, with a folder of its own: killed, stopped and started again by its own pid."""

    def __init__(self, nursery: Nursery, service: str, environment: Mapping[str, str], folder: Path) -> None:
        self._nursery = nursery
        self._service = service
        self._environment = environment
        self.folder = folder
        self.log = folder.with_suffix(".log")
        self.pid = 0

    @property
    def is_running(self) -> bool:
        """Whether it lives."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def start(self) -> None:
        """The process begins; what it says goes to its log."""
        self.folder.mkdir(exist_ok=True)
        self.pid = self._nursery.serve(self._service, self._environment, self.log, self.folder)

    def signal(self, number: signal.Signals) -> None:
        """The process has this signal, if it lives."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def kill(self) -> None:
        """Gone, without a chance to tidy up."""
        self.signal(signal.SIGKILL)
        await until(lambda: not self.is_running)

    async def terminate(self) -> None:
        """It was asked to stop and did."""
        self.signal(signal.SIGTERM)
        await until(lambda: not self.is_running, within_s=30.0)


class World:
    """
    One installation: NATS, a database, services by name, a target, HTTP with a key, and the log.

    A service's name is that of `toolbus serve`, with digits behind it for replicas (`dispatcher2`). The dispatchers
    serve the paths of `approvals` and `integrations` as well, when these are started before them.
    """

    def __init__(self, nursery: Nursery, folder: Path, *, database_url: str, target: Target) -> None:
        root = BusUser(ROOT, Permissions((">",), (">",)))
        keys = {TOKEN_KEY: "the token key of a test, thirty-two letters"}
        self.passwords = {**make_credentials(TENANTS), **keys, ROOT: "for tests alone"}
        self.nats = EmbeddedNats(folder / "nats", self.passwords, (*users(TENANTS), root), port=free_port())
        self.nursery = nursery
        self.folder = folder
        self.database_url = database_url
        self.target = target
        self.ledger = Ledger(database_url)
        self.services: dict[str, Process] = {}
        self.ports: dict[str, int] = {}
        self.keys: dict[str, str] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for tenant in TENANTS:
            self.keys[tenant] = await create_first_key(self.database_url, tenant)
        await self.nats.start()
        self._stack.push_async_callback(self.nats.kill)
        self._stack.push_async_callback(self.ledger.store.close)
        operator = await self.bus("operator")
        await declare(operator)
        self.http = await self.client()
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self.services.values():
            process.signal(signal.SIGCONT)
            await process.kill()
        await self._stack.aclose()

    @property
    def port(self) -> int:
        """Where the first dispatcher listens."""
        return self.ports.setdefault("dispatcher", free_port())

    async def client(self, tenant: str = "default", service: str = "dispatcher") -> httpx.AsyncClient:
        """HTTP with a tenant's key, closed at the end."""
        port = self.ports.setdefault(service, free_port())
        headers = {"Authorization": f"Bearer {self.keys[tenant]}"}
        made = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=CALM, trust_env=False)
        return await self.kept(made)

    async def kept(self, http: httpx.AsyncClient) -> httpx.AsyncClient:
        """A client of this test, closed at the end."""
        return await self._stack.enter_async_context(http)

    async def bus(self, user: str) -> Bus:
        """A connection to the bus as this user, closed at the end."""
        bus = Bus(self.nats.url, user=user, password=self.passwords[user])
        await bus.connect()
        self._stack.push_async_callback(bus.close)
        return bus

    async def client_bus(self, tenant: str = "default") -> Bus:
        """The connection of a tenant's programs."""
        return await self.bus(client(tenant).name)

    def start(self, name: str, **settings: object) -> Process:
        """The service's process begins (again), with these settings besides."""
        if name not in self.services:
            service = name.rstrip("0123456789")
            port = self.ports.setdefault(name, free_port())
            make_master_key(self.folder)
            installation = Installation(
                folder=self.folder,
                http_port=port,
                beside_ports={
                    known: found for known, found in {**self.ports, service: port}.items() if known in SERVED
                },
                nats_port=self.nats.port,
                nats_url=self.nats.url,
                database_url=self.database_url,
                passwords=self.passwords,
                egress_allow="127.0.0.0/8",
            )
            environment = installation.environment(service)
            environment |= {f"TOOLBUS_{key.upper()}": str(value) for key, value in settings.items()}
            self.services[name] = Process(self.nursery, service, environment, self.folder / name)
        self.services[name].start()
        return self.services[name]

    async def restart(self, name: str) -> None:
        """Kill -9 the service and start it again; not waited for."""
        await self.services[name].kill()
        self.services[name].start()

    async def until_ready(self, name: str = "dispatcher", *, within_s: float = READY_S) -> None:
        """Wait until the dispatcher says that it is ready."""
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.ports[name]}", trust_env=False) as http:

            async def is_ready() -> bool:
                return await readiness(http) == httpx.codes.OK

            await until(is_ready, within_s=within_s)

    async def define(
        self,
        name: str,
        method: str = "GET",
        path: str = "/items/{name}",
        *,
        through: str = "dispatcher",
        **more: object,
    ) -> None:
        """The tool is there for both tenants; arguments without `name` are refused by its schema."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        section = {"method": method, "url": self.target.url + path, "params_schema": schema}
        for tenant in TENANTS:
            http = await self.client(tenant, through)
            answer = await http.put(f"/v1/tools/{name}", json={"name": name, "api_call": section, **more})
            assert answer.is_success, answer.text

    async def submit(self, tool: str, name: str, **options: object) -> dict[str, Any]:
        """The call as the answer to its submission shows it; it was accepted."""
        answer = await self.http.post("/v1/calls", json={"tool": tool, "arguments": {"name": name}, **options})
        assert answer.status_code in {200, 202}, answer.text
        call: dict[str, Any] = answer.json()
        return call

    async def call(self, call_id: str) -> dict[str, Any]:
        """The call as it stands."""
        answer = await self.http.get(f"/v1/calls/{call_id}")
        assert answer.status_code == httpx.codes.OK, answer.text
        call: dict[str, Any] = answer.json()
        return call


async def readiness(http: httpx.AsyncClient) -> int:
    """The status of `/readyz`; 0 when nobody answers."""
    try:
        return (await http.get("/readyz")).status_code
    except httpx.TransportError:
        return 0


@asynccontextmanager
async def world(nursery: Nursery, folder: Path, database_url: str, *services: str) -> AsyncIterator[World]:
    """An installation with these services started and ready, and a tool `look` (GET) and `act` (POST) defined."""
    async with Target() as target, World(nursery, folder, database_url=database_url, target=target) as made:
        for name in services or ("dispatcher", "api_caller"):
            made.start(name)
        await made.until_ready()
        await made.define("look")
        await made.define("act", "POST")
        yield made

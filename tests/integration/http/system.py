"""The whole path in one process: NATS, a database, all services behind one port, and targets that misbehave."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import orjson
from pydantic import SecretStr

from tests.integration.http.target import Target
from toolbus.installation import TOKEN_KEY
from toolbus_api_caller.app import ApiCaller
from toolbus_api_caller.settings import ApiCallerSettings
from toolbus_approvals.app import Approvals
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_contracts.serving import APPROVALS, INTEGRATIONS
from toolbus_contracts.subjects import BusUser, Permissions, client, users
from toolbus_dispatcher.app import Dispatcher
from toolbus_dispatcher.bootstrap import create_first_key
from toolbus_dispatcher.settings import DispatcherSettings
from toolbus_integrations.app import Integrations
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server import EmbeddedNats, make_credentials
from toolbus_runtime.bus.streams import declare
from toolbus_runtime.http.server import listen

TENANTS = ("acme", "other")
ROOT = "root"  # a user that no installation has: it reads every stream
MASTER_KEY = SecretStr(f"k1 {'k' * 44}")
GRACE_S = 20.0
Result = TypeVar("Result")
Tool = dict[str, Any]


class System:
    """Everything on one event loop in a thread of its own, so that tests speak to it as strangers do."""

    def __init__(self, folder: Path, database_url: str, *, has_executor: bool = True) -> None:
        self._has_executor = has_executor
        self._folder = folder
        self._database_url = database_url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="system")
        self._stop = asyncio.Event()
        self._services: list[asyncio.Task[None]] = []
        self._clients: list[httpx.Client] = []
        self.target = Target()
        self.url = ""
        self.port = 0
        self.tokens: dict[str, str] = {}
        self.passwords = {**make_credentials(TENANTS), ROOT: "for tests alone"}

    def start(self) -> None:
        """Everything is ready on return."""
        self._thread.start()
        self.run(self._start())
        ready = self.client(None)
        until(lambda: is_ready(ready))

    def stop(self) -> None:
        """Everything has ended on return."""
        for opened in self._clients:
            opened.close()
        try:
            self.run(self._end())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(GRACE_S)
            self._loop.close()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run something on the loop of the system and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def client(self, token: str | None) -> httpx.Client:
        """An HTTP client with this token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        opened = httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30)
        self._clients.append(opened)
        return opened

    async def _start(self) -> None:
        root = BusUser(ROOT, Permissions((">",), (">",)))
        self.nats = EmbeddedNats(self._folder / "nats", self.passwords, (*users(TENANTS), root))
        await self.nats.start()
        operator = await self.connect("operator")
        await declare(operator)
        await operator.close()
        self.tokens = {tenant: await create_first_key(self._database_url, tenant) for tenant in TENANTS}
        await self.target.start()
        bound = listen("127.0.0.1", 0)
        self.port = bound.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        settings = DispatcherSettings(database_url=self._database_url, **self._nats("dispatcher"))
        self.dispatcher = Dispatcher(settings)
        self.approvals = Approvals(self._approvals_settings())
        self.integrations = Integrations(self._integrations_settings())
        beside = {APPROVALS: self.approvals.beside(), INTEGRATIONS: self.integrations.beside()}
        self._services = [
            self._loop.create_task(self.dispatcher.run(self._stop, bound, beside)),
            self._loop.create_task(self.approvals.run(self._stop, is_served=False)),
            self._loop.create_task(self.integrations.run(self._stop, is_served=False)),
        ]
        if self._has_executor:
            found = ApiCallerSettings(egress_allow="127.0.0.0/8", secrets_key=MASTER_KEY, **self._nats("api_caller"))
            executor = ApiCaller(found)
            self._services.append(self._loop.create_task(executor.run(self._stop)))

    def _approvals_settings(self) -> ApprovalsSettings:
        keys: dict[str, Any] = {TOKEN_KEY: "token_key of a test, thirty-two letters", "secrets_key": MASTER_KEY}
        return ApprovalsSettings(database_url=self._database_url, **keys, **self._nats("approvals"))

    def _integrations_settings(self) -> IntegrationsSettings:
        found = self._nats("integrations")
        return IntegrationsSettings(
            database_url=self._database_url, egress_allow="127.0.0.0/8", secrets_key=MASTER_KEY, **found
        )

    def _nats(self, user: str) -> dict[str, Any]:
        return {
            "nats_url": self.nats.url,
            "nats_user": user,
            "nats_password": self.passwords[user],
            "shutdown_grace_s": 2.0,
        }

    async def _end(self) -> None:
        self._stop.set()
        await asyncio.wait_for(asyncio.gather(*self._services), GRACE_S)
        await self.target.stop()
        await self.nats.stop()

    async def connect(self, user: str) -> Bus:
        """A connection of one of the NATS users; whoever opens it closes it."""
        bus = Bus(self.nats.url, user=user, password=self.passwords[user])
        await bus.connect()
        return bus

    def ask(self, verb: str, data: bytes, headers: Mapping[str, str] | None = None, tenant: str = "acme") -> Any:
        """Ask on the bus as the tenant's client; the answer."""

        async def asked() -> Any:
            bus = await self.connect(client(tenant).name)
            try:
                reply = await bus.request(f"toolbus.ask.{tenant}.{verb}", data, timeout_s=10, headers=headers)
            finally:
                await bus.close()
            return orjson.loads(reply.data)

        return self.run(asked())

    def publish(self, verb: str, data: bytes, headers: Mapping[str, str] | None = None, tenant: str = "acme") -> int:
        """Publish a command as the tenant's client; its sequence in COMMANDS."""

        async def published() -> int:
            bus = await self.connect(client(tenant).name)
            try:
                return (await bus.publish(f"toolbus.cmd.{tenant}.call.{verb}", data, headers)).sequence
            finally:
                await bus.close()

        return self.run(published())

    def last(self, stream: str, subject: str) -> Any:
        """The last message of a stream on a subject; none when there is none."""

        async def read() -> Any:
            bus = await self.connect(ROOT)
            try:
                return await bus.last_message(stream, subject)
            finally:
                await bus.close()

        return self.run(read())


def until(condition: Callable[[], object], *, within_s: float = 20.0) -> Any:
    """Wait until the condition holds and give what it found; fail after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    wake = threading.Event()
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not come true in time"
        wake.wait(0.02)


def is_ready(http: httpx.Client) -> bool:
    """Whether the system says so; it may not listen yet."""
    try:
        return http.get("/readyz").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def fresh(prefix: str) -> str:
    """A name that no other test uses."""
    return f"{prefix}_{uuid4().hex[:12]}"


def tool(url: str, method: str = "POST", **more: Any) -> Tool:
    """A tool definition that calls this url."""
    section = more.pop("section", {})
    return {"name": fresh("tool"), "api_call": {"method": method, "url": url, **section}, **more}


def define(http: httpx.Client, definition: Tool, **query: str) -> str:
    """Define a tool and give its name."""
    answer = http.put(f"/v1/tools/{definition['name']}", json=definition, params=query)
    assert answer.status_code in {200, 201}, answer.text
    return str(definition["name"])


def call(http: httpx.Client, name: Any, arguments: Any = None, *, wait_s: float = 20, **more: Any) -> dict[str, Any]:
    """Submit a call and give it as it is after `wait_s` seconds."""
    body = {"tool": name, "arguments": arguments or {}, **more}
    answer = http.post("/v1/calls", json=body, params={"wait_s": wait_s})
    assert answer.status_code in {200, 202}, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def problem_of(answer: httpx.Response, status: int, code: str, *paths: str) -> dict[str, Any]:
    """Check that an answer is complete problem details with this status and code, naming these paths."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return complete(answer.json(), status, code, *paths)


def complete(told: dict[str, Any], status: int, code: str, *paths: str) -> dict[str, Any]:
    """Check that these problem details say all that is promised."""
    assert told["code"] == code, told
    assert told["status"] == status, told
    assert told["title"], told
    assert told["next_step"], told
    assert told["type"] == f"urn:toolbus:problem:{code}"
    assert len(told["detail"]) <= 1100
    named = [one["path"] for one in told.get("errors", ())]
    if status == 422:
        assert named, told
    assert all(path == "" or path.startswith("/") for path in named), told
    assert set(paths) <= set(named), told
    return told

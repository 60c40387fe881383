"""The webhooks of the approvals service on a real database, a clock that may be moved, and receivers that answer."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from aiohttp import web
from pydantic import BaseModel

from tests.nats_fixtures import until
from tests.unit.runtime.things import background
from toolbus_approvals.adapters.deliveries import Deliveries
from toolbus_approvals.adapters.signing_secrets import SigningSecrets
from toolbus_approvals.adapters.vault import Vault
from toolbus_approvals.adapters.webhook_client import WebhookClient
from toolbus_approvals.aggregates import AGGREGATES
from toolbus_approvals.heeding import Heeding
from toolbus_approvals.outgoing import Outgoing
from toolbus_approvals.posting import Poster
from toolbus_approvals.webhooks import Webhooks
from toolbus_contracts.catalogue import event_reader
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import FunctionWebhook
from toolbus_contracts.waits import CompleteCall, Spoken, WaitOpened
from toolbus_contracts.webhooks import DeliveryView, PutWebhook
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.deciding import Command
from toolbus_runtime.egress import EgressGuard
from toolbus_runtime.leader import Leadership
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.selective_feed import SelectiveFeed
from toolbus_runtime.store.database import make_engine, open_store

GOLDEN = Path(__file__).parents[2] / "contract" / "golden"
TOKEN_KEY = b"t" * 32
ADMIN = Actor(subject="user:ana", via="http")
TENANT = "acme"
NUMBERS = itertools.count(1)


def statuses(log: list[DeliveryView]) -> list[str]:
    """Where each delivery stands."""
    return [view.status for view in log]


class Moved(Calendar):
    """A calendar that a test sets ahead."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta()

    def now(self) -> datetime:
        """The time of day, so much later."""
        return super().now() + self.ahead


@dataclass
class Seen:
    """A message as it came."""

    headers: dict[str, str]
    body: bytes


Answering = Callable[[Seen], web.Response]


@dataclass
class Receiver:
    """Receives messages and answers as told; `held` lets no answer go."""

    answering: Answering = field(default=lambda _: web.Response(status=204))
    seen: list[Seen] = field(default_factory=list)
    held: asyncio.Event | None = None
    port: int = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hooks"

    async def receive(self, request: web.Request) -> web.Response:
        """Keep a message and answer."""
        self.seen.append(Seen(dict(request.headers), await request.read()))
        if self.held is not None:
            await self.held.wait()
        return self.answering(self.seen[-1])


@asynccontextmanager
async def receiving(answering: Answering | None = None) -> AsyncIterator[Receiver]:
    """A receiver on a free port of its own."""
    receiver = Receiver() if answering is None else Receiver(answering)
    app = web.Application(client_max_size=4 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", receiver.receive)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        if receiver.held is not None:
            receiver.held.set()
        await runner.cleanup()


class Rig:
    """The parts of the service that have to do with webhooks."""

    def __init__(self, database_url: str, *, timeout_s: float = 5.0, allowed: str = "127.0.0.0/8") -> None:
        self.store = open_store(database_url)
        self.engine = make_engine(database_url)
        self.heeding = Heeding()
        self.feed = SelectiveFeed(self.store, self.heeding.wanted)
        self.calendar = Moved()
        self.batcher = Batcher(self.store, AGGREGATES, self.feed.offer, clock=self.calendar.now)
        guard = EgressGuard(EgressRules(parse_allowances(allowed)))
        self.client = WebhookClient(guard, timeout_s=timeout_s)
        self.secrets = SigningSecrets(self.engine, Vault(KeyRing("k" * 32)))
        self.webhooks = Webhooks(self.batcher, self.store, self.secrets, examine=self.client.examine)
        self.deliveries = Deliveries(self.engine)
        self.completed: list[tuple[str, str, CompleteCall, Spoken]] = []
        self.refusal: Exception | None = None
        self.leadership = Leadership(self.store, "approvals", "one")
        self.outgoing = Outgoing(
            store=self.store,
            engine=self.engine,
            feed=self.feed,
            webhooks=self.webhooks,
            deliveries=self.deliveries,
            poster=Poster(
                store=self.store,
                batcher=self.batcher,
                webhooks=self.webhooks,
                client=self.client,
                complete=self._complete,
                token_key=TOKEN_KEY,
                calendar=self.calendar,
            ),
            leadership=self.leadership,
            calendar=self.calendar,
            heeding=self.heeding,
        )

    async def _complete(self, tenant: str, call_id: str, command: CompleteCall, who: Spoken) -> object:
        if self.refusal is not None:
            raise self.refusal
        self.completed.append((tenant, call_id, command, who))
        return None

    async def put(self, name: str, url: str, *events: str, secret: str | None = None, tenant: str = TENANT) -> str:
        """Put a webhook, and give the secret that signs."""
        put = await self.webhooks.put(tenant, name, PutWebhook(url=url, events=events, secret=secret), ADMIN)
        return put.secret or secret or ""

    async def happen(self, kind: str, *, tenant: str = TENANT, **changes: object) -> str:
        """Something happens, as a golden file tells it; gives the id of its stream."""
        found = event_reader(kind).validate_json((GOLDEN / f"{kind}.json").read_bytes())
        return await self.say(found.model_copy(update=changes), tenant=tenant)

    async def say(self, event: BaseModel, *, tenant: str = TENANT, subject_id: str | None = None) -> str:
        """An event is stored in a stream of its own, or in this one."""
        number = next(NUMBERS)
        of = subject_id or f"one{number}"
        category: str = event.kind.partition(".")[0]  # type: ignore[attr-defined]
        command = Command(tenant, category, of, f"cause {number}", ADMIN, lambda _, __: (event,))
        await self.batcher.submit(command)
        return of

    async def wait_for_function(self, url: str, name: str = "crm", **changes: object) -> str:
        """A call stands still for a client's function; gives the id of its wait."""
        wait_id = f"wait_{next(NUMBERS):032x}"
        opened = event_reader("wait.opened.v1").validate_json((GOLDEN / "wait.opened.v1.json").read_bytes())
        assert isinstance(opened, WaitOpened)
        given = {"wait_id": wait_id, "call_id": f"call_of_{wait_id}", "wait_kind": "function", **changes}
        webhook = FunctionWebhook(url=url, secret=f"secret://{name}")
        await self.say(opened.model_copy(update={"webhook": webhook, **given}), subject_id=wait_id)
        return wait_id

    async def log(self, name: str = "crm", tenant: str = TENANT) -> list[DeliveryView]:
        """The deliveries of a webhook, the oldest first."""
        found = await self.deliveries.listed(tenant, name, status=None, before=None, limit=500)
        return [view for view, _ in reversed(found)]

    async def until(self, condition: Callable[[list[DeliveryView]], object], name: str = "crm") -> list[DeliveryView]:
        """Wait until the deliveries of a webhook are so."""
        log: list[DeliveryView] = []

        async def holds() -> bool:
            log[:] = await self.log(name)
            return bool(condition(log))

        await until(holds)
        return log

    def pass_time(self, **duration: float) -> None:
        """It is so much later now."""
        self.calendar.ahead += timedelta(**duration)
        self.outgoing.wake()

    def pass_until(self, moment: datetime | None) -> None:
        """It is this moment now, unless it is later already."""
        assert moment is not None
        self.pass_time(seconds=max(0.0, (moment - self.calendar.now()).total_seconds()))


@asynccontextmanager
async def rigged(database_url: str, *, timeout_s: float = 5.0, allowed: str = "127.0.0.0/8") -> AsyncIterator[Rig]:
    """A rig at work."""
    rig = Rig(database_url, timeout_s=timeout_s, allowed=allowed)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(rig.engine.dispose)
        stack.push_async_callback(rig.store.close)
        stack.push_async_callback(rig.client.aclose)
        await stack.enter_async_context(background(rig.feed.run()))
        await stack.enter_async_context(background(rig.batcher.run()))
        await stack.enter_async_context(background(rig.leadership.run(rig.outgoing.run)))
        yield rig

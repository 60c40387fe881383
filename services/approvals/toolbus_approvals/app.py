"""Composition root of the approvals service: the only place that builds its parts."""

import asyncio
import secrets
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from uuid import uuid4

import structlog
from fastapi import FastAPI

from toolbus_approvals.adapters.deliveries import Deliveries
from toolbus_approvals.adapters.leases import Leases
from toolbus_approvals.adapters.queries import Queries
from toolbus_approvals.adapters.sign_outs import SignOuts
from toolbus_approvals.adapters.signing_secrets import SigningSecrets
from toolbus_approvals.adapters.vault import Vault
from toolbus_approvals.adapters.webhook_client import WebhookClient
from toolbus_approvals.aggregates import AGGREGATES
from toolbus_approvals.completing import Completing
from toolbus_approvals.desk import Desk
from toolbus_approvals.handlers import Handlers
from toolbus_approvals.heeding import Heeding
from toolbus_approvals.http.application import make_application
from toolbus_approvals.http.services import Services
from toolbus_approvals.inbox.wiring import add_inbox
from toolbus_approvals.keeping import Keeper
from toolbus_approvals.leading import Leader
from toolbus_approvals.leasing import Leasing
from toolbus_approvals.outgoing import Outgoing
from toolbus_approvals.posting import Poster
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_approvals.webhooks import Webhooks
from toolbus_contracts import subjects
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime import waking
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.egress import EgressGuard
from toolbus_runtime.health import Probe
from toolbus_runtime.http.front import Here
from toolbus_runtime.http.server import listen, serve
from toolbus_runtime.leader import Leadership
from toolbus_runtime.parts import Parts, insist
from toolbus_runtime.readiness import shared_probes
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.selective_feed import SelectiveFeed
from toolbus_runtime.store.database import make_engine, open_store
from toolbus_runtime.tidying import Tidying
from toolbus_runtime.watching import CallWatch

log = structlog.get_logger(__name__)
SERVICE = "approvals"


class Approvals:
    """One process of the approvals service: built from settings, run until told to stop."""

    def __init__(self, settings: ApprovalsSettings) -> None:
        self.settings = settings
        self.owner = uuid4().hex
        self.store = open_store(settings.database_url)
        self.engine = make_engine(settings.database_url)
        self.bus = _bus(settings, f"{SERVICE}-{self.owner[:8]}")
        self.heeding = Heeding()
        self.feed = SelectiveFeed(self.store, self.heeding.wanted)
        self.calendar = Calendar()
        self.batcher = Batcher(
            self.store, AGGREGATES, self._on_commit, cache_size=settings.waits_cached, clock=self.calendar.now
        )
        self.queries = Queries(self.engine)
        self.handlers = Handlers(self.bus, self.feed)
        self.desk = Desk(self.batcher, self.queries, check_arguments=self.handlers.check_arguments, payloads=self.store)
        self.leadership = Leadership(self.store, SERVICE, self.owner)
        self.client = WebhookClient(EgressGuard(EgressRules(parse_allowances(settings.egress_allow))))
        secrets_of = SigningSecrets(self.engine, Vault(KeyRing.of(settings)))
        self.webhooks = Webhooks(self.batcher, self.store, secrets_of, examine=self.client.examine)
        self.deliveries = Deliveries(self.engine)
        self.outgoing = self._outgoing()
        self.leader = Leader(
            self.store,
            self.engine,
            self.feed,
            self.queries,
            Keeper(self.batcher),
            self.leadership,
            self.calendar,
            self.outgoing,
            self.heeding,
        )
        self.watch = CallWatch(self.batcher, self.feed)
        self.heeding.is_waited = self.watch.is_waited
        self.completing = self._completing()
        self._app: FastAPI | None = None
        self._wakes: set[asyncio.Task[None]] = set()

    def probes(self) -> dict[str, Probe]:
        """What it needs to be ready, each check by its name."""
        return shared_probes(self.bus, self.store, self.settings.database_url)

    def application(self) -> FastAPI:
        """Its HTTP application, made once."""
        if self._app is None:
            services = Services(
                desk=self.desk,
                leasing=self._leasing(),
                completing=self.completing,
                webhooks=self.webhooks,
                deliveries=self.deliveries,
                outgoing=self.outgoing,
                batcher=self.batcher,
                queries=self.queries,
                feed=self.feed,
                store=self.store,
                settings=self.settings,
            )
            self._app = make_application(services, self.probes())
            key = self._token_key() or secrets.token_bytes(32)  # without a key sessions end with the process
            add_inbox(self._app, services, key=key, sign_outs=SignOuts(self.engine), settle=self.handlers.settle)
        return self._app

    def _outgoing(self) -> Outgoing:
        poster = Poster(
            store=self.store,
            batcher=self.batcher,
            webhooks=self.webhooks,
            client=self.client,
            complete=self.desk.complete,
            token_key=self._token_key(),
            calendar=self.calendar,
        )
        return Outgoing(
            store=self.store,
            engine=self.engine,
            feed=self.feed,
            webhooks=self.webhooks,
            deliveries=self.deliveries,
            poster=poster,
            leadership=self.leadership,
            calendar=self.calendar,
            heeding=self.heeding,
        )

    def _leasing(self) -> Leasing:
        leases = Leases(self.engine)
        return Leasing(leases, self.batcher.states, self.store, token_key=self._token_key(), clock=self.calendar.now)

    def _completing(self) -> Completing:
        states, clock = self.batcher.states, self.calendar.now
        return Completing(self.desk, states, self.watch, token_key=self._token_key(), clock=clock)

    def _token_key(self) -> bytes:
        return self.settings.token_key.get_secret_value().encode()

    def beside(self) -> Here:
        """What another service in the same process needs to serve it behind its own port."""
        return Here(SERVICE, self.application(), self.probes())

    async def run(self, stop: asyncio.Event, bound: socket.socket | None = None, *, is_served: bool = True) -> None:
        """
        Serve until `stop` is set, then finish what is in flight; without `is_served` another one serves it (`beside`).

        HTTP answers before the bus is there. A part that ends by itself ends the process, and its error is raised.
        """
        parts = Parts(SERVICE, stop)
        if is_served:
            bound = bound or listen(self.settings.http_host, self.settings.http_port)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close)
            parts.start(
                self.feed.run(),
                self.batcher.run(),
                self.watch.run(),
                self._lead(),
                self._on_bus(),
                Tidying(self.feed).run(),
            )
            try:
                if bound is not None:
                    await serve(self.application(), bound, stop, grace_s=self.settings.shutdown_grace_s)
                else:
                    await stop.wait()
            finally:
                await parts.end()
        parts.raise_failure()

    async def _lead(self) -> None:
        """Stand for leadership, with or without the bus: what the leader does needs the store alone."""
        await self.leadership.run(self.leader.lead)

    async def _on_bus(self) -> None:
        """Connect and hear of others' commits; waits as long as the bus is away."""
        await insist(self.bus.connect)
        await insist(self.handlers.listen)
        await insist(partial(self.handlers.serve, self.completing))
        await asyncio.Event().wait()  # without end

    def _on_commit(self, events: Sequence[StoredEvent]) -> None:
        """Hand committed events to this process's followers, and wake those of others."""
        self.feed.offer(events)
        wake = asyncio.ensure_future(self.bus.notify(subjects.WAKE, waking.written(events)))
        self._wakes.add(wake)
        wake.add_done_callback(self._wakes.discard)

    async def _close(self) -> None:
        await self.client.aclose()
        await self.bus.close()
        await self.store.close()
        await self.engine.dispose()
        log.info("approvals.stopped", owner=self.owner)


def _bus(settings: ApprovalsSettings, name: str) -> Bus:
    """The connection that these settings describe, not open yet."""
    password = settings.nats_password.get_secret_value()
    return Bus(settings.nats_url.split(","), user=settings.nats_user or SERVICE, password=password, name=name)

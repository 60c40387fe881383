"""Composition root of the integrations service: the only place that builds its parts."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from uuid import uuid4

import structlog
from fastapi import FastAPI

from toolbus_contracts import keys, subjects
from toolbus_integrations.adapters.secrets import SecretTable
from toolbus_integrations.catalogue import Catalogue
from toolbus_integrations.effect import IntegrationEffect
from toolbus_integrations.handlers import Handlers
from toolbus_integrations.hosting.hosts import Hosts
from toolbus_integrations.hosting.process import HostProcess
from toolbus_integrations.http.application import make_application
from toolbus_integrations.http.services import KEY, Services
from toolbus_integrations.mcp.parts import Mcp
from toolbus_integrations.secrets import Secrets
from toolbus_integrations.secrets_publishing import Publishing
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.deciding import Aggregate
from toolbus_runtime.executing.body_budget import BodyBudget
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.dispatcher import Dispatcher
from toolbus_runtime.executing.executor import Effect, Executor, Prepared
from toolbus_runtime.executing.runs import Runs
from toolbus_runtime.executing.service import executor_name
from toolbus_runtime.executing.stopped import Stopped
from toolbus_runtime.health import Check, Probe
from toolbus_runtime.http.front import Here
from toolbus_runtime.http.server import listen, serve
from toolbus_runtime.parts import Parts, insist
from toolbus_runtime.readiness import shared_probes
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.secrets.resolver import Resolver
from toolbus_runtime.states import States
from toolbus_runtime.store.database import make_engine, open_store

log = structlog.get_logger(__name__)
SERVICE = "integrations"
DURABLES = ("integrations", "mcp")
KEYS_KEPT = 1_000
AGGREGATES = {KEY: Aggregate(KEY, None, keys.key_events, keys.evolve_key, lambda key: key.key_id)}


class Integrations:
    """One process of the integrations service: built from settings, run until told to stop."""

    def __init__(self, settings: IntegrationsSettings) -> None:
        self.settings = settings
        self.owner = uuid4().hex
        self.store = open_store(settings.database_url)
        self.engine = make_engine(settings.database_url)
        self.bus = _bus(settings, f"{SERVICE}-{self.owner[:8]}")
        self.states = States(self.store, AGGREGATES, KEYS_KEPT)
        table = SecretTable(self.engine)
        self.publishing = Publishing(self.bus, table)
        self.secrets = Secrets(table, KeyRing.of(settings), self.publishing)
        self.hosts = Hosts(self._start_host, idle_s=settings.provider_idle_s)
        self.catalogue = Catalogue(self.hosts)
        self.clock = SystemClock()
        self.mcp = Mcp.of(settings, self.engine, self.bus, self.clock)
        self.handlers = Handlers(self.bus, self.catalogue, self.mcp.describing)
        self.runs = Runs(BodyBudget(settings.integrations_output_budget_bytes))
        self.stopped = Stopped(self.bus, self.clock, self.runs)
        integrations = IntegrationEffect(self.hosts, self.clock, is_known=self.catalogue.is_known)
        self.loops = [self._loop(DURABLES[0], integrations), self._loop(DURABLES[1], self.mcp.effect)]
        self._app: FastAPI | None = None

    def _loop(self, durable: str, effect: Effect[Prepared]) -> PullLoop:
        """What takes the work of a durable and has this effect made."""
        settings = self.settings
        patience_s = settings.integrations_patience_s
        dispatcher = Dispatcher(self.bus, self.clock, executor=executor_name(SERVICE), patience_s=patience_s)
        secrets = Resolver.of(settings, self.bus, os.environ)
        executor = Executor(
            self.bus,
            effect,
            dispatcher,
            self.clock,
            runs=self.runs,
            stopped=self.stopped,
            secrets=secrets,
            takes_room=True,
        )
        concurrency = settings.integrations_concurrency
        return PullLoop(self.bus, subjects.DURABLES[durable], executor.on_work, concurrency=concurrency)

    async def _start_host(self, name: str, on_line: Callable[[str], None]) -> HostProcess:
        settings = self.settings
        return await HostProcess.start(
            name,
            egress_allow=settings.egress_allow,
            memory_bytes=settings.provider_memory_bytes,
            silence_s=settings.provider_silence_s,
            on_line=on_line,
        )

    def probes(self) -> dict[str, Probe]:
        """What it needs to be ready, each check by its name."""

        async def consumers() -> Check:
            sick = [name for name, loop in zip(DURABLES, self.loops, strict=True) if not loop.is_healthy]
            if not sick:
                return Check("consumers", ok=True, detail=f"reading {' and '.join(DURABLES)}")
            hint = "they are made again by themselves; see the log"
            return Check("consumers", ok=False, detail=f"not reading: {', '.join(sick)}", hint=hint)

        return {**shared_probes(self.bus, self.store, self.settings.database_url), "consumers": consumers}

    def application(self) -> FastAPI:
        """Its HTTP application, made once."""
        if self._app is None:
            services = Services(
                states=self.states,
                catalogue=self.catalogue,
                secrets=self.secrets,
                mcp=self.mcp,
                settings=self.settings,
            )
            self._app = make_application(services, self.probes())
        return self._app

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
            parts.start(self._on_bus(), self.publishing.run(), self.hosts.run())
            try:
                if bound is not None:
                    await serve(self.application(), bound, stop, grace_s=self.settings.shutdown_grace_s)
                else:
                    await stop.wait()
            finally:
                await parts.end()
        parts.raise_failure()

    async def _on_bus(self) -> None:
        """Connect, answer questions and take work; waits as long as the bus is away."""
        await insist(self.bus.connect)
        await insist(self.stopped.listen)
        await insist(self.handlers.listen)
        for loop in self.loops:
            loop.start()
        try:
            await asyncio.Event().wait()  # without end
        finally:
            grace_s = self.settings.shutdown_grace_s
            await asyncio.gather(*(loop.stop(grace_s) for loop in self.loops), return_exceptions=True)

    async def _close(self) -> None:
        await self.hosts.close()
        await self.mcp.close()
        await self.bus.close()
        await self.store.close()
        await self.engine.dispose()
        log.info("integrations.stopped", owner=self.owner)


def _bus(settings: IntegrationsSettings, name: str) -> Bus:
    """The connection that these settings describe, not open yet."""
    password = settings.nats_password.get_secret_value()
    return Bus(settings.nats_url.split(","), user=settings.nats_user or SERVICE, password=password, name=name)

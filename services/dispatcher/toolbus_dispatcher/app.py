"""Composition root of the dispatcher: the only place that builds its parts."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from uuid import uuid4

import structlog
from faststream import FastStream

from toolbus_contracts import subjects
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.serving import APPROVALS, INTEGRATIONS
from toolbus_dispatcher.adapters.dead_letters import DeadLetters
from toolbus_dispatcher.adapters.queries import Queries
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.describing import Describing
from toolbus_dispatcher.handlers import Handlers, make_router
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.http.application import make_application
from toolbus_dispatcher.http.services import Services
from toolbus_dispatcher.intake import Intake
from toolbus_dispatcher.leading import Leader
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.messages import Outbox
from toolbus_dispatcher.orphans import Orphans
from toolbus_dispatcher.readiness import probes
from toolbus_dispatcher.redriving import Redriving
from toolbus_dispatcher.resources import Resources
from toolbus_dispatcher.resuming import Checking
from toolbus_dispatcher.settings import DispatcherSettings
from toolbus_dispatcher.storing import Storing
from toolbus_runtime import waking
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.feed import Feed
from toolbus_runtime.http.front import App, Beside, Front
from toolbus_runtime.http.passing import Passing
from toolbus_runtime.http.server import listen, serve
from toolbus_runtime.leader import Leadership
from toolbus_runtime.parts import Parts, insist
from toolbus_runtime.secrets.published import published_generation
from toolbus_runtime.store.database import make_engine, open_store
from toolbus_runtime.tidying import Tidying
from toolbus_runtime.watching import CallWatch

log = structlog.get_logger(__name__)


class Dispatcher:
    """One dispatcher process: built from settings, run until told to stop."""

    def __init__(self, settings: DispatcherSettings) -> None:
        self.settings = settings
        self.owner = uuid4().hex
        self.store = open_store(settings.database_url)
        self.engine = make_engine(settings.database_url)
        self.bus = _bus(settings, f"dispatcher-{self.owner[:8]}")
        self.feed = Feed(self.store)
        calendar = Calendar()
        commit, size = self._on_commit, settings.batch_size
        self.batcher = Batcher(self.store, AGGREGATES, commit, batch_size=size, clock=calendar.now)
        self.holding = Holding(
            self.engine, self.feed, slots=settings.executor_slots, tenants=settings.tenants, calendar=calendar
        )
        self.describing = Describing(self.bus)
        self.intake = self._intake()
        self.lifecycle = Lifecycle(self.batcher, self.store, self.bus)
        self.resources = Resources(self.batcher)
        self.watch = CallWatch(self.batcher, self.feed)
        self.leadership = Leadership(self.store, "dispatcher", self.owner)
        self.orphans = Orphans(self.engine, self.holding, self.batcher.states, self.store)
        self.leader = Leader(
            self.store,
            self.engine,
            self.bus,
            self.feed,
            self.batcher,
            self.intake,
            self.lifecycle,
            self.holding,
            self.watch,
            self.orphans,
            self.leadership,
        )
        checking = Checking(self.batcher, self.store)
        self.handlers = Handlers(self.bus, self.batcher, self.intake, self.lifecycle, self.holding, self.feed, checking)
        self.loops = [
            self._loop("commands", self.handlers.on_command, settings.command_concurrency),
            self._loop("outcomes", self.handlers.on_outcome, settings.outcome_concurrency),
        ]
        self._wakes: set[asyncio.Task[None]] = set()

    def _intake(self) -> Intake:
        generation = partial(published_generation, self.bus)
        return Intake(self.batcher, self.store, self.holding, describing=self.describing, generation=generation)

    def _loop(self, durable: str, handler: Callable[[Delivery], Awaitable[None]], concurrency: int) -> PullLoop:
        return PullLoop(self.bus, subjects.DURABLES[durable], handler, concurrency=concurrency)

    def _on_commit(self, events: Sequence[StoredEvent]) -> None:
        """Hand committed events to this process's followers, and wake those of others."""
        self.feed.offer(events)
        wake = asyncio.ensure_future(self.bus.notify(subjects.WAKE, waking.written(events)))
        self._wakes.add(wake)
        wake.add_done_callback(self._wakes.discard)

    async def run(
        self, stop: asyncio.Event, bound: socket.socket | None = None, beside: Mapping[str, Beside] | None = None
    ) -> None:
        """
        Serve until `stop` is set, then finish what is in flight; services `beside` are served behind the same port.

        HTTP answers before the bus is there: what is accepted meanwhile waits in the store. A part that ends
        by itself ends the process, and its error is raised: half a dispatcher would look well and do nothing.
        """
        bound = bound or listen(self.settings.http_host, self.settings.http_port)
        parts = Parts("dispatcher", stop)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close)
            app = self._behind_one_port(self._services(), beside, stack)
            parts.start(
                self.feed.run(),
                self.batcher.run(),
                self.watch.run(),
                self.holding.run(),
                self._on_bus(),
                Tidying(self.feed).run(),
            )
            try:
                await serve(app, bound, stop, grace_s=self.settings.shutdown_grace_s)
            finally:
                await parts.end()
        parts.raise_failure()

    def _services(self) -> Services:
        """The parts that HTTP speaks to."""
        return Services(
            store=self.store,
            batcher=self.batcher,
            intake=self.intake,
            lifecycle=self.lifecycle,
            holding=self.holding,
            resources=self.resources,
            describing=self.describing,
            storing=Storing(self.batcher),
            watch=self.watch,
            queries=Queries(self.engine),
            feed=self.feed,
            redriving=self._redriving(),
        )

    def _behind_one_port(self, services: Services, beside: Mapping[str, Beside] | None, stack: AsyncExitStack) -> App:
        """The application, with those of the services beside it: given, or in another process by the settings."""
        others = dict(beside or {})
        elsewhere = {APPROVALS: self.settings.approvals_url, INTEGRATIONS: self.settings.integrations_url}
        for name, url in elsewhere.items():
            if url and name not in others:
                others[name] = passing = Passing(name, url)
                stack.push_async_callback(passing.close)
        checks = {name: other.check for name, other in others.items()}
        app = make_application(services, {**probes(self), **checks})
        return Front(app, others) if others else app

    def _redriving(self) -> Redriving:
        outbox = Outbox(self.batcher, self.store, self.bus)
        return Redriving(DeadLetters(self.bus), self.handlers, self.batcher, outbox, self.bus)

    async def _on_bus(self) -> None:
        """Connect, serve the bus, and stand for leadership; waits as long as the bus is away."""
        await insist(self.bus.connect)
        application = FastStream(self.bus.broker, logger=None)
        self.bus.broker.include_router(make_router(self.handlers))
        await application.start()
        await insist(self.handlers.listen)  # the bus may go again; to listen twice does no harm
        for loop in self.loops:
            loop.start()
        leading = asyncio.create_task(self.leadership.run(self.leader.lead))
        try:
            await asyncio.shield(leading)  # without end
        finally:
            grace_s = self.settings.shutdown_grace_s
            # The bus may be away: then what it holds comes again, and the lease is given back all the same.
            await asyncio.gather(*(loop.stop(grace_s) for loop in self.loops), return_exceptions=True)
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)

    async def _close(self) -> None:
        await self.bus.close()
        await self.store.close()
        await self.engine.dispose()
        log.info("dispatcher.stopped", owner=self.owner)


def _bus(settings: DispatcherSettings, name: str) -> Bus:
    """The connection that these settings describe, not open yet."""
    password = settings.nats_password.get_secret_value()
    return Bus(settings.nats_url.split(","), user=settings.nats_user or "dispatcher", password=password, name=name)

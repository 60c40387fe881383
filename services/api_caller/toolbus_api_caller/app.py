"""Composition root: the only place that builds adapters."""

import asyncio
import os

import structlog

from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.handlers import HttpEffect
from toolbus_api_caller.settings import ApiCallerSettings
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.subjects import DURABLES
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.egress import EgressGuard
from toolbus_runtime.executing.body_budget import BodyBudget
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.dispatcher import Dispatcher
from toolbus_runtime.executing.executor import Executor
from toolbus_runtime.executing.runs import Runs
from toolbus_runtime.executing.service import executor_name, take_work, user_agent
from toolbus_runtime.executing.stopped import Stopped
from toolbus_runtime.secrets.resolver import Resolver

log = structlog.get_logger(__name__)
SERVICE = "api_caller"


class ApiCaller:
    """The service: `run` until told to stop; `is_ready` while work can arrive."""

    def __init__(self, settings: ApiCallerSettings) -> None:
        self._settings = settings
        self._loop: PullLoop | None = None

    def is_ready(self) -> bool:
        """Whether work can arrive at this moment."""
        return self._loop is not None and self._loop.is_healthy

    async def run(self, stop: asyncio.Event) -> None:
        """
        Work is carried out until `stop` is set; what is in flight has had its grace time on return.

        Waits as long as the bus is away.
        """
        settings = self._settings
        clock = SystemClock()
        bus = Bus(
            settings.nats_url.split(","),
            user=settings.nats_user or SERVICE,
            password=settings.nats_password.get_secret_value(),
        )
        guard = EgressGuard(EgressRules(parse_allowances(settings.egress_allow)))
        client = HttpClient(clock, keepalive_s=settings.api_caller_keepalive_s, guard=guard)
        dispatcher = Dispatcher(bus, clock, executor=executor_name(SERVICE), patience_s=settings.api_caller_patience_s)
        runs = Runs(BodyBudget(settings.api_caller_body_budget_bytes))
        stopped = Stopped(bus, clock, runs)
        effect = HttpEffect(client, clock, user_agent=user_agent())
        secrets = Resolver.of(settings, bus, os.environ)
        executor = Executor(bus, effect, dispatcher, clock, runs=runs, stopped=stopped, secrets=secrets)
        loop = PullLoop(bus, DURABLES[SERVICE], executor.on_work, concurrency=settings.api_caller_concurrency)
        try:
            log.info("service.started", service=SERVICE, concurrency=settings.api_caller_concurrency)
            self._loop = loop
            await take_work([loop], (bus.connect, stopped.listen), stop, grace_s=settings.shutdown_grace_s)
        finally:
            self._loop = None
            await client.aclose()
            await bus.close()
            log.info("service.stopped", service=SERVICE)

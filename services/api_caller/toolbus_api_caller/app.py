"""Composition root: the only place that builds adapters."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version

import structlog

from toolbus_api_caller.adapters.body_budget import BodyBudget
from toolbus_api_caller.adapters.clock import SystemClock
from toolbus_api_caller.adapters.dispatcher import Dispatcher
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.adapters.runs import Runs
from toolbus_api_caller.adapters.stopped import Stopped
from toolbus_api_caller.handlers import Handlers
from toolbus_api_caller.settings import ApiCallerSettings
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.subjects import DURABLES
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.egress import EgressGuard

log = structlog.get_logger(__name__)
SERVICE = "api_caller"
RETRY_S = 0.5


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
        dispatcher = Dispatcher(bus, clock, executor=executor_name(), patience_s=settings.api_caller_patience_s)
        runs = Runs(BodyBudget(settings.api_caller_body_budget_bytes))
        stopped = Stopped(bus, clock, runs)
        agent = f"toolbus/{release()}"
        handlers = Handlers(bus, client, dispatcher, clock, user_agent=agent, runs=runs, stopped=stopped)
        try:
            for step in (bus.connect, stopped.listen):
                await insist(step, stop)
            if stop.is_set():
                return
            self._loop = PullLoop(bus, DURABLES[SERVICE], handlers.on_work, concurrency=settings.api_caller_concurrency)
            self._loop.start()
            log.info("service.started", service=SERVICE, concurrency=settings.api_caller_concurrency)
            await stop.wait()
            await self._loop.stop(settings.shutdown_grace_s)
        finally:
            self._loop = None
            await client.aclose()
            await bus.close()
            log.info("service.stopped", service=SERVICE)


async def insist(step: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    """The step is done, however long the bus is away; it was given up when `stop` is set."""
    stopping = asyncio.ensure_future(stop.wait())
    while not stop.is_set():
        doing = asyncio.ensure_future(step())
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        doing.cancel()
        try:
            await doing
        except Unavailable as error:
            log.warning("bus.waiting", reason=error.message)
            await asyncio.sleep(RETRY_S)
        except asyncio.CancelledError:
            if not stop.is_set():
                raise
        else:
            break
    stopping.cancel()


async def run(settings: ApiCallerSettings, stop: asyncio.Event) -> None:
    """The service runs until `stop` is set."""
    await ApiCaller(settings).run(stop)


def release() -> str:
    """The version of the installed distribution, `0` when it runs from source."""
    try:
        return version("toolbus")
    except PackageNotFoundError:
        return "0"


def executor_name() -> str:
    """Who this process is, in the record of a start."""
    return f"{SERVICE}@{socket.gethostname()}:{os.getpid()}"

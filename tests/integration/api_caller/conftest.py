"""The executor's network client, and the executor as a process on a real bus."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.integration.api_caller.calling import guard
from tests.integration.api_caller.dispatching import FakeDispatcher
from tests.integration.api_caller.raw_target import OK, RawTarget, raw_target, saying
from tests.nats_fixtures import until
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.app import ApiCaller
from toolbus_api_caller.settings import ApiCallerSettings
from toolbus_contracts import subjects
from toolbus_contracts.subjects import DURABLES
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.executing.clock import SystemClock

StartExecutor = Callable[..., Awaitable[ApiCaller]]


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    """A client of its own for each test."""
    made = HttpClient(SystemClock(), keepalive_s=4.0, guard=guard())
    yield made
    await made.aclose()


@pytest.fixture
async def dispatcher(dispatcher_bus: Bus) -> AsyncIterator[FakeDispatcher]:
    """A dispatcher of our own, with the real one's permissions."""
    made = FakeDispatcher(dispatcher_bus)
    made.may_answer.set()
    await dispatcher_bus.subscribe(subjects.START, made.on_start)
    loop = PullLoop(dispatcher_bus, DURABLES["outcomes"], made.on_outcome, concurrency=10)
    loop.start()
    yield made
    await loop.stop(grace_s=0.1)


@pytest.fixture
async def start_executor(nats_server: EmbeddedNats, dispatcher: FakeDispatcher) -> AsyncIterator[StartExecutor]:
    """Start the service with these settings besides the usual ones; it is ready for work on return."""
    started: list[tuple[ApiCaller, asyncio.Event, asyncio.Task[None]]] = []

    async def start(**more: object) -> ApiCaller:
        settings = {
            "nats_url": nats_server.url,
            "nats_password": nats_server.passwords["api_caller"],
            "shutdown_grace_s": 1.0,
            "egress_allow": "127.0.0.0/8",
            **more,
        }
        service, stop = ApiCaller(ApiCallerSettings.model_validate(settings)), asyncio.Event()
        assert not service.is_ready()
        started.append((service, stop, asyncio.create_task(service.run(stop))))
        await until(service.is_ready)
        return service

    yield start
    for service, stop, task in started:
        stop.set()
        await task
        assert not service.is_ready()


@pytest.fixture
async def executor(start_executor: StartExecutor) -> ApiCaller:
    """The service, ready for work."""
    return await start_executor()


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    """A target that answers."""
    async with raw_target(saying(OK)) as made:
        yield made

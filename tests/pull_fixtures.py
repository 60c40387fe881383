"""What tests of the pull loop share: a handler that keeps what it was given, and loops that are stopped."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from toolbus_contracts import subjects
from toolbus_contracts.subjects import DURABLES, Durable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.pull import Handler, PullLoop

SUBMIT = subjects.command("acme", "submit")
COMMANDS = DURABLES["commands"]
StartLoop = Callable[..., PullLoop]


class Handled:
    """A handler that keeps what it was given and raises what it is told to."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.times: list[float] = []
        self.errors: dict[bytes, list[BaseException]] = {}

    async def __call__(self, delivery: Delivery) -> None:
        """Keep the delivery, then raise the next error for its body; the last one stays."""
        self.deliveries.append(delivery)
        self.times.append(asyncio.get_running_loop().time())
        errors = self.errors.get(delivery.data)
        if errors:
            raise errors.pop(0) if len(errors) > 1 else errors[0]

    @property
    def bodies(self) -> list[bytes]:
        """What was handed in, in order."""
        return [delivery.data for delivery in self.deliveries]

    def done(self, *bodies: bytes) -> Callable[[], bool]:
        """A condition: every one of these came."""
        return lambda: set(bodies) <= set(self.bodies)


@pytest.fixture
def handled() -> Handled:
    """A handler that succeeds."""
    return Handled()


@pytest.fixture
async def start_loop(dispatcher_bus: Bus) -> AsyncIterator[StartLoop]:
    """Start loops of the dispatcher; stopped at the end of the test."""
    loops: list[PullLoop] = []

    def started(handler: Handler, *, durable: Durable = COMMANDS, concurrency: int = 16, limit: int = 20) -> PullLoop:
        loop = PullLoop(dispatcher_bus, durable, handler, concurrency=concurrency, max_deliveries=limit)
        loop.start()
        loops.append(loop)
        return loop

    yield started
    for loop in loops:
        await loop.stop(grace_s=0.1)


async def settled(bus: Bus) -> bool:
    """Whether every command was acknowledged or terminated."""
    state = await bus.stream_state("COMMANDS")
    return state is not None and state.messages == 0

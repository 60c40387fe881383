"""What this service wants of the bus; `toolbus_runtime.bus.connection.Bus` has it, and so have our fakes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from toolbus_contracts.errors import Unavailable
from toolbus_runtime.executing.clock import Clock

Answer = TypeVar("Answer")
FIRST_DELAY_S = 0.1
LONGEST_DELAY_S = 2.0


class Message(Protocol):
    """An answer from the bus."""

    @property
    def data(self) -> bytes:
        """What it says."""
        ...


class Work(Protocol):
    """One delivery of a work item."""

    data: bytes
    num_delivered: int
    sequence: int


class ExecutorBus(Protocol):
    """The four things an executor does on the bus; each raises `Unavailable` while the bus is away."""

    async def publish(self, subject: str, data: bytes) -> object:
        """The message is stored by JetStream on return."""
        ...

    async def request(self, subject: str, data: bytes, *, timeout_s: float) -> Message:
        """The answer of whoever serves the subject."""
        ...

    async def put_payload(self, digest: str, body: bytes) -> None:
        """A large body lies ready under its digest."""
        ...

    async def get_payload(self, digest: str) -> bytes | None:
        """A large body by its digest, or none."""
        ...


async def patiently(work: Callable[[], Awaitable[Answer]], clock: Clock, patience_s: float) -> Answer:
    """
    The result of `work`, asked again with growing pauses while the bus is away.

    Raises:
        Unavailable: it was away for `patience_s` seconds.
    """
    give_up_at = clock.steady_s() + patience_s
    delay_s = FIRST_DELAY_S
    while True:
        try:
            return await work()
        except Unavailable:
            if clock.steady_s() + delay_s > give_up_at:
                raise
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, LONGEST_DELAY_S)

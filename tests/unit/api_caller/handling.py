"""A bus, a network and a clock of our own, and one delivery handled with them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tests.unit.api_caller.making import JSON, NOW, answer
from toolbus_api_caller.core.response import HttpAnswer
from toolbus_api_caller.handlers import HttpEffect
from toolbus_contracts import subjects
from toolbus_contracts.calls import RecordOutcome, StartAnswer, StartAttempt
from toolbus_contracts.errors import Refused, Unavailable
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.work import WorkItem
from toolbus_runtime.executing.dispatcher import Dispatcher
from toolbus_runtime.executing.executor import Executor
from toolbus_runtime.executing.runs import Run, Runs
from toolbus_runtime.secrets.resolver import Resolver

GO = StartAnswer(verdict="go", start_by=NOW + timedelta(seconds=5), stop_by=NOW + timedelta(seconds=60))


class FrozenClock:
    """Time that moves by `tick` seconds at each look, so that patience ends."""

    def __init__(self, tick: float = 0.0) -> None:
        self.at = 100.0
        self.tick = tick

    def now(self) -> datetime:
        """The calendar's time."""
        return NOW

    def steady_s(self) -> float:
        """The steady clock."""
        self.at += self.tick
        return self.at


class Said(NamedTuple):
    """An answer of the bus."""

    data: bytes


class FakeBus:
    """Keeps what is published; answers starts from a list; is away as often as told."""

    def __init__(self, starts: list[Any] | None = None, *, away: int = 0) -> None:
        self.starts = list(starts or [])
        self.away = away
        self.asked: list[StartAttempt] = []
        self.told: list[RecordOutcome] = []
        self.payloads: dict[str, bytes] = {}

    async def publish(self, subject: str, data: bytes) -> object:
        """Keep an outcome."""
        assert subject == subjects.OUTCOME
        if self.away > 0:
            self.away -= 1
            raise Unavailable("away")
        self.told.append(RecordOutcome.model_validate_json(data))
        return None

    async def request(self, subject: str, data: bytes, *, timeout_s: float) -> Said:
        """Answer a start with the next of the list."""
        assert subject == subjects.START
        assert timeout_s > 0
        self.asked.append(StartAttempt.model_validate_json(data))
        found = self.starts.pop(0)
        if isinstance(found, Exception):
            raise found
        return Said(found.model_dump_json().encode() if isinstance(found, StartAnswer) else found)

    async def put_payload(self, digest: str, body: bytes) -> None:
        """Keep a payload; its parts may fail together."""
        if self.away > 0:
            self.away -= 1
            raise ExceptionGroup("parts", [Unavailable("away")])
        self.payloads[digest] = body

    async def get_payload(self, digest: str) -> bytes | None:
        """Give a payload."""
        return self.payloads.get(digest)


class FakeNetwork:
    """Answers every request with the same thing, and keeps what was sent."""

    def __init__(self, found: HttpAnswer | Failure) -> None:
        self.found = found
        self.meanwhile: Callable[[Run], None] | None = None
        self.sent: list[tuple[HttpRequest, Permit]] = []

    def examine(self, request: HttpRequest) -> None:
        """Refuse one host."""
        if "//refused.test/" in request.url:
            raise Refused("egress_denied", "refused.test:443 is not reached: by order of the test")

    async def send(self, request: HttpRequest, permit: Permit, run: Run) -> HttpAnswer | Failure:
        """Keep the request; hear meanwhile what there is to hear."""
        self.sent.append((request, permit))
        if self.meanwhile is not None:
            self.meanwhile(run)
        return self.found


class Delivered:
    """A delivery of a work item."""

    num_delivered = 1
    sequence = 1

    def __init__(self, work: WorkItem | bytes) -> None:
        self.data = work if isinstance(work, bytes) else work.model_dump_json(by_alias=True, exclude_none=True).encode()


async def handle(
    work: WorkItem,
    bus: FakeBus,
    found: HttpAnswer | Failure | None = None,
    *,
    tick: float = 0.0,
    secrets: Resolver | None = None,
) -> FakeNetwork:
    """Handle one delivery and return what went over the network."""
    clock, network = FrozenClock(tick), FakeNetwork(found or answer(200, b'{"a":1}', headers=JSON))
    await executor(bus, network, clock, secrets=secrets).on_work(Delivered(work))
    return network


def executor(
    bus: FakeBus,
    network: FakeNetwork,
    clock: FrozenClock,
    runs: Runs | None = None,
    *,
    secrets: Resolver | None = None,
) -> Executor:
    """The executor of `api_call`, on these."""
    dispatcher = Dispatcher(bus, clock, executor="me", patience_s=10.0)
    effect = HttpEffect(network, clock, user_agent="toolbus/test")
    return Executor(bus, effect, dispatcher, clock, runs=runs or Runs(), secrets=secrets)

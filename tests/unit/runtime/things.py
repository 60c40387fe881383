"""A small aggregate, a store that can be away, and a loop in which time costs nothing."""

import asyncio
import itertools
import selectors
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, TypeAdapter

from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.keys import Actor
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Aggregate, Command, Decide, Snapshot
from toolbus_runtime.store.admission import Result
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import Append, NewEvent

T = TypeVar("T")
ACTOR = Actor(subject="service:test", via="internal")
CAUSES = itertools.count()
NOW = datetime(2026, 1, 2, tzinfo=UTC)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        self.selector = _Jumping()
        super().__init__(self.selector)

    def time(self) -> float:
        """Seconds since the loop began."""
        return self.selector.now


class _Jumping(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Whatever is ready; time passes only when nothing is."""
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


def in_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, however long it waits."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def loop_clock() -> datetime:
    """The loop's time as a date, for a store that lives in it."""
    return NOW + timedelta(seconds=asyncio.get_running_loop().time())


async def until(condition: Callable[[], object], deadline_s: float = 10.0) -> None:
    """Wait until something is true, and not for ever."""
    async with asyncio.timeout(deadline_s):
        while not condition():  # noqa: ASYNC110 - what is waited for is a fact of the product, not an event of ours
            await asyncio.sleep(0.001)


async def pass_time(seconds: float = 0.0) -> None:
    """Let time pass in a `VirtualLoop`: nobody waits for it. Without seconds: let the others have their turn."""
    await asyncio.sleep(seconds)


@asynccontextmanager
async def background(work: Coroutine[Any, Any, object]) -> AsyncIterator["asyncio.Task[object]"]:
    """Something that runs for ever, for a while."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Counted(BaseModel):
    """The thing was counted up."""

    kind: Literal["thing.counted.v1"] = "thing.counted.v1"
    by: int = 1
    note: str = ""


COUNTS = Aggregate("thing", 0, TypeAdapter(Counted), lambda state, event: state + event.by, lambda _: "together")


class Store(MemoryStore):
    """A store in memory that counts what it is asked, and may be away or slow."""

    def __init__(self, clock: Callable[[], datetime] = lambda: NOW) -> None:
        super().__init__(clock=clock)
        self.is_away = False
        self.loads: list[Mapping[str, int]] = []
        self.appends: list[Sequence[Append]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def append(self, appends: Sequence[Append]) -> list[Result]:
        """Store, unless away; waits while held."""
        self.appends.append(appends)
        await self.open.wait()
        self._check()
        return await super().append(appends)

    async def load(self, wanted: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
        """Read streams, unless away."""
        self.loads.append(wanted)
        self._check()
        return await super().load(wanted)

    async def head(self) -> int:
        """The newest position, unless away."""
        self._check()
        return await super().head()

    async def hold_lease(self, name: str, owner: str, ttl_s: float) -> bool:
        """Hold a lease, unless away."""
        self._check()
        return await super().hold_lease(name, owner, ttl_s)

    async def elsewhere(self, name: str, by: int = 1, version: int | None = None, cause: str = "") -> None:
        """Another process counts the thing up."""
        stream = f"acme/thing/{name}"
        found = len([event for event in self.events if event.stream == stream]) if version is None else version
        event = NewEvent("thing.counted.v1", Counted(by=by).model_dump_json())
        append = Append(
            tenant="acme",
            category="thing",
            stream=stream,
            expected_version=found,
            events=(event,),
            causation_id=cause or f"elsewhere {name} {len(self.events)}",
            correlation_id="together",
            actor="{}",
        )
        await super().append([append])

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("the store is away")


def batcher(store: MemoryStore, **settings: Any) -> Batcher:
    """A batcher of counted things."""
    return Batcher(store, {"thing": COUNTS}, settings.pop("on_commit", lambda _: None), clock=lambda: NOW, **settings)


def count(name: str = "a", by: int = 1, *, cause: str = "", decide: Decide | None = None, **more: Any) -> Command:
    """Count the thing up, unless another decision is asked for."""
    return Command("acme", "thing", name, cause or f"cause {next(CAUSES)}", ACTOR, decide or adding(name, by), **more)


def adding(name: str, by: int = 1) -> Decide:
    """Look at the thing and count it up."""

    def decide(snapshot: Snapshot, _: datetime) -> Sequence[BaseModel]:
        snapshot.of("acme", "thing", name)
        return (Counted(by=by),)

    return decide

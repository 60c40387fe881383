"""Every provider with its process: started when first wanted, again after it died, and ended when nobody calls it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

from toolbus_contracts.errors import Refused, Unavailable
from toolbus_contracts.integrations import ProviderFault, ProviderView
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json
from toolbus_integrations.host.messages import Ended, Perform, SideFault
from toolbus_integrations.hosting.asking import HostLost, ProviderBroken
from toolbus_integrations.hosting.process import HostProcess

log = structlog.get_logger(__name__)
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 30.0
WAITED_S: Final = 1.0  # a pause that is waited for rather than told
LOOK_S: Final = 1.0
Start = Callable[[str, Callable[[str], None]], Awaitable[HostProcess]]
Answer = TypeVar("Answer")


class Place:
    """Where the process of one provider stands, or will."""

    def __init__(self, name: str, start: Start) -> None:
        self.name = name
        self._start = start
        self._starting = asyncio.Lock()
        self._process: HostProcess | None = None
        self._failures = 0
        self._not_before = 0.0
        self._loop = asyncio.get_running_loop()
        self.view: ProviderView | None = None
        self.fault: ProviderFault | None = None

    async def process(self) -> HostProcess:
        """
        The process, which runs.

        Raises:
            Refused: `provider_missing`, `provider_failed`: it cannot be loaded.
            Unavailable: it died too often, and is not started again before `retry_after_s`.
        """
        async with self._starting:
            if self._process is not None and not self._process.is_lost:
                return self._process
            if self.fault is not None:
                raise Refused(self.fault.code, self.fault.message)
            await self._pause()
            try:
                self._process = await self._start(self.name, self._on_line)
            except ProviderBroken as error:
                self.fault = error.fault
                raise Refused(error.fault.code, error.fault.message) from error
            except (HostLost, OSError) as error:
                self.note_death(str(error))
                raise Unavailable(f"{self.name}: {error}", self.pause_s) from error
            self.view = self._process.view
            log.info("provider.started", provider=self.name)
            return self._process

    @property
    def pause_s(self) -> float:
        """For how long it is not started yet."""
        return max(0.0, self._not_before - self._loop.time())

    def note_death(self, reason: str) -> None:
        """It died; the next pause is twice as long as the last."""
        self._failures += 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self._failures - 1, 16))
        self._not_before = self._loop.time() + pause_s
        log.warning("provider.died", provider=self.name, reason=reason, pause_s=pause_s)

    def note_health(self) -> None:
        """It did what it was asked: the next pause is the first one."""
        self._failures = 0

    def lost(self, process: HostProcess, reason: str) -> None:
        """Hear once of each process that it died."""
        if self._process is process:
            self._process = None
            self.note_death(reason)

    async def end(self, *, idle_s: float = 0.0) -> None:
        """The process has ended, if it was idle for so long."""
        async with self._starting:
            process = self._process
            if process is not None and process.idle_s >= idle_s:
                self._process = None
                await process.end()

    async def close(self) -> None:
        """The process is gone."""
        process, self._process = self._process, None
        if process is not None:
            await process.kill("the service stops")

    async def _pause(self) -> None:
        pause_s = self.pause_s
        if pause_s > WAITED_S:
            raise Unavailable(f"the provider {self.name} died and is not started again yet", pause_s)
        await asyncio.sleep(pause_s)

    def _on_line(self, line: str) -> None:
        log.info("provider.said", provider=self.name, line=line)


class Hosts:
    """The processes of all providers; `start` begins one."""

    def __init__(self, start: Start, *, idle_s: float) -> None:
        self._start = start
        self._idle_s = idle_s
        self._places: dict[str, Place] = {}

    async def run(self) -> None:
        """End what nobody calls; without end."""
        while True:
            await asyncio.sleep(min(LOOK_S, self._idle_s))
            for place in tuple(self._places.values()):
                await place.end(idle_s=self._idle_s)

    async def view(self, name: str) -> ProviderView:
        """
        The provider, as it describes itself.

        Raises:
            Refused: `provider_missing`, `provider_failed`.
            Unavailable: it dies again and again.
        """
        place = self._place(name)
        return place.view or (await place.process()).view

    async def check(self, name: str, method: str, setup: JsonObject, arguments: Json) -> tuple[SideFault, ...]:
        """
        What is wrong with setup and arguments of a method.

        Raises:
            Refused, Unavailable: as `view`.
        """
        place = self._place(name)
        process = await place.process()
        try:
            return await process.check(method, setup, arguments)
        except HostLost as error:
            place.lost(process, error.reason)
            raise Unavailable(f"{name}: {error.reason}", place.pause_s) from error

    async def perform(self, name: str, asked: Perform, on_sent: Callable[[], None], stop: asyncio.Event) -> Ended:
        """
        What came of a call, which is stopped when `stop` is set.

        Raises:
            HostLost: the process died.
            Refused, Unavailable: as `view`; nothing was sent.
        """
        place = self._place(name)
        process = await place.process()
        try:
            ended = await process.perform(asked, on_sent, stop)
        except HostLost as error:
            place.lost(process, error.reason)
            raise
        place.note_health()
        return ended

    def pause_s(self, name: str) -> float:
        """For how long the provider is not started yet."""
        return self._place(name).pause_s

    async def close(self) -> None:
        """Every process is gone."""
        await asyncio.gather(*(place.close() for place in self._places.values()))

    def _place(self, name: str) -> Place:
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = Place(name, self._start)
        return found

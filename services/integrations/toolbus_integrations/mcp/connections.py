"""Which connections there are: one per server as it is spoken to, shared by the calls of its tenant."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from toolbus_contracts.errors import Refused
from toolbus_integrations.mcp.reaching import Opener, Session, Unreachable
from toolbus_integrations.mcp.targets import Target
from toolbus_runtime.executing.clock import Clock

FIRST_DELAY_S: Final = 0.2
LONGEST_DELAY_S: Final = 30.0
OPEN_S: Final = 30.0  # a server that takes longer to begin a session counts as away
IDLE_S: Final = 120.0
MAX_IDLE: Final = 256


@dataclass
class _Slot:
    """The place of one connection: the one that is there, or is being opened, and how opening it failed lately."""

    connection: Session | None = None
    opening: asyncio.Task[Session] | None = None
    failures: int = 0
    not_before_s: float = 0.0
    failure: str = ""
    users: int = 0
    idle: asyncio.TimerHandle | None = None


class Connections:
    """
    Opens a connection when it is first wanted, and again when it has died, with growing pauses while that fails.

    `idle_s`: one that no call uses is closed after so long.
    """

    def __init__(self, make: Opener, clock: Clock, *, idle_s: float = IDLE_S) -> None:
        self._make = make
        self._clock = clock
        self._idle_s = idle_s
        self._slots: dict[str, _Slot] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @asynccontextmanager
    async def use(self, target: Target) -> AsyncIterator[Session]:
        """
        A connection that stays while it is used.

        Raises:
            Unreachable: there is none; within its pause nothing is tried.
            Refused: the server may not be reached.
        """
        slot = self._slots.setdefault(target.key, _Slot())
        slot.users += 1
        if slot.idle is not None:
            slot.idle.cancel()
            slot.idle = None
        try:
            yield await self._open(slot, target)
        finally:
            slot.users -= 1
            if slot.users == 0:
                self._let_idle(target.key, slot)

    def open_count(self) -> int:
        """How many connections stand at this moment."""
        return sum(slot.connection is not None and slot.connection.is_open for slot in self._slots.values())

    def drop(self, target: Target, connection: Session) -> None:
        """The next call opens another connection than this one."""
        slot = self._slots.get(target.key)
        if slot is not None and slot.connection is connection:
            slot.connection = None
        self._close(connection)

    async def aclose(self) -> None:
        """Every connection has ended."""
        self._is_closed = True
        for slot in self._slots.values():
            if slot.idle is not None:
                slot.idle.cancel()
            if slot.opening is not None:
                slot.opening.cancel()
                await asyncio.wait({slot.opening})
            if slot.connection is not None:
                await slot.connection.close()
        self._slots.clear()
        if self._closing:
            await asyncio.wait(self._closing)

    async def _open(self, slot: _Slot, target: Target) -> Session:
        if slot.connection is not None:
            if slot.connection.is_open:
                return slot.connection
            self._close(slot.connection)
            slot.connection = None
        if self._is_closed:
            raise Unreachable("the service is stopping")
        if slot.opening is None:
            pause_s = slot.not_before_s - self._clock.steady_s()
            if pause_s > 0:
                raise Unreachable(slot.failure, pause_s)
            slot.opening = asyncio.get_running_loop().create_task(self._begin(slot, target))
            slot.opening.add_done_callback(_look_at)
        # One who gives up takes nothing from the others that wait for the same connection.
        return await asyncio.shield(slot.opening)

    async def _begin(self, slot: _Slot, target: Target) -> Session:
        try:
            connection = await self._make(target)
            async with asyncio.timeout(OPEN_S):
                await connection.open()
        except TimeoutError:
            message = f"the server {target.name} began no session within {OPEN_S:g} s"
            raise self._paused(slot, Unreachable(message)) from None
        except Unreachable as error:
            raise self._paused(slot, error) from error
        else:
            slot.connection, slot.failures = connection, 0
            return connection
        finally:
            slot.opening = None

    def _paused(self, slot: _Slot, error: Unreachable) -> Unreachable:
        pause_s = min(FIRST_DELAY_S * 2.0**slot.failures, LONGEST_DELAY_S)
        slot.failures += 1
        slot.failure = error.message
        slot.not_before_s = self._clock.steady_s() + pause_s
        return Unreachable(error.message, pause_s)

    def _let_idle(self, key: str, slot: _Slot) -> None:
        if self._is_closed:
            return
        waits = sum(one.users == 0 for one in self._slots.values())
        delay_s = self._idle_s if waits <= MAX_IDLE else 0.0
        slot.idle = asyncio.get_running_loop().call_later(delay_s, self._end_idle, key, slot)

    def _end_idle(self, key: str, slot: _Slot) -> None:
        if slot.users == 0 and self._slots.get(key) is slot and slot.opening is None:
            del self._slots[key]
            if slot.connection is not None:
                self._close(slot.connection)

    def _close(self, connection: Session) -> None:
        connection.retire()
        ending = asyncio.get_running_loop().create_task(connection.ended())
        self._closing.add(ending)
        ending.add_done_callback(self._closing.discard)


def _look_at(task: "asyncio.Task[Session]") -> None:
    """An error that nobody waits for any more is known hereby."""
    if not task.cancelled() and isinstance(error := task.exception(), Refused | Unreachable):
        error.__traceback__ = None

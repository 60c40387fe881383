"""One process of a provider, as the service sees it: questions and answers by number, and signs of life."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Final

from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.integrations import ProviderView
from toolbus_contracts.values import Message
from toolbus_integrations.core.hearing import heard
from toolbus_integrations.core.judging import MAX_WORDS
from toolbus_integrations.host.frames import BrokenStreamError, framed, read_frame
from toolbus_integrations.host.messages import (
    Begin,
    Broken,
    Cancel,
    Check,
    Checked,
    Ended,
    FromHost,
    Giving,
    Perform,
    Ping,
    Pong,
    Raised,
    Ready,
    SideFault,
)
from toolbus_integrations.hosting.asking import STOP_S, Asked, HostLost, ProviderBroken, fault_of, told
from toolbus_integrations.hosting.lines import pass_lines
from toolbus_integrations.hosting.notices import Notices
from toolbus_integrations.hosting.spawning import Spawned, spawn

SPARE_FRAME_BYTES: Final = 4 * 1024 * 1024  # around the largest output that was wanted; or a view, or faults
LARGE_FRAME_BYTES: Final = 64 * 1024  # reading one above this in the loop would hold up every other call
SOMETHING_ELSE: Final = "it answered with something else"
START_S: Final = 30.0


class HostProcess:
    """Runs from `start` until it is ended, or ends by itself; `on_line` gets what it writes to stderr."""

    def __init__(
        self, spawned: Spawned, *, silence_s: float, memory_bytes: int, on_line: Callable[[str], None]
    ) -> None:
        self._spawned = spawned
        self._silence_s = silence_s
        self._memory_bytes = memory_bytes
        self._on_line = on_line
        self._open: dict[int, Asked] = {}
        self._number = 0
        self._owed = 0
        self._most_bytes = 0
        self._reason: str | None = None
        self._loop = asyncio.get_running_loop()
        self._view: asyncio.Future[ProviderView] = self._loop.create_future()
        self._is_over = asyncio.Event()
        self._notices = Notices(spawned.notices, self._note)
        self._heard_at = self._idle_since = self._loop.time()
        self.ended = asyncio.Event()

    @classmethod
    async def start(
        cls, name: str, *, egress_allow: str, memory_bytes: int, silence_s: float, on_line: Callable[[str], None]
    ) -> "HostProcess":
        """
        The process is ready for calls.

        Raises:
            ProviderBroken: it has no such provider, or cannot load it.
            HostLost: it ended, or was not ready in time.
            OSError: the system starts no further process.
        """
        spawned = await spawn(name)
        made = cls(spawned, silence_s=silence_s, memory_bytes=memory_bytes, on_line=on_line)
        try:
            await made._begin(Begin(egress_allow=egress_allow, folder=str(spawned.folder), memory_bytes=memory_bytes))
        except BaseException:
            await made.kill("it did not begin")
            raise
        return made

    @property
    def view(self) -> ProviderView:
        """The provider, as it describes itself."""
        return self._view.result()

    @property
    def is_lost(self) -> bool:
        """Whether it takes no more questions."""
        return self._reason is not None

    @property
    def idle_s(self) -> float:
        """For how long nobody has asked it anything; 0 while something is open."""
        return 0.0 if self._open else self._loop.time() - self._idle_since

    async def check(self, method: str, setup: dict[str, object], arguments: object) -> tuple[SideFault, ...]:
        """
        What is wrong with setup and arguments.

        Raises:
            HostLost: the process has ended.
            Refused: `provider_failed`, its own checks broke.
        """
        number = self._next()
        said = await self._ask(number, Check(id=number, method=method, setup=setup, arguments=arguments))
        match said:
            case Checked(faults=faults):
                return faults
            case Raised(message=message):
                raise Refused("provider_failed", f"the provider broke: {message[:MAX_WORDS]}")
            case _:
                self._kill(SOMETHING_ELSE)
                raise HostLost(SOMETHING_ELSE, is_sent=False)

    async def perform(self, asked: Perform, on_sent: Callable[[], None], stop: asyncio.Event) -> Ended:
        """
        What came of a call, which is stopped when `stop` is set; its number is given here.

        Raises:
            HostLost: the process has ended.
        """
        number = self._next()
        self._most_bytes = max(self._most_bytes, asked.max_output_bytes)
        said = await self._ask(number, asked.model_copy(update={"id": number}), on_sent, stop)
        if isinstance(said, Ready | Broken | Checked | Giving | Pong):
            self._kill(SOMETHING_ELSE)
            raise HostLost(SOMETHING_ELSE, is_sent=True)
        return said

    async def end(self) -> None:
        """It was asked to end and did, or was made to."""
        self._reason = self._reason or "it was no longer wanted"
        self._writer.close()
        try:
            await asyncio.wait_for(self.ended.wait(), STOP_S)
        except TimeoutError:
            await self.kill(self._reason)

    async def kill(self, reason: str) -> None:
        """It and all that it started are gone; whoever waits for it hears the reason."""
        self._kill(reason)
        await self.ended.wait()

    def _kill(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._end_group()

    def _end_group(self) -> None:
        self._is_over.set()
        if self.ended.is_set():
            return  # its number may be somebody else's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS tells the latter of the dead
            os.killpg(self._spawned.process.pid, signal.SIGKILL)

    async def _begin(self, begin: Begin) -> None:
        reader, self._writer = await asyncio.open_unix_connection(sock=self._spawned.channel)
        self._notices.watch(self._heed)
        self._reading = {
            self._loop.create_task(part)
            for part in (self._read(reader), pass_lines(self._spawned.lines, self._on_line, self._is_over))
        }
        self._looking = self._loop.create_task(self._look())
        self._ending = self._loop.create_task(self._await_end())
        self._tell(begin)
        try:
            async with asyncio.timeout(START_S):
                await asyncio.shield(self._view)
        except TimeoutError as error:
            raise HostLost(f"it was not ready within {START_S:g} s", is_sent=False) from error

    def _next(self) -> int:
        self._number += 1
        return self._number

    async def _ask(
        self,
        number: int,
        question: Message,
        on_sent: Callable[[], None] = lambda: None,
        stop: asyncio.Event | None = None,
    ) -> FromHost:
        if self._reason is not None:
            raise HostLost(self._reason, is_sent=False)
        if not self._open:
            self._heard_at = self._loop.time()
        asked = self._open[number] = Asked(self._loop.create_future(), on_sent)
        self._tell(question)
        stopping = None if stop is None else self._loop.create_task(self._stop(number, asked, stop))
        try:
            return await asked.answer
        finally:
            if stopping is not None:
                stopping.cancel()
            if asked.answer.cancelled():
                self._tell(Cancel(id=number))  # nobody waits for it any more
            del self._open[number]
            self._idle_since = self._loop.time()

    async def _stop(self, number: int, asked: Asked, stop: asyncio.Event) -> None:
        """Once it is to be stopped, the call has ended there; a process in which it does not is ended."""
        await stop.wait()
        self._tell(Cancel(id=number))
        if stays_s := await asked.stays_s():
            self._kill(f"a call did not end within {stays_s:g} s of being stopped")

    def _tell(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(framed(message.model_dump_json().encode()))
            self._owed += 1  # all is answered once, but for a stop, of which it need not say anything

    def _room_bytes(self) -> int:
        """How long a frame may be: as the largest output that was wanted so far, which may come late, and some more."""
        return self._most_bytes + SPARE_FRAME_BYTES

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while (body := await read_frame(reader, self._room_bytes)) is not None:
                is_large = len(body) > LARGE_FRAME_BYTES
                self._hear(await asyncio.to_thread(heard, body) if is_large else heard(body))
        except (BrokenStreamError, Unreadable) as error:
            self._kill(f"it sent what nobody can read: {error}")
        else:
            self._end_group()  # it is ending; a program that it left would hold its pipes, and go on for ever

    def _hear(self, said: FromHost) -> None:
        """What it said counts. Raises: BrokenStreamError, it was asked nothing, or is not what it says."""
        self._owed -= 1
        if self._owed < 0:
            raise BrokenStreamError("it said more than it was asked")
        self._heard_at = self._loop.time()
        match said:
            case Ready(view=view) if view.provider != self._spawned.name:
                raise BrokenStreamError("it says that it is another provider")
            case Ready(view=view):
                if not self._view.done():
                    self._view.set_result(view)
            case Broken(fault=fault):
                if not self._view.done():
                    self._view.set_exception(ProviderBroken(fault_of(fault)))
            case Pong():
                pass
            case Giving(id=number):
                if (asked := self._open.get(number)) is not None:
                    asked.has_returned = True
            case _:
                if (asked := self._open.get(said.id)) is not None:
                    self._heed()  # what was noted before the answer counts before it
                    asked.settle(said)

    def _note(self, number: int) -> None:
        if (asked := self._open.get(number)) is not None:
            asked.note_sent()

    def _heed(self) -> None:
        """What it noted counts; once that cannot be told any more, everything that is open may have been sent."""
        try:
            self._notices.read(self._number)
        except BrokenStreamError as error:
            self._notices.close()
            for asked in self._open.values():
                asked.note_sent()
            self._kill(f"it sent what nobody can read: {error}")

    async def _look(self) -> None:
        """End a process that gives no sign of life while something is open."""
        while not self.ended.is_set():
            await asyncio.sleep(self._silence_s / 4)
            if not self._open:
                continue
            if self._loop.time() - self._heard_at > self._silence_s:
                self._kill(f"it gave no sign of life for {self._silence_s:g} s")
            else:
                self._tell(Ping())

    async def _await_end(self) -> None:
        """Tell everybody who waits, once the process is gone, why; what it noted before counts."""
        code = await self._spawned.process.wait()
        self._end_group()  # programs that it started and did not end
        self._looking.cancel()
        await asyncio.wait(self._reading, timeout=STOP_S)  # what it answered before counts
        for task in self._reading:
            task.cancel()  # a program that it started may hold its end of a pipe
        self._heed()
        reason = self._reason = self._reason or told(code, self._memory_bytes)
        for asked in self._open.values():
            asked.lose(reason)
        if not self._view.done():
            self._view.set_exception(HostLost(reason, is_sent=False))
        self._notices.close()
        self._writer.close()
        await asyncio.to_thread(self._spawned.clear)
        self.ended.set()

"""The host itself: it reads what it is asked, runs methods side by side, and answers each."""

import asyncio
import os
from collections.abc import Awaitable
from functools import partial

from toolbus_contracts.egress import EgressRules
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.values import Message
from toolbus_integrations.host.exchange import Exchange
from toolbus_integrations.host.frames import SENT, framed, read_frame
from toolbus_integrations.host.messages import (
    TO_HOST,
    Begin,
    Cancel,
    Check,
    Giving,
    Perform,
    Ping,
    Pong,
)
from toolbus_integrations.host.running import Runner
from toolbus_runtime.executing.clock import SystemClock

LARGE_FRAME_BYTES = 64 * 1024  # checking what is in one above this in the loop could hold up every other call
MAX_FRAME_BYTES = 128 * 1024 * 1024  # from the service, which bounds what it sends


class Host:
    """Serves one service over the two streams; `notices` is the pipe on which it is told what is sent."""

    def __init__(
        self,
        runner: Runner,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        notices: int,
        rules: EgressRules,
    ) -> None:
        self._runner = runner
        self._reader = reader
        self._writer = writer
        self._notices = notices
        self._rules = rules
        self._clock = SystemClock()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._returned: set[int] = set()

    async def serve(self) -> None:
        """Answer until the service has gone."""
        while (body := await read_frame(self._reader, lambda: MAX_FRAME_BYTES)) is not None:
            match TO_HOST.validate_json(body):
                case Ping():
                    await self.tell(Pong())
                case Cancel(id=number):
                    await self._cancel(number)
                case Check() as asked:
                    self._start(asked.id, self._check(asked, is_large=len(body) > LARGE_FRAME_BYTES))
                case Perform() as asked:
                    self._start(asked.id, self._perform(asked, is_large=len(body) > LARGE_FRAME_BYTES))
                case Begin():
                    raise AssertionError("a host begins once")

    async def tell(self, message: Message) -> None:
        """The message is on its way."""
        self._writer.write(framed(message.model_dump_json().encode()))
        await self._writer.drain()

    def _start(self, number: int, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._running[number] = task
        task.add_done_callback(lambda _: self._over(number))

    def _over(self, number: int) -> None:
        self._running.pop(number, None)
        self._returned.discard(number)

    async def _cancel(self, number: int) -> None:
        """A method that is still at work stops; what one gave that has returned is not thrown away."""
        if number in self._returned:
            await self.tell(Giving(id=number))
        elif (task := self._running.get(number)) is not None:
            task.cancel()

    async def _check(self, asked: Check, *, is_large: bool) -> None:
        await self.tell(await self._runner.checked(asked, is_large=is_large))

    async def _perform(self, asked: Perform, *, is_large: bool) -> None:
        exchange = Exchange(
            self._rules,
            self._clock,
            lambda: _note(self._notices, asked.id),
            send_by=asked.send_by,
            secrets=[Secret(name, value, hosts=asked.bindings.get(name, ())) for name, value in asked.secrets.items()],
        )
        noted = partial(self._returned.add, asked.id)
        await self.tell(await self._runner.run(asked, exchange, is_large=is_large, on_returned=noted))


def _note(pipe: int, number: int) -> None:
    """The service can read that this call may have sent something, whatever becomes of this process."""
    os.write(pipe, SENT.pack(number))

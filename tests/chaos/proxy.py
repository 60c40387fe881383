"""A TCP proxy between two parties, under whose weather what passes is slow, late, lost, or cut off."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal, Self

from tests.chaos.listener import Listener, abort

Weather = Literal["clear", "slow", "held", "lost", "reset", "half"]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Streams]]
CHUNK_BYTES = 65536


class Link:
    """
    Listens on a port of its own and passes every connection on to where `connect` leads.

    `clear` passes all; `slow` waits `delay_s` before each piece; `held` keeps everything back and lets it through
    when it clears, as a network does that comes back in time; `lost` throws everything away, and whoever lost
    something is cut off when it clears; `reset` cuts every connection, and each new one; `half` cuts each
    connection in the middle of the next answer.
    """

    def __init__(self, name: str, connect: Connect) -> None:
        self.name = name
        self._connect = connect
        self._weather: Weather = "clear"
        self._delay_s = 0.0
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._passages: set[Passage] = set()
        self._listener = Listener(self._serve)

    async def __aenter__(self) -> Self:
        await self._listener.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.__aexit__()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.port

    def turn(self, weather: Weather, *, delay_s: float = 0.0) -> None:
        """From now on this is the weather."""
        self._weather, self._delay_s = weather, delay_s
        if weather == "held":
            self._is_open.clear()
        else:
            self._is_open.set()
        if weather == "reset":
            for passage in tuple(self._passages):
                passage.cut()

    def clear(self) -> None:
        """Everything passes again, as it is; connections that lost something are cut."""
        for passage in tuple(self._passages):
            if passage.has_lost:
                passage.cut()
        self.turn("clear")

    async def pass_on(self, passage: "Passage", data: bytes, *, is_answer: bool) -> bytes:
        """What of these bytes goes on, in this weather; a passage that was cut is told so by nothing."""
        if self._weather == "slow":
            await asyncio.sleep(self._delay_s)
        await self._is_open.wait()
        match self._weather:
            case "lost":
                passage.has_lost = True
                return b""
            case "half" if is_answer:
                passage.is_ending = True
                return data[: len(data) // 2]
            case _:
                return data

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._weather == "reset":
            abort(writer)
            return
        try:
            far = await self._connect()
        except OSError:
            abort(writer)
            return
        passage = Passage(self, (reader, writer), far)
        self._passages.add(passage)
        try:
            await passage.run()
        finally:
            self._passages.discard(passage)


class Passage:
    """One connection through a link."""

    def __init__(self, link: Link, near: Streams, far: Streams) -> None:
        self.has_lost = False
        self.is_ending = False
        self._link = link
        self._near = near
        self._far = far

    async def run(self) -> None:
        """Pass bytes both ways until one side ends, or the passage is cut."""
        pumps = [
            asyncio.create_task(self._pump(self._near[0], self._far[1], is_answer=False)),
            asyncio.create_task(self._pump(self._far[0], self._near[1], is_answer=True)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for _, writer in (self._near, self._far):
                writer.close()

    def cut(self) -> None:
        """Both sides see a reset."""
        for _, writer in (self._near, self._far):
            abort(writer)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK_BYTES):
                sink.write(await self._link.pass_on(self, data, is_answer=is_answer))
                await sink.drain()
                if self.is_ending and is_answer:
                    await asyncio.sleep(0.01)  # the half has to arrive before the reset overtakes it
                    self.cut()
                    return

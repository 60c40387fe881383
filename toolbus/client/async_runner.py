"""Carrying out the steps of a flow in an event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TypeVar

import httpx

from toolbus.client import wire
from toolbus.client.exchange import FIRST_ERROR, Request
from toolbus.client.flows import AnyStream, Emit, Flow, Open, Opened, Pause, Read, Reply, Send, Step
from toolbus.client.location import Server

T = TypeVar("T")


class AsyncRunner:
    """Carries out flows, one step after the other."""

    def __init__(self, server: Server, timeout_s: float, transport: httpx.AsyncBaseTransport | None) -> None:
        self.server = server
        self._timeout_s = timeout_s
        self._http = httpx.AsyncClient(
            base_url=server.url,
            headers=wire.headers(server),
            transport=transport,
            limits=wire.LIMITS,
            trust_env=not wire.is_on_this_machine(server.url),
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def run(self, flow: Flow[T]) -> T:
        """Carry out a flow and give its result."""
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as done:
                result: T = done.value
                return result
            reply = await self._do(step)

    async def iterate(self, flow: AnyStream[T]) -> AsyncIterator[T]:
        """Carry out a flow and hand out its items; leaving early closes its stream."""
        pieces: AsyncIterator[str] | None = None
        reply: Reply = None
        async with AsyncExitStack() as stack:
            while True:
                try:
                    step = flow.send(reply)
                except StopIteration:
                    return
                match step:
                    case Emit():
                        yield step.item
                        reply = None
                    case Open():
                        await stack.aclose()
                        reply, pieces = await self._open(step.request, stack)
                    case Read():
                        reply = await self._read(pieces)
                    case _:
                        reply = await self._do(step)

    async def _do(self, step: Step) -> Reply:
        match step:
            case Pause():
                await asyncio.sleep(step.seconds)
                return None
            case Send():
                try:
                    request = wire.build(self._http, step.request, self._timeout_s, step.request.wait_s)
                    return wire.answer(await self._http.send(request))
                except wire.FAILURES as error:
                    return wire.lost(error)
            case _:
                raise TypeError(f"{step} needs a stream")

    async def _open(self, request: Request[object], stack: AsyncExitStack) -> tuple[Reply, AsyncIterator[str] | None]:
        try:
            built = wire.build(self._http, request, self._timeout_s, wire.SILENCE_S)
            response = await self._http.send(built, stream=True)
            stack.push_async_callback(response.aclose)
            if response.status_code >= FIRST_ERROR:
                await response.aread()
                return wire.answer(response), None
            return Opened(), response.aiter_text()
        except wire.FAILURES as error:
            return wire.lost(error), None

    async def _read(self, pieces: AsyncIterator[str] | None) -> Reply:
        if pieces is None:
            return None
        try:
            return await anext(pieces, None)
        except wire.FAILURES as error:
            return wire.lost(error)

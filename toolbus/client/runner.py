"""Carrying out the steps of a flow in the calling thread."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TypeVar

import httpx

from toolbus.client import wire
from toolbus.client.exchange import FIRST_ERROR, Request
from toolbus.client.flows import AnyStream, Emit, Flow, Open, Opened, Pause, Read, Reply, Send, Step
from toolbus.client.location import Server

T = TypeVar("T")


class Runner:
    """Carries out flows, one step after the other."""

    def __init__(self, server: Server, timeout_s: float, transport: httpx.BaseTransport | None) -> None:
        self.server = server
        self._timeout_s = timeout_s
        self._http = httpx.Client(
            base_url=server.url,
            headers=wire.headers(server),
            transport=transport,
            limits=wire.LIMITS,
            trust_env=not wire.is_on_this_machine(server.url),
        )

    def close(self) -> None:
        """Close every connection."""
        self._http.close()

    def run(self, flow: Flow[T]) -> T:
        """Carry out a flow and give its result."""
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as done:
                result: T = done.value
                return result
            reply = self._do(step)

    def iterate(self, flow: AnyStream[T]) -> Iterator[T]:
        """Carry out a flow and hand out its items; leaving early closes its stream."""
        pieces: Iterator[str] = iter(())
        reply: Reply = None
        with ExitStack() as stack:
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
                        stack.close()
                        reply, pieces = self._open(step.request, stack)
                    case Read():
                        reply = self._read(pieces)
                    case _:
                        reply = self._do(step)

    def _do(self, step: Step) -> Reply:
        match step:
            case Pause():
                time.sleep(step.seconds)
                return None
            case Send():
                try:
                    request = wire.build(self._http, step.request, self._timeout_s, step.request.wait_s)
                    return wire.answer(self._http.send(request))
                except wire.FAILURES as error:
                    return wire.lost(error)
            case _:
                raise TypeError(f"{step} needs a stream")

    def _open(self, request: Request[object], stack: ExitStack) -> tuple[Reply, Iterator[str]]:
        try:
            response = self._http.send(wire.build(self._http, request, self._timeout_s, wire.SILENCE_S), stream=True)
            stack.callback(response.close)
            if response.status_code >= FIRST_ERROR:
                response.read()
                return wire.answer(response), iter(())
            return Opened(), response.iter_text()
        except wire.FAILURES as error:
            return wire.lost(error), iter(())

    def _read(self, pieces: Iterator[str]) -> Reply:
        try:
            return next(pieces, None)
        except wire.FAILURES as error:
            return wire.lost(error)

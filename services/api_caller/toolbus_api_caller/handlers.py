"""
The routing table of this service: bus message → core.

    toolbus.work.api_call.<route>.<tenant>    durable, at least once    Executor.on_work, with `HttpEffect`

What exceptions mean to the durable is decided in `toolbus_runtime.bus.acking`.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

from toolbus_api_caller.core.concealing import concealed
from toolbus_api_caller.core.request import build_request
from toolbus_api_caller.core.response import HttpAnswer, judge_answer, wanted_of
from toolbus_contracts.executing.outcomes import Failure, Outcome, deadline_passed, judge_failure
from toolbus_contracts.executing.permits import Permit, is_late
from toolbus_contracts.references import secret_names
from toolbus_contracts.requests.request import NO_SECRETS, HttpRequest
from toolbus_contracts.work import WorkItem
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.runs import Run
from toolbus_runtime.secrets.held import HeldSecrets

Result = TypeVar("Result")
Given = ParamSpec("Given")
LARGE_BODY_BYTES = 256 * 1024  # reading JSON above this in the loop would hold up every other call


class Network(Protocol):
    """Sends one request and brings its answer, or why there is none."""

    def examine(self, request: HttpRequest) -> None:
        """Raises Refused for what is certainly not sent."""
        ...

    async def send(self, request: HttpRequest, permit: Permit, run: Run) -> HttpAnswer | Failure:
        """Never raises for what the network does; ends at once when the run is no longer wanted."""
        ...


class HttpEffect:
    """Runs an `api_call`: the one request that it stands for, and what the answer means."""

    def __init__(self, network: Network, clock: Clock, *, user_agent: str) -> None:
        self._network = network
        self._clock = clock
        self._user_agent = user_agent

    async def prepare(self, item: WorkItem, held: HeldSecrets, *, is_large: bool) -> HttpRequest:
        """The request. Raises: Refused, Unavailable."""
        names = secret_names(item.definition, item.setup)
        secrets = await held.resolve(names) if names else NO_SECRETS
        build = partial(build_request, item, user_agent=self._user_agent, secrets=secrets, redactor=held.redactor)
        request = await aside(is_large, build)
        self._network.examine(request)
        return request

    async def perform(self, item: WorkItem, prepared: HttpRequest, permit: Permit, run: Run) -> Outcome:
        """Send it, once."""
        found = await self._network.send(prepared, permit, run)
        if isinstance(found, Failure):
            if not found.is_sent and is_late(item, self._clock.now()):
                return deadline_passed()
            return judge_failure(found, item.terms)
        is_large, now = len(found.body) > LARGE_BODY_BYTES, self._clock.now()
        if prepared.redactor:
            found = await aside(is_large, concealed, found, prepared.redactor)
        return await aside(is_large, judge_answer, found, wanted_of(item, prepared), now)


async def aside(
    is_large: bool,  # noqa: FBT001 - how much there is to do comes first, then what, with its arguments
    work: Callable[Given, Result],
    *given: Given.args,
    **named: Given.kwargs,
) -> Result:
    """The result of the work, which was done in a thread when it is large."""
    return await asyncio.to_thread(work, *given, **named) if is_large else work(*given, **named)

"""
The routing table of this service: bus message → core.

    toolbus.work.api_call.<route>.<tenant>    durable, at least once    Handlers.on_work

What exceptions mean to the durable is decided in `toolbus_runtime.bus.acking`.
"""

import asyncio
from functools import lru_cache
from typing import Protocol

import orjson
from pydantic import ValidationError
from uuid_utils import uuid4

from toolbus_api_caller.adapters.bus import ExecutorBus, Work
from toolbus_api_caller.adapters.clock import Clock
from toolbus_api_caller.adapters.dispatcher import Dispatcher, Took
from toolbus_api_caller.adapters.payload_bucket import PayloadBucket
from toolbus_api_caller.adapters.runs import Run, Runs
from toolbus_api_caller.adapters.stopped import Stopped
from toolbus_api_caller.core.outcome import Failure, Outcome, deadline_passed, judge_failure, refused
from toolbus_api_caller.core.request import HttpRequest, build_request
from toolbus_api_caller.core.response import HttpAnswer, judge_answer, wanted_of
from toolbus_api_caller.core.start import Permit, is_late
from toolbus_contracts.errors import Fault, Refused, Unreadable
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import pointer
from toolbus_contracts.work import WorkItem
from toolbus_runtime.telemetry import count_effect

LARGE_BODY_BYTES = 256 * 1024  # reading JSON above this in the loop would hold up every other call


class Network(Protocol):
    """Sends one request and brings its answer, or why there is none."""

    def examine(self, request: HttpRequest) -> None:
        """Raises Refused for what is certainly not sent."""
        ...

    async def send(self, request: HttpRequest, permit: Permit, run: Run) -> HttpAnswer | Failure:
        """Never raises for what the network does; ends at once when the run is no longer wanted."""
        ...


class Handlers:
    """Carries out one attempt per delivery and tells the dispatcher what came of it."""

    def __init__(
        self,
        bus: ExecutorBus,
        network: Network,
        dispatcher: Dispatcher,
        clock: Clock,
        *,
        user_agent: str,
        runs: Runs,
        stopped: Stopped | None = None,
    ) -> None:
        self._bucket = PayloadBucket(bus)
        self._network = network
        self._dispatcher = dispatcher
        self._clock = clock
        self._user_agent = user_agent
        self._runs = runs
        self._stopped = stopped

    async def on_work(self, delivery: Work) -> None:
        """Carry out one attempt; its outcome is stored before the delivery is acknowledged."""
        item = read_work(delivery.data)
        if self._stopped is not None and self._stopped.is_ended(item.call_id):
            return
        is_doubtful = self._stopped is not None and self._stopped.is_doubtful(delivery.sequence)
        run = self._runs.begin(item.call_id, item.attempt)
        try:
            await self._run(item, run, is_doubtful=is_doubtful)
        finally:
            self._runs.done(run)

    async def _run(self, item: WorkItem, run: Run, *, is_doubtful: bool) -> None:
        delivery_id = uuid4().hex
        began_s = self._clock.steady_s()
        outcome = await self._attempt(item, delivery_id, run, is_doubtful=is_doubtful)
        if run.is_ended:
            outcome = None  # the call has its end: nobody waits for what came of this
        ended_s = self._clock.steady_s()
        took = Took(_ms(began_s, ended_s), None if run.sent_s is None else _ms(run.sent_s, ended_s))
        count_effect(outcome.result if outcome is not None else None, took.duration_ms)
        if outcome is not None:
            await self._dispatcher.report(item, delivery_id, outcome, took)

    async def _attempt(self, item: WorkItem, delivery_id: str, run: Run, *, is_doubtful: bool) -> Outcome | None:
        """What came of it, or nothing when the work is to be dropped. All that can be refused is, before the start."""
        if is_late(item, self._clock.now()):
            return deadline_passed()
        try:
            request = await self._request(item)
            self._network.examine(request)
        except Refused as error:
            return refused(error)
        permit = await self._dispatcher.start(item, delivery_id, is_doubtful=is_doubtful)
        if permit is None:
            return None
        return await self._judge(item, request, await self._network.send(request, permit, run))

    async def _request(self, item: WorkItem) -> HttpRequest:
        resolved = await self._bucket.resolved(item)
        if resolved is item:
            return build_request(item, user_agent=self._user_agent)
        return await asyncio.to_thread(build_request, resolved, user_agent=self._user_agent)

    async def _judge(self, item: WorkItem, request: HttpRequest, found: HttpAnswer | Failure) -> Outcome:
        if isinstance(found, Failure):
            if not found.is_sent and is_late(item, self._clock.now()):
                return deadline_passed()
            return judge_failure(found, item.terms)
        wanted, now = wanted_of(item, request), self._clock.now()
        if len(found.body) > LARGE_BODY_BYTES:
            return await asyncio.to_thread(judge_answer, found, wanted, now)
        return judge_answer(found, wanted, now)


def _ms(began_s: float, ended_s: float) -> float:
    return round((ended_s - began_s) * 1000, 3)


def read_work(data: bytes) -> WorkItem:
    """
    The work item that a message holds.

    Raises:
        Unreadable: it holds none.
    """
    try:
        said = orjson.loads(data)
        if isinstance(said, dict) and isinstance(said.get("definition"), dict):
            said["definition"] = _definition(orjson.dumps(said["definition"]))
        return WorkItem.model_validate(said)
    except orjson.JSONDecodeError as error:
        raise Unreadable("invalid_json", f"no work item: {error}") from error
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = tuple(Fault(pointer(*one["loc"]), one["msg"]) for one in found[:20])
        message = f"no work item: {faults[0].path or '/'}: {faults[0].message}"
        raise Unreadable("invalid_request", message, faults) from error


@lru_cache(maxsize=512)
def _definition(text: bytes) -> ToolDefinition:
    """Read a definition once: many calls in a row bring the same, and checking it is most of reading them."""
    return ToolDefinition.model_validate_json(text)

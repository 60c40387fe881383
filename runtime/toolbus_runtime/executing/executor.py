"""One delivery of work, from reading it to the outcome that is told. Source: DESIGN §5, start protocol."""

from functools import lru_cache
from typing import Protocol, TypeVar

import orjson
from pydantic import ValidationError
from uuid_utils import uuid4

from toolbus_contracts.errors import Fault, Refused, Unreadable
from toolbus_contracts.executing.outcomes import Outcome, deadline_passed, refused
from toolbus_contracts.executing.permits import Permit, is_late
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import pointer
from toolbus_contracts.work import PAYLOAD_THRESHOLD_BYTES, WorkItem
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.dispatcher import Dispatcher, Took
from toolbus_runtime.executing.executor_bus import ExecutorBus, Work
from toolbus_runtime.executing.payload_bucket import PayloadBucket
from toolbus_runtime.executing.runs import Run, Runs
from toolbus_runtime.executing.stopped import Stopped
from toolbus_runtime.secrets.held import HeldSecrets
from toolbus_runtime.secrets.resolver import Resolver
from toolbus_runtime.telemetry import count_effect

Prepared = TypeVar("Prepared")


class Effect(Protocol[Prepared]):
    """How one kind of tool is run: what can be refused is refused before anybody is asked for permission."""

    async def prepare(self, item: WorkItem, held: HeldSecrets, *, is_large: bool) -> Prepared:
        """
        The effect, ready to be made; the payloads of the item are in their places (`is_large`: it had some).

        Secrets that it needs come from `held` alone: what was resolved there is taken out of all that is told.

        Raises:
            Refused: it may not be made, and nothing was sent.
            Unavailable: it cannot be told now; the work comes again.
        """
        ...

    async def perform(self, item: WorkItem, prepared: Prepared, permit: Permit, run: Run) -> Outcome:
        """What came of it. `run.sent_s` is set just before the first byte may leave; never raises for the target."""
        ...


class Executor:
    """
    Carries out one attempt per delivery and tells the dispatcher what came of it.

    `takes_room`: there is room for the whole of what the effect may bring before it begins, since what it brings cannot
    be left where it is for a while.
    """

    def __init__(
        self,
        bus: ExecutorBus,
        effect: Effect[Prepared],
        dispatcher: Dispatcher,
        clock: Clock,
        *,
        runs: Runs,
        stopped: Stopped | None = None,
        secrets: Resolver | None = None,
        takes_room: bool = False,
    ) -> None:
        self._takes_room = takes_room
        self._bucket = PayloadBucket(bus)
        self._effect = effect
        self._dispatcher = dispatcher
        self._clock = clock
        self._runs = runs
        self._stopped = stopped
        self._secrets = secrets or Resolver()  # one without sources knows no secret

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
        with HeldSecrets(self._secrets, item) as held:
            try:
                resolved = await self._bucket.resolved(item)
                prepared = await self._effect.prepare(resolved, held, is_large=resolved is not item)
            except Refused as error:
                return await held.redacted(refused(error))
            if self._takes_room:
                await run.take_room(item.definition.max_output_bytes)  # what waits for room waits before its effect
                if is_late(item, self._clock.now()):
                    return deadline_passed()
            permit = await self._dispatcher.start(item, delivery_id, held.generations, is_doubtful=is_doubtful)
            if permit is None:
                return None
            outcome = await self._effect.perform(item, prepared, permit, run)
            if self._takes_room:
                run.keep_room(held_bytes(outcome))
            return await held.redacted(outcome)


def held_bytes(outcome: Outcome) -> int:
    """How much of an answer is held until it is told, at most: what travels inside of it is small."""
    return sum(map(len, outcome.large.values())) + PAYLOAD_THRESHOLD_BYTES


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

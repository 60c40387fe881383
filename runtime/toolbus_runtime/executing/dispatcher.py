"""The dispatcher, as an executor knows it: who permits an unsafe effect, and who takes the outcome."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import ValidationError

from toolbus_contracts import subjects
from toolbus_contracts.calls import RecordOutcome, StartAnswer, StartAttempt
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.permits import Permit, held_digest, needs_start, permit
from toolbus_contracts.work import WorkItem
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.executor_bus import ExecutorBus, patiently
from toolbus_runtime.executing.payload_bucket import PayloadBucket

ASK_TIMEOUT_S = 5.0


class Took(NamedTuple):
    """How long a run took, and how long it is since its request was handed to the socket, in milliseconds."""

    duration_ms: float
    response_ms: float | None


class Dispatcher:
    """`patience_s`: how long to ask and tell again while the bus or the dispatcher is away."""

    def __init__(self, bus: ExecutorBus, clock: Clock, *, executor: str, patience_s: float) -> None:
        self._bus = bus
        self._bucket = PayloadBucket(bus)
        self._clock = clock
        self._executor = executor
        self._patience_s = patience_s

    async def start(
        self, item: WorkItem, start_id: str, secrets: Mapping[str, int], *, is_doubtful: bool = False
    ) -> Permit | None:
        """
        The permission to send, with secrets of these generations; or nothing when the work is to be dropped.

        Asked only where it is needed, or when the call may have been stopped unheard (`is_doubtful`); the
        same `start_id` gets the same answer however often it is asked. Its times count from when we asked,
        by the dispatcher's clock: how our calendar stands does not matter, and a slow answer shortens them.

        Raises:
            Unavailable: no answer, or another executor holds the attempt.
        """
        if not is_doubtful and not needs_start(item):
            return permit(item, None, now=self._clock.now(), clock_s=self._clock.steady_s())
        question = StartAttempt(
            call_id=item.call_id,
            tenant=item.tenant,
            attempt=item.attempt,
            start_id=start_id,
            executor=self._executor,
            digest=held_digest(item, secrets),
        )
        data = question.model_dump_json().encode()
        asked_s, answer = await patiently(lambda: self._ask(data), self._clock, self._patience_s)
        return permit(item, answer, now=answer.answered_at or self._clock.now(), clock_s=asked_s)

    async def report(self, item: WorkItem, delivery_id: str, outcome: Outcome, took: Took) -> None:
        """
        The outcome is stored on the bus, its large parts before it.

        Raises:
            Unavailable: the bus was away for too long; the work will be delivered again.
        """

        async def tell() -> None:
            output = outcome.output
            if output is not None and outcome.large:
                output = await self._bucket.put_large(output, outcome.large)
            command = RecordOutcome(
                call_id=item.call_id,
                tenant=item.tenant,
                attempt=item.attempt,
                delivery_id=delivery_id,
                executor=self._executor,
                result=outcome.result,
                output=output,
                error=outcome.error,
                asked=outcome.asked,
                retry_after_s=outcome.retry_after_s,
                response_ms=took.response_ms,
                duration_ms=took.duration_ms,
            )
            await self._bus.publish(subjects.OUTCOME, command.model_dump_json().encode())

        await patiently(tell, self._clock, self._patience_s)

    async def _ask(self, data: bytes) -> tuple[float, StartAnswer]:
        asked_s = self._clock.steady_s()
        reply = await self._bus.request(subjects.START, data, timeout_s=ASK_TIMEOUT_S)
        try:
            return asked_s, StartAnswer.model_validate_json(reply.data)
        except ValidationError as error:
            raise Unavailable("the dispatcher gave no answer to start") from error

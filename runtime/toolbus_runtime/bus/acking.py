"""
What an exception of a handler means to the bus, decided and done in this one place.

    nothing raised      acknowledged
    Refused             acknowledged: the handler recorded the refusal
    Unreadable          to DEAD, then terminated
    StreamMoved         delivered again after a delay that grows with the deliveries
    Unavailable         the same, never sooner than its `retry_after_s`
    anything else       a fault of ours: logged, delivered again, to DEAD at the last delivery allowed
"""

from dataclasses import dataclass

import orjson
import structlog

from toolbus_contracts.errors import Refused, StreamMoved, ToolbusError, Unavailable, Unreadable
from toolbus_contracts.subjects import dead, subject_token, tenant_of
from toolbus_runtime.bus import epitaph
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import SECOND_NS, Delivery
from toolbus_runtime.bus.replies import send
from toolbus_runtime.bus.translate import NATS_ERRORS
from toolbus_runtime.telemetry import DEAD_LETTERS

log = structlog.get_logger(__name__)
ACK, TERM, IN_PROGRESS = b"+ACK", b"+TERM", b"+WPI"
MAX_DELIVERIES = 20
MAX_DELAY_S = 60.0
NOBODY = "_"  # no tenant can have this name
_GROWS_UNTIL = 16  # 2 ** 16 is far past the longest delay


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """The message is done."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The message comes again after `delay_s` seconds."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Bury:
    """The message goes to DEAD with this reason and never comes again."""

    reason: str


Answer = Acknowledge | Retry | Bury


def answer_to(error: BaseException, num_delivered: int, *, max_deliveries: int = MAX_DELIVERIES) -> Answer:
    """Decide what an exception means for the message that was delivered `num_delivered` times."""
    match error:
        case Refused():
            return Acknowledge()
        case Unreadable():
            return Bury(error.code)
        case StreamMoved():
            return Retry(_grown(0.05, num_delivered))
        case Unavailable():
            return Retry(max(min(error.retry_after_s, MAX_DELAY_S), _grown(0.25, num_delivered)))
        case _ if num_delivered >= max_deliveries:
            return Bury("too_many_deliveries")
        case _:
            return Retry(_grown(0.5, num_delivered))


def _grown(first_s: float, num_delivered: int) -> float:
    """Double with each delivery, up to a minute."""
    return min(MAX_DELAY_S, first_s * 2.0 ** min(num_delivered - 1, _GROWS_UNTIL))


def nack(delay_s: float) -> bytes:
    """The answer that brings a message back after `delay_s` seconds, a millisecond at least."""
    return b"-NAK " + orjson.dumps({"delay": max(int(delay_s * SECOND_NS), SECOND_NS // 1000)})


class Acking:
    """Gives JetStream the answer to each delivery."""

    def __init__(self, bus: Bus, *, max_deliveries: int = MAX_DELIVERIES) -> None:
        self._bus = bus
        self._max_deliveries = max_deliveries

    async def failed(self, delivery: Delivery, error: BaseException) -> None:
        """The exception of the handler has been answered; nothing is lost when answering fails."""
        answer = answer_to(error, delivery.num_delivered, max_deliveries=self._max_deliveries)
        if not isinstance(error, ToolbusError):
            log.error("message.failed", **_facts(delivery), exc_info=error)
        match answer:
            case Acknowledge():
                await self.tell(delivery, ACK)
            case Retry(delay_s):
                log.info("message.retry_scheduled", **_facts(delivery), delay_s=delay_s, error=str(error))
                await self.tell(delivery, nack(delay_s))
            case Bury(reason):
                await self._bury(delivery, reason, error)

    async def tell(self, delivery: Delivery, answer: bytes) -> None:
        """The answer is on its way; when the connection refuses it, the message comes again by itself."""
        try:
            await send(self._bus.client, delivery.reply, "", data=answer, headers=None)
        except (*NATS_ERRORS, ToolbusError) as error:
            log.warning("message.unanswered", **_facts(delivery), error=str(error))

    async def _bury(self, delivery: Delivery, reason: str, error: BaseException) -> None:
        subject = dead(_tenant(delivery), subject_token(reason))
        try:
            await self._bus.publish(subject, delivery.data, epitaph.write(delivery, error))
        except ToolbusError as failure:
            log.warning("message.burial_failed", **_facts(delivery), reason=reason, error=str(failure))
            await self.tell(delivery, nack(_grown(1.0, delivery.num_delivered)))
            return
        log.warning("message.buried", **_facts(delivery), reason=reason, error=str(error))
        DEAD_LETTERS.inc()
        await self.tell(delivery, TERM)


def _tenant(delivery: Delivery) -> str:
    """
    Whose message it was: the tenant that the subject names.

    Where it names none, services alone publish, and say in the message for whom. What says nothing is nobody's.
    """
    named = tenant_of(delivery.subject)
    if named is not None:
        return named
    try:
        said = orjson.loads(delivery.data)
    except orjson.JSONDecodeError:
        return NOBODY
    tenant = said.get("tenant") if isinstance(said, dict) else None
    return subject_token(tenant) if isinstance(tenant, str) else NOBODY


def _facts(delivery: Delivery) -> dict[str, str | int]:
    return {
        "subject": delivery.subject,
        "stream": delivery.stream,
        "sequence": delivery.sequence,
        "num_delivered": delivery.num_delivered,
    }

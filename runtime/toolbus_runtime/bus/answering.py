"""Answering requests on the bus: what was asked for, or the problem, as HTTP would have told it."""

from collections.abc import Awaitable, Callable

import orjson
import structlog

from toolbus_contracts.errors import ToolbusError, Unavailable
from toolbus_contracts.problems import problem
from toolbus_contracts.values import Json
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming

log = structlog.get_logger(__name__)
Answer = dict[str, Json]


async def answer(bus: Bus, message: Incoming, work: Callable[[], Awaitable[Answer]]) -> None:
    """Do the work and respond with its answer, or with the problem that it came to."""
    try:
        told = await work()
    except ToolbusError as error:
        told = {"status": error.status, "problem": problem(error)}
        if isinstance(error, Unavailable):
            told["retry_after_s"] = error.retry_after_s
    except Exception:  # as on HTTP: whoever asks hears that the fault is ours, instead of nothing
        log.exception("ask.failed", subject=message.subject)
        told = {"status": 500, "problem": problem(ToolbusError("internal", "something broke; it was logged"))}
    await bus.respond(message, orjson.dumps(told))

"""Describing: what whoever runs providers and MCP servers says of a tool that somebody defines."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

import orjson
from pydantic import ValidationError

from toolbus_contracts import subjects
from toolbus_contracts.digests import fingerprint
from toolbus_contracts.errors import CODES, Fault, Refused, Unavailable
from toolbus_contracts.tools import DESCRIBED_TYPES, DescribeTool, Surface, ToolDefinition, ToolSurface
from toolbus_contracts.values import Json

ASK_TIMEOUT_S: Final = 5.0
MAX_KEPT: Final = 1024
KEPT_S: Final = 60.0  # calls that bring their definition may come thousandfold; a server may be renewed meanwhile
Described = Surface | Refused | None  # none: tools of this type say for themselves what they take


class Reply(Protocol):
    """An answer from the bus."""

    @property
    def data(self) -> bytes:
        """What it says."""
        ...


class Asking(Protocol):
    """What this needs of the bus."""

    async def request(self, subject: str, data: bytes, *, timeout_s: float) -> Reply:
        """The answer. Raises: Unavailable."""
        ...


class Describing:
    """Asks for surfaces; keeps those of definitions that calls bring along for a while."""

    def __init__(self, bus: Asking, clock: Callable[[], float] = time.monotonic) -> None:
        self._bus = bus
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, Surface]] = OrderedDict()

    async def surface(self, tenant: str, definition: ToolDefinition) -> Surface | None:
        """
        The surface of a tool that is being defined, as it is now.

        Raises:
            Refused: `invalid_definition`, there is no such provider, server or tool.
            Unavailable: nobody answers.
        """
        if definition.tool_type not in DESCRIBED_TYPES:
            return None
        question = DescribeTool(tenant=tenant, definition=definition)
        data = question.model_dump_json(by_alias=True, exclude_none=True).encode()
        reply = await self._bus.request(subjects.DESCRIBE, data, timeout_s=ASK_TIMEOUT_S)
        return _read(reply.data)

    async def of_call(self, tenant: str, definition: ToolDefinition) -> Described:
        """
        The surface of a tool that a call brought along, or what there is against it, which is told of the call.

        Raises:
            Unavailable: nobody answers.
        """
        if definition.tool_type not in DESCRIBED_TYPES:
            return None
        name = fingerprint([tenant, definition.tool_type, definition.section()])
        kept = self._kept.get(name)
        if kept is not None and self._clock() - kept[0] < KEPT_S:
            return kept[1]
        try:
            surface = await self.surface(tenant, definition)
        except Refused as refusal:
            return refusal
        if surface is not None:
            self._keep(name, surface)
        return surface

    def _keep(self, name: str, surface: Surface) -> None:
        self._kept.pop(name, None)
        self._kept[name] = (self._clock(), surface)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


def _read(data: bytes) -> Surface:
    """The surface that an answer holds. Raises: Refused, Unavailable."""
    try:
        answer: Json = orjson.loads(data)
        problem = answer.get("problem")
        if problem is None:
            return ToolSurface.model_validate(answer).surface
        faults = tuple(Fault(one["path"], one["message"]) for one in problem.get("errors", ()))
        code, told = str(problem["code"]), str(problem["detail"])
    except (orjson.JSONDecodeError, ValidationError, AttributeError, KeyError, TypeError) as error:
        raise Unavailable("no answer that tells what this tool takes") from error
    if code not in CODES or CODES[code].status >= 500:  # noqa: PLR2004 - theirs to mend, so that it may be asked again
        raise Unavailable(f"what this tool takes cannot be told now: {told}", float(answer.get("retry_after_s") or 1.0))
    raise Refused("invalid_definition", told, faults)

"""The shapes of answers that are no view of one thing: results, events, what a key may do. They only describe."""

from typing import Any, Literal

from pydantic import Field

from toolbus_contracts.calls import CallView
from toolbus_contracts.dead import DeadLetterView
from toolbus_contracts.keys import Actor, Scope
from toolbus_contracts.tools import ToolView
from toolbus_contracts.values import Json
from toolbus_runtime.http.shapes import Page, Problem, Shape

Shaped = ToolView | dict[str, Any]  # a tool, or what `format` makes of it


class DeadPage(Page[DeadLetterView]):
    """A page of dead letters."""

    counts: dict[str, int] = Field(description="how many letters the tenant has in all, by their reason")


class Taken(Shape):
    """A call of a batch that was taken."""

    status: Literal[202]
    call: CallView


class Turned(Shape):
    """A call of a batch that was not taken."""

    status: int
    problem: Problem


class BatchAnswer(Shape):
    """What came of each call of a batch, in order."""

    items: list[Taken | Turned]


class EventView(Shape):
    """A stored event."""

    position: int
    id: str
    kind: str
    category: str
    subject_id: str
    version: int
    data: dict[str, Json]
    actor: Actor
    correlation_id: str
    causation_id: str
    recorded_at: str = Field(json_schema_extra={"format": "date-time"})
    hash: str


class PayloadAnswer(Shape):
    """The reference that stands for an uploaded value."""

    payload: str = Field(alias="$payload", pattern=r"^sha256:[0-9a-f]{64}$")
    bytes: int


class Me(Shape):
    """What a key is and may do."""

    tenant: str
    subject: str
    roles: list[str]
    scopes: list[Scope]
    key_id: str

"""The shapes of answers that are no view of one thing: pages, results, problems. They only describe."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from toolbus_contracts.calls import CallView
from toolbus_contracts.dead import DeadLetterView
from toolbus_contracts.keys import Actor, Scope
from toolbus_contracts.tools import ToolView
from toolbus_contracts.values import Json

Item = TypeVar("Item")
Shaped = ToolView | dict[str, Any]  # a tool, or what `format` makes of it


class Shape(BaseModel):
    """Base of the shapes: closed, so that the document promises neither less nor more than is told."""

    model_config = ConfigDict(extra="forbid")


class Page(Shape, Generic[Item]):
    """A page of a list; `next_cursor` is null on the last one."""

    items: list[Item]
    next_cursor: str | None


class DeadPage(Page[DeadLetterView]):
    """A page of dead letters."""

    counts: dict[str, int] = Field(description="how many letters the tenant has in all, by their reason")


class FaultView(Shape):
    """One thing that is wrong with an input."""

    path: str = Field(description="JSON Pointer (RFC 6901) into the body, or /query, /path or /headers and a name")
    message: str


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="stable; see errors.md")
    next_step: str
    errors: list[FaultView] = Field(default=[], description="what is wrong with an input, at most 100")
    instance: str = Field(default="", description="the path that was asked for")
    call_id: str = Field(default="", description="the call that was refused on the record")


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


class Version(Shape):
    """The version of the server."""

    version: str


class Health(Shape):
    """The process runs."""

    ok: Literal[True]


class CheckView(Shape):
    """What one check found."""

    name: str
    ok: bool
    detail: str
    hint: str


class Readiness(Shape):
    """Whether everything is there that the service depends on."""

    ready: bool
    checks: list[CheckView]

"""The shapes of answers that every service gives: pages, problems, health. They only describe."""

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Shape(BaseModel):
    """Base of the shapes: closed, so that the document promises neither less nor more than is told."""

    model_config = ConfigDict(extra="forbid")


class Page(Shape, Generic[Item]):
    """A page of a list; `next_cursor` is null on the last one."""

    items: list[Item]
    next_cursor: str | None


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

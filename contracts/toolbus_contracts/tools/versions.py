"""Versions of a tool: events, state, and what people see."""

from datetime import datetime
from functools import cached_property
from operator import not_
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import Field, TypeAdapter

from toolbus_contracts.errors import NotFound
from toolbus_contracts.tools.definitions import ToolDefinition, ToolType
from toolbus_contracts.tools.surfaces import Surface
from toolbus_contracts.tools.terms import Terms
from toolbus_contracts.values import Json, Message


class ToolDefined(Message):
    """A version of the tool exists from now on; `surface` is what its provider or server said of it then."""

    kind: Literal["tool.defined.v1"] = "tool.defined.v1"
    scope: str
    version: int
    definition: ToolDefinition
    definition_hash: str
    surface: Surface | None = Field(None, exclude_if=not_)
    at: datetime


class ToolRetired(Message):
    """The tool takes no new calls; its history stays readable."""

    kind: Literal["tool.retired.v1"] = "tool.retired.v1"
    scope: str
    name: str
    at: datetime


ToolEvent: TypeAlias = Annotated[ToolDefined | ToolRetired, Field(discriminator="kind")]
tool_events: TypeAdapter[ToolDefined | ToolRetired] = TypeAdapter(ToolEvent)


class ToolVersion(Message):
    """One version of a tool."""

    scope: str
    version: int
    definition: ToolDefinition
    definition_hash: str
    defined_at: datetime
    surface: Surface | None = None

    @cached_property
    def terms(self) -> Terms:
        """The contract in force; looked at several times for each call."""
        return self.definition.terms(self.surface)

    @cached_property
    def attempt_s(self) -> float:
        """How long one attempt may take, in seconds."""
        return self.definition.attempt_s(self.surface)


class Tool(Message):
    """State of one tool: its versions, oldest first."""

    versions: tuple[ToolVersion, ...] = ()
    retired_at: datetime | None = None

    @property
    def latest(self) -> ToolVersion | None:
        """The version that new calls get, or none when the tool is retired or was never defined."""
        return self.versions[-1] if self.versions and self.retired_at is None else None

    def version(self, number: int) -> ToolVersion:
        """
        One version by its number.

        Raises:
            NotFound: no such version.
        """
        if not 1 <= number <= len(self.versions):
            raise NotFound(f"there is no version {number}; the latest is {len(self.versions)}")
        return self.versions[number - 1]


def evolve_tool(tool: Tool, event: ToolDefined | ToolRetired) -> Tool:
    """Apply one stored event to the state of a tool."""
    match event:
        case ToolDefined():
            added = ToolVersion(
                scope=event.scope,
                version=event.version,
                definition=event.definition,
                definition_hash=event.definition_hash,
                defined_at=event.at,
                surface=event.surface,
            )
            return Tool(versions=(*tool.versions, added))
        case ToolRetired():
            return tool.model_copy(update={"retired_at": event.at})
        case _:
            assert_never(event)


class ToolView(Message):
    """A tool version as people see it."""

    name: str
    scope: str
    type: ToolType
    description: str
    version: int
    definition_hash: str
    contract: Terms
    definition: Json
    surface: Surface | None = Field(None, description="what the provider or the server said of it, when it was defined")
    defined_at: datetime
    retired_at: datetime | None = None


def view_tool(version: ToolVersion, retired_at: datetime | None = None) -> ToolView:
    """Show one version of a tool."""
    definition = version.definition
    return ToolView(
        name=definition.name,
        scope=version.scope,
        type=definition.tool_type,
        description=definition.description,
        version=version.version,
        definition_hash=version.definition_hash,
        contract=version.terms,
        definition=definition.model_dump(mode="json", by_alias=True, exclude_none=True),
        surface=version.surface,
        defined_at=version.defined_at,
        retired_at=retired_at,
    )


def tool_stream_id(scope: str, name: str) -> str:
    """The id of a tool's stream inside its tenant."""
    return f"{scope}:{name}"

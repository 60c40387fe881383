"""
Stored setup and arguments: what a tenant, agent, user, task or session has once, so that calls need not bring it.

The rule: for every key, what is stored wins over the definition, which wins over the call; of several levels that
store the same key, the nearest wins: session, task, user, agent, tenant. `overlaid` brings the levels together,
`merged` puts them over definition and call. The keys of an `api_call`'s setup are parts of its section, objects each,
in which the rule holds once more for every key.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias, assert_never, get_args

from pydantic import Field, StringConstraints, TypeAdapter

from toolbus_contracts.digests import digest
from toolbus_contracts.tools.definitions import ToolType
from toolbus_contracts.tools.policies import JsonObject
from toolbus_contracts.values import Json, Message

Level = Literal["session", "task", "user", "agent", "tenant"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)  # the nearest first
LevelId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9:._@+-]{0,127}$")]
HEADERS: Final = "headers"  # the part of a request whose keys are compared without case
OF_TENANT: Final = "all"  # the id that the level `tenant` has
STORABLE_TYPES: Final[frozenset[ToolType]] = frozenset({"api_call", "integration", "mcp"})
MAX_STORED_CHARS: Final = 16 * 1024  # of setup, and of arguments: five levels must fit into one event


class CallContext(Message):
    """Whose stored values hold for a call, besides those of its tenant."""

    session: LevelId | None = None
    task: LevelId | None = None
    user: LevelId | None = None
    agent: LevelId | None = None


class StoredValues(Message):
    """Setup and arguments for one tool at one level. Texts `secret://name` in `setup` are references to secrets."""

    setup: JsonObject = Field(default_factory=dict)
    arguments: JsonObject = Field(default_factory=dict)


class ValuesStored(Message):
    """These values hold from now on, in place of those before."""

    kind: Literal["stored.set.v1"] = "stored.set.v1"
    level: Level
    level_id: str
    tool: str
    values: StoredValues
    at: datetime


class ValuesRemoved(Message):
    """Nothing is stored here any more."""

    kind: Literal["stored.removed.v1"] = "stored.removed.v1"
    level: Level
    level_id: str
    tool: str
    at: datetime


StoredEvent: TypeAlias = Annotated[ValuesStored | ValuesRemoved, Field(discriminator="kind")]
stored_events: TypeAdapter[ValuesStored | ValuesRemoved] = TypeAdapter(StoredEvent)


class Stored(Message):
    """State of one place: what is stored there for a tool, if anything."""

    level: Level
    level_id: str
    tool: str
    values: StoredValues | None


def evolve_stored(_: Stored | None, event: ValuesStored | ValuesRemoved) -> Stored:
    """Apply one stored event: each says all there is."""
    match event:
        case ValuesStored(values=values):
            return Stored(level=event.level, level_id=event.level_id, tool=event.tool, values=values)
        case ValuesRemoved():
            return Stored(level=event.level, level_id=event.level_id, tool=event.tool, values=None)
        case _:
            assert_never(event)


class StoredView(Message):
    """What is stored for a tool at a level, as people see it."""

    level: Level
    level_id: str
    tool: str
    setup: JsonObject
    arguments: JsonObject


def stored_stream_id(level: str, level_id: str, tool: str) -> str:
    """The id of the stream that holds what is stored; a tool's name has no colon, so that no two are alike."""
    return f"{level}:{tool}:{level_id}"


def places_of(context: CallContext | None, tool: str) -> tuple[str, ...]:
    """The ids of the streams that hold for a call, the nearest level first; that of the tenant is always among them."""
    of_tenant = f"tenant:{tool}:{OF_TENANT}"
    if context is None:
        return (of_tenant,)
    near = ((level, getattr(context, level)) for level in LEVELS if level != "tenant")
    return (*(stored_stream_id(level, level_id, tool) for level, level_id in near if level_id is not None), of_tenant)


NOTHING: Final = StoredValues()


def overlaid(stored: Iterable[Stored | None], tool_type: ToolType) -> StoredValues:
    """What several levels store together for a tool, given the nearest first: per key, the nearest."""
    found = [one.values for one in stored if one is not None and one.values is not None]
    if not found:
        return NOTHING
    setup: JsonObject = {}
    arguments: JsonObject = {}
    for values in found:
        setup = over(setup, values.setup, tool_type)
        arguments = {**values.arguments, **arguments}
    return StoredValues(setup=setup, arguments=arguments)


def over(near: Mapping[str, Json], far: Mapping[str, Json], tool_type: ToolType) -> JsonObject:
    """One setup over another: per key, and of an `api_call` per key of each part; a part that is no object yields."""
    found = {**far, **near}
    if tool_type == "api_call":
        for part in near.keys() & far.keys():
            found[part] = part_over(part, near[part], far[part])
    return found


def part_over(part: str, near: Json, far: Json) -> Json:
    """
    One part of a request over another, per key where both are objects.

    Two spellings of a header are one header, and the nearer one stays. Source: RFC 9110 §5.1.
    """
    if not (isinstance(near, Mapping) and isinstance(far, Mapping)):
        return near
    if part == HEADERS:
        named = {name.lower() for name in near}
        far = {name: value for name, value in far.items() if name in near or name.lower() not in named}
    return {**far, **near}


def merged(stored: Mapping[str, Json], definition: Mapping[str, Json], call: Mapping[str, Json]) -> JsonObject:
    """Setup, or arguments, as they hold: per key, stored over definition over call."""
    return {**call, **definition, **stored}


def stored_digest(values: StoredValues) -> str | None:
    """Digest of all that is stored for a call; none when nothing is."""
    if not values.setup and not values.arguments:
        return None
    return digest({"setup": values.setup, "arguments": values.arguments})

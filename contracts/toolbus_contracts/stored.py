"""
Stored setup and arguments: what a tenant, agent, user, task or session has once, so that calls need not bring it.

The rule is `merged`: for every key, what is stored wins over the definition, which wins over the call; of several
levels that store the same key, the nearest wins: session, task, user, agent, tenant.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias, assert_never, get_args

from pydantic import Field, StringConstraints, TypeAdapter

from toolbus_contracts.tools.policies import JsonObject
from toolbus_contracts.values import Json, Message

Level = Literal["session", "task", "user", "agent", "tenant"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)  # the nearest first
LevelId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9:._@+-]{0,127}$")]
OF_TENANT: Final = "all"  # the id that the level `tenant` has


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


def evolve_stored(values: StoredValues | None, event: ValuesStored | ValuesRemoved) -> StoredValues | None:
    """Apply one stored event; nothing is there before the first, and after a removal."""
    del values  # each event says all there is
    match event:
        case ValuesStored():
            return event.values
        case ValuesRemoved():
            return None
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
    of = context or CallContext()
    near = ((level, getattr(of, level)) for level in LEVELS if level != "tenant")
    found = [stored_stream_id(level, level_id, tool) for level, level_id in near if level_id is not None]
    return (*found, stored_stream_id("tenant", OF_TENANT, tool))


def overlaid(stored: Iterable[StoredValues | None]) -> StoredValues:
    """What several levels store together, given the nearest first: per key, the nearest."""
    setup: JsonObject = {}
    arguments: JsonObject = {}
    for values in stored:
        if values is not None:
            setup = {**values.setup, **setup}
            arguments = {**values.arguments, **arguments}
    return StoredValues(setup=setup, arguments=arguments)


def merged(stored: Mapping[str, Json], definition: Mapping[str, Json], call: Mapping[str, Json]) -> JsonObject:
    """Setup, or arguments, as they hold: per key, stored over definition over call."""
    return {**call, **definition, **stored}

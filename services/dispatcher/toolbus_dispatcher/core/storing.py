"""Decide about stored values: what is kept for a tool, so that calls need not bring it."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from toolbus_contracts.digests import fingerprint
from toolbus_contracts.errors import Fault, NotFound, Refused
from toolbus_contracts.references import PARTS, WHOLE_TEXT
from toolbus_contracts.secrets import SCHEME, name_in
from toolbus_contracts.stored import (
    HEADERS,
    MAX_STORED_CHARS,
    OF_TENANT,
    STORABLE_TYPES,
    Level,
    Stored,
    StoredValues,
    ValuesRemoved,
    ValuesStored,
)
from toolbus_contracts.tools import Tool, ToolVersion
from toolbus_contracts.values import Json, compact, fault_path
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_dispatcher.core.surfaces import setup_faults


class Place(NamedTuple):
    """Where values are stored: at a level, for whom, for which tool."""

    level: Level
    level_id: str
    tool: str


def decide_store(
    values: StoredValues, stored: Stored | None, place: Place, *, tool: Tool, now: datetime
) -> tuple[ValuesStored, ...]:
    """
    Store values in place of those before; the same ones again add nothing.

    `tool` is the tenant's tool of that name: while it is in use, what is stored must be of use to it.

    Raises:
        Refused: `invalid_request`, with the path.
    """
    faults = (*_faults(values, place), *(_unfit(values, tool.latest) if tool.latest else ()))
    if faults:
        raise Refused("invalid_request", faults[0].message, faults)
    if stored is not None and stored.values is not None and _text(stored.values) == _text(values):
        return ()
    return (ValuesStored(level=place.level, level_id=place.level_id, tool=place.tool, values=values, at=now),)


def decide_remove(stored: Stored | None, place: Place, *, now: datetime) -> tuple[ValuesRemoved, ...]:
    """
    Store nothing there any more.

    Raises:
        NotFound: nothing is stored there.
    """
    known(stored, place)
    return (ValuesRemoved(level=place.level, level_id=place.level_id, tool=place.tool, at=now),)


def known(stored: Stored | None, place: Place) -> StoredValues:
    """
    What is stored at a place.

    Raises:
        NotFound: nothing is.
    """
    if stored is None or stored.values is None:
        raise NotFound(f"nothing is stored for {place.tool} at {place.level} {place.level_id}")
    return stored.values


def _faults(values: StoredValues, place: Place) -> Iterator[Fault]:
    """What no tool could use."""
    if (place.level == "tenant") != (place.level_id == OF_TENANT):
        yield Fault("/path/level_id", f"the level tenant has the id {OF_TENANT}, and no other level has it")
    for name, part in (("setup", values.setup), ("arguments", values.arguments)):
        if len(compact(part)) > MAX_STORED_CHARS:
            yield Fault(f"/{name}", f"at most {MAX_STORED_CHARS} characters can be stored here")
    yield from _misplaced(values.setup, "setup", may_refer=True)
    yield from _misplaced(values.arguments, "arguments", may_refer=False)


def _misplaced(value: Json, *path: str | int, may_refer: bool) -> Iterator[Fault]:
    """References that nobody would follow: to payloads, and to secrets outside of setup or inside of a text."""
    match value:
        case str() if SCHEME in value and not may_refer:
            yield Fault(fault_path(*path), "no secret is filled in here, but in setup")
        case str() if SCHEME in value and name_in(value) is None:
            yield Fault(fault_path(*path), WHOLE_TEXT)
        case Mapping():
            if PAYLOAD_KEY in value:
                yield Fault(fault_path(*path), "a payload cannot be stored here")
            for key, item in value.items():
                yield from _misplaced(item, *path, key, may_refer=may_refer)
        case list():
            for index, item in enumerate(value):
                yield from _misplaced(item, *path, index, may_refer=may_refer)
        case _:
            pass


def _unfit(values: StoredValues, version: ToolVersion) -> Iterator[Fault]:
    """What this tool could not use, or must not: secrets that are written out."""
    definition, surface = version.definition, version.surface
    if definition.tool_type not in STORABLE_TYPES:
        yield Fault("", f"{definition.name} is of type {definition.tool_type}, for which nothing is stored")
    elif definition.tool_type == "mcp" and values.setup:
        yield Fault("/setup", "what an MCP server needs is part of the server; only arguments are stored")
    elif definition.tool_type == "api_call":
        for name, part in values.setup.items():
            if name not in PARTS:
                yield Fault(fault_path("setup", name), f"the setup of an api_call has {', '.join(PARTS)}")
            elif not isinstance(part, Mapping):
                yield Fault(fault_path("setup", name), "a part of a request is an object")
            elif name == HEADERS and len({header.lower() for header in part}) < len(part):
                yield Fault(fault_path("setup", name), "two spellings of one header")
    elif definition.tool_type == "integration" and surface is not None:
        yield from setup_faults(values.setup, surface.setup, "setup")


def _text(values: StoredValues) -> str:
    """By text: Python holds 1, 1.0 and true to be equal and JSON does not."""
    return fingerprint(values.model_dump(mode="json"))

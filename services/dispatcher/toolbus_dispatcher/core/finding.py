"""Which definition a call runs, and what is stored for it."""

from collections.abc import Callable
from datetime import datetime

from toolbus_contracts.errors import Refused
from toolbus_contracts.stored import NOTHING, STORABLE_TYPES, CallContext, Stored, StoredValues, overlaid, places_of
from toolbus_contracts.tools import Surface, Tool, ToolDefinition, ToolType, ToolVersion
from toolbus_dispatcher.core.resources import check_definition

FindTool = Callable[[str, str], Tool]  # (scope, name) → the tool, empty when it was never defined
FindStored = Callable[[str], Stored | None]  # the place, as `places_of` names it → what is stored there
Described = Surface | Refused | None


def find_version(
    said: str | ToolDefinition, described: Described, *, scopes: tuple[str, ...], find_tool: FindTool, now: datetime
) -> ToolVersion:
    """
    The definition that a call runs: its own, with what is said of its tool, or the nearest one of that name.

    Raises:
        Refused: `unknown_tool`; `not_found` for a version that is not there; `invalid_definition` for one of its own.
    """
    if not isinstance(said, str):
        return _own_version(said, described, now)
    name, _, number = said.partition("@")
    for scope in (*scopes, "tenant"):
        tool = find_tool(scope, name)
        if tool.latest is not None:
            return tool.version(int(number)) if number else tool.latest
    raise Refused("unknown_tool", f"there is no tool {name!r}")


def _own_version(own: ToolDefinition, described: Described, now: datetime) -> ToolVersion:
    """The definition that a call brought along."""
    if isinstance(described, Refused):
        raise described
    check_definition(own, described)
    found = own.definition_hash(described)
    return ToolVersion(
        scope="call", version=0, definition=own, definition_hash=found, defined_at=now, surface=described
    )


def stored_for(context: CallContext | None, tool: str, tool_type: ToolType, find_stored: FindStored) -> StoredValues:
    """What is stored for a call of this tool, the nearest level first."""
    if tool_type not in STORABLE_TYPES:
        return NOTHING
    return overlaid(map(find_stored, places_of(context, tool)), tool_type)

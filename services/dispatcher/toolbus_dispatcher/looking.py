"""How decisions about calls look at what else there is: each look makes the decision depend on what it saw."""

from toolbus_contracts.stored import Stored
from toolbus_contracts.tools import Tool, tool_stream_id
from toolbus_dispatcher.aggregates import STORED, TOOL
from toolbus_dispatcher.core.finding import FindStored, FindTool
from toolbus_runtime.deciding import Snapshot


def tools_in(snapshot: Snapshot, tenant: str) -> FindTool:
    """Finds the tools of a tenant."""

    def find(scope: str, name: str) -> Tool:
        tool: Tool = snapshot.of(tenant, TOOL, tool_stream_id(scope, name))
        return tool

    return find


def stored_in(snapshot: Snapshot, tenant: str) -> FindStored:
    """Finds what a tenant stores."""

    def find(place: str) -> Stored | None:
        stored: Stored | None = snapshot.of(tenant, STORED, place)
        return stored

    return find

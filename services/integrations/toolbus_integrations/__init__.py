"""
The shelf of ready tools, and the one way credentials travel.

It executes tools of the types `integration` and `mcp`, keeps secrets (sealed) and MCP servers in tables of its own,
and appends to no category. Each provider runs in a host process (`hosting/`): one that blocks, crashes or takes too
much memory disturbs no other. Read `handlers.py`, then `hosting/hosts.py` (the parent's side) and `host/` (the child's
side). A provider itself is one module in `providers/`, written as anybody would write one.
"""

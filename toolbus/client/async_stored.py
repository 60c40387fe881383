"""Stored values, for the client in an event loop."""

from collections.abc import AsyncIterator, Mapping

from toolbus.client.async_runner import AsyncRunner
from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import stored
from toolbus_contracts.stored import OF_TENANT, Level, StoredView
from toolbus_contracts.values import Json


class StoredValues:
    """
    Setup and arguments that calls of a tool need not bring (scope operate).

    They hold at a level for an id: a session, task, user or agent that calls name in their `context`, or for all
    calls of the tenant. What is stored wins over the definition, and that over the call; the nearest level first.
    """

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def put(
        self,
        tool: str,
        *,
        setup: Mapping[str, Json] | None = None,
        arguments: Mapping[str, Json] | None = None,
        level: Level = "tenant",
        level_id: str = OF_TENANT,
    ) -> StoredView:
        """
        Store values for a tool, in place of those before.

        Texts `secret://name` in `setup` are references to secrets.
        """
        request = stored.put_stored(tool, level, level_id, setup=setup, arguments=arguments)
        return await self._runner.run(exchange(request))

    async def get(self, tool: str, *, level: Level = "tenant", level_id: str = OF_TENANT) -> StoredView:
        """Read what is stored for a tool at one level."""
        return await self._runner.run(exchange(stored.get_stored(tool, level, level_id)))

    def list(self, *, level: Level | None = None, tool: str | None = None) -> AsyncIterator[StoredView]:
        """Hand out all that is stored, the newest first."""
        return self._runner.iterate(every(stored.list_stored(level, tool, PAGE)))

    async def remove(self, tool: str, *, level: Level = "tenant", level_id: str = OF_TENANT) -> StoredView:
        """Store nothing there any more; what was stored is given back."""
        return await self._runner.run(exchange(stored.remove_stored(tool, level, level_id)))

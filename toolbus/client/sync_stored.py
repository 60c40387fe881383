"""Stored values, for the client that waits in its own thread."""

from collections.abc import Iterator, Mapping

from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import stored
from toolbus.client.runner import Runner
from toolbus_contracts.stored import OF_TENANT, Level, StoredView
from toolbus_contracts.values import Json


class StoredValues:
    """
    Setup and arguments that calls of a tool need not bring (scope operate).

    They hold at a level for an id: a session, task, user or agent that calls name in their `context`, or for all
    calls of the tenant. What is stored wins over the definition, and that over the call; the nearest level first.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def put(
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
        return self._runner.run(exchange(request))

    def get(self, tool: str, *, level: Level = "tenant", level_id: str = OF_TENANT) -> StoredView:
        """Read what is stored for a tool at one level."""
        return self._runner.run(exchange(stored.get_stored(tool, level, level_id)))

    def list(self, *, level: Level | None = None, tool: str | None = None) -> Iterator[StoredView]:
        """Hand out all that is stored, the newest first."""
        return self._runner.iterate(every(stored.list_stored(level, tool, PAGE)))

    def remove(self, tool: str, *, level: Level = "tenant", level_id: str = OF_TENANT) -> StoredView:
        """Store nothing there any more; what was stored is given back."""
        return self._runner.run(exchange(stored.remove_stored(tool, level, level_id)))

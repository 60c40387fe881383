"""Secrets, for the client in an event loop."""

from collections.abc import AsyncIterator, Iterable

from toolbus.client.async_runner import AsyncRunner
from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import secrets
from toolbus_contracts.secrets import SecretView


class Secrets:
    """Values that tools use by name, as `secret://name` (scope admin; names can be listed with operate)."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def put(self, name: str, value: str, *, hosts: Iterable[str] = (), tools: Iterable[str] = ()) -> SecretView:
        """
        Store a value under a name; one that is there gets its next generation. It is never readable again.

        With `hosts` it is sent to these only; with `tools` only calls of these use it.
        """
        return await self._runner.run(exchange(secrets.put_secret(name, value, hosts, tools)))

    def list(self) -> AsyncIterator[SecretView]:
        """Hand out every secret by name: generation and what it is bound to, never the value."""
        return self._runner.iterate(every(secrets.list_secrets(PAGE)))

    async def remove(self, name: str) -> SecretView:
        """Let nothing use it any more."""
        return await self._runner.run(exchange(secrets.remove_secret(name)))

"""Secrets, for the client that waits in its own thread."""

from collections.abc import Iterable, Iterator

from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import secrets
from toolbus.client.runner import Runner
from toolbus_contracts.secrets import SecretView


class Secrets:
    """Values that tools use by name, as `secret://name` (scope admin; names can be listed with operate)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def put(self, name: str, value: str, *, hosts: Iterable[str] = (), tools: Iterable[str] = ()) -> SecretView:
        """
        Store a value under a name; one that is there gets its next generation. It is never readable again.

        With `hosts` it is sent to these only; with `tools` only calls of these use it.
        """
        return self._runner.run(exchange(secrets.put_secret(name, value, hosts, tools)))

    def list(self) -> Iterator[SecretView]:
        """Hand out every secret by name: generation and what it is bound to, never the value."""
        return self._runner.iterate(every(secrets.list_secrets(PAGE)))

    def remove(self, name: str) -> SecretView:
        """Let nothing use it any more."""
        return self._runner.run(exchange(secrets.remove_secret(name)))

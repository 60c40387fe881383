"""The catalogue of integrations, for the client that waits in its own thread."""

from toolbus.client.flows import exchange
from toolbus.client.requests import integrations
from toolbus.client.runner import Runner
from toolbus_contracts.integrations import ProviderView


class Integrations:
    """Providers of ready tools: their setup, their methods, and what each does to the world (scope read)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def list(self) -> tuple[ProviderView, ...]:
        """Give every provider, by name; one that cannot be used has a fault."""
        return tuple(self._runner.run(exchange(integrations.list_providers())).items)

    def get(self, name: str) -> ProviderView:
        """
        Give one provider.

        Raises:
            NotFound: there is none of this name.
        """
        return self._runner.run(exchange(integrations.get_provider(name)))

"""Process entry: settings, logging, run until SIGTERM or SIGINT."""

from toolbus_integrations.app import Integrations
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.process import run_until_signalled


def main() -> None:
    """Run one integrations service."""
    settings = IntegrationsSettings()
    configure_logging(settings)
    run_until_signalled(lambda stop: Integrations(settings).run(stop))


if __name__ == "__main__":
    main()

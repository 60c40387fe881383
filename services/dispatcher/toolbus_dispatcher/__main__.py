"""Process entry: settings, logging, run until SIGTERM or SIGINT."""

from toolbus_dispatcher.app import Dispatcher
from toolbus_dispatcher.settings import DispatcherSettings
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.process import run_until_signalled


def main() -> None:
    """Run one dispatcher."""
    settings = DispatcherSettings()
    configure_logging(settings)
    run_until_signalled(lambda stop: Dispatcher(settings).run(stop), holds_much=True)


if __name__ == "__main__":
    main()

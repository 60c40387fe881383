"""Process entry: settings, logging, run until SIGTERM or SIGINT."""

from toolbus_api_caller.app import ApiCaller
from toolbus_api_caller.settings import ApiCallerSettings
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.process import run_until_signalled


def main() -> None:
    """Run one executor of HTTP calls."""
    settings = ApiCallerSettings()
    configure_logging(settings)
    run_until_signalled(lambda stop: ApiCaller(settings).run(stop))


if __name__ == "__main__":
    main()

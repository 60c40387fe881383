"""Process entry: settings, logging, run until SIGTERM or SIGINT."""

from toolbus_approvals.app import Approvals
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.process import run_until_signalled


def main() -> None:
    """Run one approvals service."""
    settings = ApprovalsSettings()
    configure_logging(settings)
    run_until_signalled(lambda stop: Approvals(settings).run(stop), holds_much=True)


if __name__ == "__main__":
    main()

"""Process entry: settings, logging, run until SIGTERM or SIGINT."""

import asyncio
import signal

import uvloop

from toolbus_api_caller.app import run
from toolbus_api_caller.settings import ApiCallerSettings
from toolbus_runtime.logging import configure_logging


async def serve() -> None:
    """Run until a signal says stop."""
    settings = ApiCallerSettings()
    configure_logging(settings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await run(settings, stop)


def main() -> None:
    """Run the service on uvloop."""
    uvloop.run(serve())


if __name__ == "__main__":
    main()

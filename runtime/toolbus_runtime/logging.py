"""Logs: one structured line per event, on stderr, with the context that the middleware bound, and without secrets."""

import logging
import sys

import structlog

from toolbus_runtime.secrets.known import KNOWN
from toolbus_runtime.settings import Settings


def configure_logging(settings: Settings) -> None:
    """Send structured logs to stderr, as JSON or for people."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.format_exc_info,
            renderer,
            _without_secrets,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_WithoutSecrets("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _WithoutSecrets(logging.Formatter):
    """Lines of libraries, searched for secrets as ours are: what they write, nobody here has read before."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with its traceback."""
        return KNOWN.in_line(super().format(record))


def _without_secrets(_: object, __: str, line: structlog.typing.ProcessorReturnValue) -> str:
    """The line as it was rendered, searched for secrets that this process used lately."""
    return KNOWN.in_line(str(line))

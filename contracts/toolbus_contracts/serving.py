"""Which service serves which path: ingress routes and `toolbus up` come from here."""

import re

DISPATCHER = "dispatcher"
APPROVALS = "approvals"
INTEGRATIONS = "integrations"
SERVED: dict[str, tuple[str, ...]] = {
    APPROVALS: (
        "/v1/waits",
        "/v1/grants",
        "/v1/delegations",
        "/v1/webhooks",
        "/v1/calls/{id}/complete",
        "/inbox",
        "/static",
    ),
    INTEGRATIONS: (
        "/v1/integrations",
        "/v1/mcp",
        "/v1/secrets",
    ),
}
ROOT_OF = APPROVALS  # who serves `/` itself: the page that a person opens
_PATTERNS = tuple(
    (service, re.compile("(?:" + "|".join(re.sub(r"\{\w+\}", "[^/]+", path) for path in paths) + ")(?:/|$)"))
    for service, paths in SERVED.items()
)


def service_of(path: str) -> str:
    """The service that serves a path and all that lies below it; what nobody else serves is the dispatcher's."""
    if path == "/":
        return ROOT_OF
    return next((service for service, pattern in _PATTERNS if pattern.match(path)), DISPATCHER)

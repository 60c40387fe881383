"""Which service serves which path."""

import pytest

from toolbus_contracts.serving import APPROVALS, DISPATCHER, service_of


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/waits",
        "/v1/waits/wait_0/approve",
        "/v1/grants",
        "/v1/delegations/dele_0",
        "/v1/webhooks/crm/deliveries",
        "/v1/calls/call_0/complete",
        "/inbox",
        "/inbox/wait_0",
        "/static/inbox.css",
    ],
)
def test_what_people_and_clients_say_to_waits_goes_to_the_approvals(path: str) -> None:
    """With all that lies below."""
    assert service_of(path) == APPROVALS


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/v1/calls",
        "/v1/calls/call_0",
        "/v1/calls/a/b/complete",
        "/v1/calls//complete",
        "/v1/calls/call_0/completed",
        "/v1/waitsx",
        "/v1/tools/waits",
        "//v1/waits",
        "/readyz",
        "/openapi.json",
    ],
)
def test_everything_else_goes_to_the_dispatcher(path: str) -> None:
    """Also what only looks alike."""
    assert service_of(path) == DISPATCHER

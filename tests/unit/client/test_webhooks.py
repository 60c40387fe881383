"""Both clients on webhooks: what each method asks for and what it reads."""

import inspect
import json
from datetime import UTC, datetime
from typing import Any

from pytest_httpserver import HTTPServer

from tests.unit.client import shapes, webhook_shapes
from toolbus.client import async_webhooks, sync_webhooks

PATH = "/v1/webhooks/crm"
SINCE = datetime(2026, 11, 30, tzinfo=UTC)


def body(httpserver: HTTPServer) -> Any:
    """The JSON of the request that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


def test_a_webhook_is_put_and_rotated(httpserver: HTTPServer, bus: Any) -> None:
    """A secret of one's own is sent, a made one is read; what was not given is not sent."""
    made = webhook_shapes.webhook(secret="whsec_made")
    httpserver.expect_request(PATH, method="PUT").respond_with_json(made, status=201)
    httpserver.expect_request(f"{PATH}/rotate", method="POST").respond_with_json(made)
    assert bus.webhooks.put("crm", "https://a.example.com", events=["call.*"]).secret == "whsec_made"
    assert body(httpserver) == {"url": "https://a.example.com", "events": ["call.*"]}
    bus.webhooks.put("crm", "https://a.example.com", secret="whsec_mine")
    assert body(httpserver) == {"url": "https://a.example.com", "events": [], "secret": "whsec_mine"}
    assert bus.webhooks.rotate("crm").secret == "whsec_made"
    assert body(httpserver) == {}
    bus.webhooks.rotate("crm", secret="whsec_mine")
    assert body(httpserver) == {"secret": "whsec_mine"}


def test_webhooks_are_read_enabled_and_removed(httpserver: HTTPServer, bus: Any) -> None:
    """Each is one request."""
    httpserver.expect_request("/v1/webhooks").respond_with_json(shapes.page(webhook_shapes.webhook()))
    httpserver.expect_request(PATH, method="GET").respond_with_json(webhook_shapes.webhook())
    httpserver.expect_request(PATH, method="DELETE").respond_with_json(webhook_shapes.webhook())
    httpserver.expect_request(f"{PATH}/enable", method="POST").respond_with_json(webhook_shapes.webhook())
    assert [webhook.name for webhook in bus.webhooks.list()] == ["crm"]
    assert bus.webhooks.get("crm").secrets[0].scheme == "v1"
    assert bus.webhooks.enable("crm").status == "enabled"
    assert bus.webhooks.remove("crm").name == "crm"


def test_deliveries_are_listed_and_sent_again(httpserver: HTTPServer, bus: Any) -> None:
    """By status, one, or all since a time."""
    httpserver.expect_request(f"{PATH}/deliveries").respond_with_json(shapes.page(webhook_shapes.delivery()))
    httpserver.expect_request(f"{PATH}/deliveries/msg_1/resend", method="POST").respond_with_json(
        webhook_shapes.delivery()
    )
    httpserver.expect_request(f"{PATH}/resend", method="POST").respond_with_json({"deliveries": 3})
    assert [found.attempts for found in bus.webhooks.deliveries("crm", status="failed")] == [1]
    assert httpserver.log[-1][0].args.to_dict() == {"status": "failed", "limit": "500"}
    assert bus.webhooks.resend("crm", "msg_1").status == "pending"
    assert bus.webhooks.resend_since("crm", SINCE, status="held").deliveries == 3
    assert httpserver.log[-1][0].args.to_dict() == {"since": "2026-11-30T00:00:00+00:00", "status": "held"}


def test_both_clients_have_the_same_face() -> None:
    """Every method of one is a method of the other, with the same parameters and the same words."""
    sync, asynchronous = sync_webhooks.Webhooks, async_webhooks.Webhooks
    for name, method in inspect.getmembers(sync, inspect.isfunction):
        if not name.startswith("__"):
            other = getattr(asynchronous, name)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters), name
            assert (method.__doc__, bool(method.__doc__)) == (other.__doc__, True)

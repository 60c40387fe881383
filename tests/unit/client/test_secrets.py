"""Both clients on secrets: what each method asks for and what it reads."""

import inspect
import json
from typing import Any

from pytest_httpserver import HTTPServer

from tests.unit.client import shapes
from tests.unit.client.secret_shapes import secret
from toolbus.client import async_secrets, sync_secrets

PATH = "/v1/secrets/pay"


def test_a_secret_is_put_listed_and_removed(httpserver: HTTPServer, bus: Any) -> None:
    """A value goes out and none comes back; bindings are sent as given."""
    httpserver.expect_request(PATH, method="PUT").respond_with_json(secret(generation=2))
    httpserver.expect_request("/v1/secrets", method="GET").respond_with_json(shapes.page(secret()))
    httpserver.expect_request(PATH, method="DELETE").respond_with_json(secret())
    assert bus.secrets.put("pay", "sk-1").generation == 2
    assert json.loads(httpserver.log[-1][0].get_data()) == {"value": "sk-1", "hosts": [], "tools": []}
    bus.secrets.put("pay", "sk-2", hosts=["*.example.com"], tools=["refund"])
    assert json.loads(httpserver.log[-1][0].get_data())["hosts"] == ["*.example.com"]
    assert [secret.hosts for secret in bus.secrets.list()] == [("api.example.com",)]
    assert bus.secrets.remove("pay").name == "pay"


def test_both_clients_have_the_same_face() -> None:
    """Every method of one is a method of the other, with the same parameters and the same words."""
    for name, method in inspect.getmembers(sync_secrets.Secrets, inspect.isfunction):
        if not name.startswith("__"):
            other = getattr(async_secrets.Secrets, name)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters), name
            assert (method.__doc__, bool(method.__doc__)) == (other.__doc__, True)

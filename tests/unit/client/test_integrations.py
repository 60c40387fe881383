"""Both clients on the catalogue of integrations."""

import inspect
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.client import shapes
from toolbus import NotFound
from toolbus.client import async_integrations, sync_integrations


def test_the_catalogue_is_read(httpserver: HTTPServer, bus: Any) -> None:
    """Every provider with its methods, and one by its name."""
    broken = shapes.provider(provider="other", methods=[], fault={"code": "provider_failed", "message": "no"})
    page = shapes.page(shapes.provider(), broken)
    httpserver.expect_request("/v1/integrations").respond_with_json(page)
    httpserver.expect_request("/v1/integrations/library").respond_with_json(shapes.provider())
    found = bus.integrations.list()
    assert [view.provider for view in found] == ["library", "other"]
    assert found[1].fault.message == "no"
    one = bus.integrations.get("library")
    assert one == found[0]
    assert (one.method(None), one.method("search"), one.method("x")) == (one.methods[0], one.methods[0], None)
    assert found[1].method(None) is None


def test_a_provider_that_is_not_there(httpserver: HTTPServer, bus: Any) -> None:
    """Not found, as with everything else."""
    httpserver.expect_request("/v1/integrations/nobody").respond_with_json(
        shapes.problem("not_found", 404), status=404, content_type="application/problem+json"
    )
    with pytest.raises(NotFound):
        bus.integrations.get("nobody")


def test_both_clients_have_the_same_face() -> None:
    """Every method of one is a method of the other, with the same parameters and the same words."""
    for name, method in inspect.getmembers(sync_integrations.Integrations, inspect.isfunction):
        if not name.startswith("__"):
            other = getattr(async_integrations.Integrations, name)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters), name
            assert (method.__doc__, bool(method.__doc__)) == (other.__doc__, True)

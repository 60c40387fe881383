"""Both clients on stored values: what each method asks for and what it reads."""

import inspect
import json
from typing import Any

from pytest_httpserver import HTTPServer

from tests.unit.client import shapes
from toolbus.client import async_stored, sync_stored

FOR_ALL, FOR_ANA = "/v1/stored/tenant/all/search", "/v1/stored/user/ana/search"


def test_values_are_stored_read_listed_and_removed(httpserver: HTTPServer, bus: Any) -> None:
    """For all calls of the tenant, unless a level is named."""
    for method in ("PUT", "GET", "DELETE"):
        httpserver.expect_request(FOR_ALL, method=method).respond_with_json(shapes.stored())
        httpserver.expect_request(FOR_ANA, method=method).respond_with_json(
            shapes.stored(level="user", level_id="ana", setup={})
        )
    page = shapes.page(shapes.stored())
    httpserver.expect_request("/v1/stored", query_string="level=user&tool=search&limit=500").respond_with_json(page)
    made = bus.stored.put("search", setup={"key": "secret://key"})
    assert (made.level, made.setup) == ("tenant", {"key": "secret://key"})
    assert json.loads(httpserver.log[-1][0].get_data()) == {"setup": {"key": "secret://key"}, "arguments": {}}
    bus.stored.put("search", arguments={"limit": 3}, level="user", level_id="ana")
    assert json.loads(httpserver.log[-1][0].get_data()) == {"setup": {}, "arguments": {"limit": 3}}
    assert bus.stored.get("search", level="user", level_id="ana").level_id == "ana"
    assert [one.tool for one in bus.stored.list(level="user", tool="search")] == ["search"]
    assert bus.stored.remove("search").arguments == {"limit": 3}


def test_both_clients_have_the_same_face() -> None:
    """Every method of one is a method of the other, with the same parameters and the same words."""
    for name, method in inspect.getmembers(sync_stored.StoredValues, inspect.isfunction):
        if not name.startswith("__"):
            other = getattr(async_stored.StoredValues, name)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters), name
            assert (method.__doc__, bool(method.__doc__)) == (other.__doc__, True)

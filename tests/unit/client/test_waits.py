"""Both clients on waits, grants and delegations: what each method asks for and what it reads."""

import inspect
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.client import shapes, wait_shapes
from toolbus.client import async_waits, sync_waits

UNTIL = datetime(2026, 12, 1, tzinfo=UTC)
PATH = f"/v1/waits/{shapes.WAIT}"


def said(httpserver: HTTPServer) -> Any:
    """The body of the request that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


def test_waits_are_listed_with_every_filter(httpserver: HTTPServer, bus: Any) -> None:
    """Filters are sent as documented."""
    httpserver.expect_request("/v1/waits").respond_with_json(shapes.page(wait_shapes.wait_detail()))
    found = list(bus.waits.list(kind="approval", status="open", tool="refund", call_id="c", include="arguments"))
    assert [wait.id for wait in found] == [shapes.WAIT]
    assert httpserver.log[-1][0].args.to_dict() == {
        "kind": "approval",
        "status": "open",
        "tool": "refund",
        "call_id": "c",
        "include": "arguments",
        "limit": "500",
    }


def test_a_wait_is_read_and_spoken_to(httpserver: HTTPServer, bus: Any) -> None:
    """Each word is one request to its own path."""
    httpserver.expect_request(PATH).respond_with_json(wait_shapes.wait_detail())
    for verb in ("approve", "deny", "answer", "delegate"):
        httpserver.expect_request(f"{PATH}/{verb}", method="POST").respond_with_json(wait_shapes.wait_detail())
    assert bus.waits.get(shapes.WAIT).digest == shapes.HASH
    bus.waits.approve(shapes.WAIT, "d", note="n", arguments={"a": 1})
    assert said(httpserver) == {"digest": "d", "note": "n", "arguments": {"a": 1}}
    bus.waits.approve(shapes.WAIT, "d")
    assert said(httpserver) == {"digest": "d", "note": ""}
    bus.waits.deny(shapes.WAIT, "d", "no")
    assert said(httpserver) == {"digest": "d", "note": "no"}
    bus.waits.answer(shapes.WAIT, "d", {"a": 1})
    assert said(httpserver) == {"digest": "d", "values": {"a": 1}}
    bus.waits.delegate(shapes.WAIT, "user:ben", UNTIL)
    assert said(httpserver) == {"to": "user:ben", "until": "2026-12-01T00:00:00+00:00"}


def test_who_would_have_to_approve(httpserver: HTTPServer, bus: Any) -> None:
    """Nothing is recorded; grants that would speak are told."""
    told = {"needs_approval": True, "approval": {}, "may_decide": ["role:finance"], "grants": [wait_shapes.grant()]}
    httpserver.expect_request("/v1/waits/simulate", method="POST").respond_with_json(told)
    found = bus.waits.simulate("refund", {"a": 1}, on_behalf_of="user:eve")
    assert (found.may_decide, found.grants[0].condition) == (("role:finance",), "call.arguments.amount < 100")
    assert said(httpserver) == {"tool": "refund", "arguments": {"a": 1}, "on_behalf_of": "user:eve"}


def test_grants_are_given_listed_and_revoked(httpserver: HTTPServer, bus: Any) -> None:
    """A condition goes out as `while`."""
    httpserver.expect_request("/v1/grants", method="POST").respond_with_json(wait_shapes.grant(), status=201)
    httpserver.expect_request("/v1/grants", method="GET").respond_with_json(shapes.page(wait_shapes.grant()))
    httpserver.expect_request("/v1/grants/grant_1", method="DELETE").respond_with_json(wait_shapes.grant())
    assert bus.grants.give("refund", 3, UNTIL, condition="true", note="n").left == 2
    assert said(httpserver) == {
        "tool": "refund",
        "uses": 3,
        "until": "2026-12-01T00:00:00+00:00",
        "while": "true",
        "note": "n",
    }
    bus.grants.give("refund", 3, UNTIL, scope="agent:a")
    assert said(httpserver)["scope"] == "agent:a"
    assert [grant.id for grant in bus.grants.list(tool="refund")] == ["grant_1"]
    assert httpserver.log[-1][0].args["tool"] == "refund"
    assert bus.grants.revoke("grant_1").id == "grant_1"


def test_delegations_are_given_listed_and_revoked(httpserver: HTTPServer, bus: Any) -> None:
    """To whom, and until when."""
    httpserver.expect_request("/v1/delegations", method="POST").respond_with_json(wait_shapes.delegation(), status=201)
    httpserver.expect_request("/v1/delegations", method="GET").respond_with_json(shapes.page(wait_shapes.delegation()))
    httpserver.expect_request("/v1/delegations/dele_1", method="DELETE").respond_with_json(wait_shapes.delegation())
    assert bus.delegations.give("user:ben", UNTIL, note="n").to == "user:ben"
    assert said(httpserver) == {"to": "user:ben", "until": "2026-12-01T00:00:00+00:00", "note": "n"}
    assert [given.id for given in bus.delegations.list()] == ["dele_1"]
    assert bus.delegations.revoke("dele_1").subject == "user:ana"


@pytest.mark.parametrize("name", ["Waits", "Grants", "Delegations"])
def test_both_clients_offer_the_same(name: str) -> None:
    """The same methods with the same parameters."""
    ours, theirs = getattr(sync_waits, name), getattr(async_waits, name)
    offered = {method for method in vars(ours) if not method.startswith("_")}
    assert offered == {method for method in vars(theirs) if not method.startswith("_")}
    for method in offered:
        parameters = [list(inspect.signature(getattr(one, method)).parameters) for one in (ours, theirs)]
        assert parameters[0] == parameters[1], method

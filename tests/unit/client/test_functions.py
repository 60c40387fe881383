"""Both clients as workers: taking calls of functions, keeping them, giving them back, completing them."""

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.client import shapes
from toolbus import Conflict, UnexpectedAnswer
from toolbus.client.requests.functions import complete_call, keep_lease, lease_calls, release_lease
from toolbus_contracts.waits import LeasedCall

LEASED = LeasedCall.model_validate(shapes.leased(), extra="ignore")
COMPLETE = f"/v1/calls/{shapes.CALL}/complete"


def body(httpserver: HTTPServer) -> Any:
    """The JSON of the request that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


def test_calls_are_leased(httpserver: HTTPServer, bus: Any) -> None:
    """As many as asked for, with what is needed to work on them."""
    answer = {"items": [shapes.leased(), shapes.leased(attempt=2)]}
    httpserver.expect_request("/v1/waits/lease", method="POST").respond_with_json(answer)
    found = bus.lease("draft_letter", "send_letter", limit=2, visibility_s=30)
    assert body(httpserver) == {"tools": ["draft_letter", "send_letter"], "max": 2, "visibility_s": 30}
    assert [(leased.arguments, leased.attempt) for leased in found] == [({"to": "ana"}, 1), ({"to": "ana"}, 2)]


@pytest.mark.parametrize("told", [[], {"items": None}])
def test_an_answer_without_items_is_none(httpserver: HTTPServer, bus: Any, told: Any) -> None:
    """Something else answered."""
    httpserver.expect_request("/v1/waits/lease").respond_with_json(told)
    with pytest.raises(UnexpectedAnswer):
        bus.lease("draft_letter")


def test_a_leased_call_is_kept_and_given_back(httpserver: HTTPServer, bus: Any) -> None:
    """By its lease: another worker's is not touched."""
    httpserver.expect_request(f"/v1/waits/{shapes.WAIT}/heartbeat", method="POST").respond_with_json(shapes.lease())
    httpserver.expect_request(f"/v1/waits/{shapes.WAIT}/release", method="POST").respond_with_data(status=204)
    assert bus.heartbeat(LEASED, 120.0).leased_until.isoformat() == "2026-11-30T12:02:00+00:00"
    assert body(httpserver) == {"lease_id": shapes.LEASE, "visibility_s": 120.0}
    assert bus.release(LEASED) is None
    assert body(httpserver) == {"lease_id": shapes.LEASE}


def test_a_call_is_completed(httpserver: HTTPServer, bus: Any) -> None:
    """With any output, nothing too; with an error in words, or with its code; with the token instead of the key."""
    httpserver.expect_request(COMPLETE, method="POST").respond_with_json(shapes.call())
    assert bus.complete(shapes.CALL, {"letter": "Dear Ana"}).status == "succeeded"
    assert body(httpserver) == {"output": {"letter": "Dear Ana"}}
    assert httpserver.log[-1][0].headers["authorization"] == "Bearer tb_test"
    bus.complete(shapes.CALL)
    assert body(httpserver) == {"output": None}
    bus.complete(shapes.CALL, error="no such person", token=LEASED.token)
    assert body(httpserver) == {"error": {"message": "no such person"}}
    assert httpserver.log[-1][0].headers["authorization"] == "Bearer wt_default_x"
    bus.complete(shapes.CALL, error={"message": "no such person", "code": "unknown_person"})
    assert body(httpserver) == {"error": {"message": "no such person", "code": "unknown_person"}}


def test_another_answer_than_the_one_taken_is_a_conflict(httpserver: HTTPServer, bus: Any) -> None:
    """The error has the server's code."""
    told = shapes.problem("answer_taken", 409)
    httpserver.expect_request(COMPLETE).respond_with_json(told, status=409, content_type="application/problem+json")
    with pytest.raises(Conflict) as refused:
        bus.complete(shapes.CALL, 2)
    assert refused.value.code == "answer_taken"


def test_what_may_be_sent_again() -> None:
    """Leasing twice holds twice as much; the rest says the same again."""
    assert not lease_calls(["t"]).is_repeatable
    for request in (complete_call("call_1", 1), keep_lease("wait_1", "lease_1"), release_lease("wait_1", "lease_1")):
        assert request.is_repeatable

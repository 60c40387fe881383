"""`toolbus waits`, `toolbus grants` and `toolbus delegations`."""

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes, wait_shapes

PATH = f"/v1/waits/{shapes.WAIT}"


def said(httpserver: HTTPServer) -> Any:
    """The body of the request that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


def test_waits_are_listed_with_risk_and_requester(httpserver: HTTPServer, cli: Cli) -> None:
    """Who it is for comes before who asked; filters are sent as documented."""
    closed = wait_shapes.wait_detail(id="wait_2", status="closed", outcome="denied", closed_at=shapes.at(1))
    found = shapes.page(wait_shapes.wait_detail(), closed)
    httpserver.expect_request("/v1/waits", query_string="kind=approval&status=open&limit=50").respond_with_json(found)
    rows = [line.split("\t") for line in cli("waits", "ls", "--kind", "approval", "--status", "open").out.splitlines()]
    assert [row[1:5] for row in rows[1:]] == [
        ["approval", "open", "refund", "dangerous"],
        ["approval", "denied", "refund", "dangerous"],
    ]
    assert rows[1][-1] == "user:eve"


def test_every_page_is_read_when_all_are_asked_for(httpserver: HTTPServer, cli: Cli) -> None:
    """`--all` goes through the pages."""
    httpserver.expect_request("/v1/waits").respond_with_json(shapes.page(wait_shapes.wait_detail()))
    httpserver.expect_request("/v1/grants").respond_with_json(
        shapes.page(wait_shapes.grant(), wait_shapes.grant(left=0))
    )
    assert len(cli("waits", "ls", "--all", "-o", "jsonl").lines()) == 1
    assert [line.split("\t")[2] for line in cli("grants", "ls", "--all").out.splitlines()] == ["LEFT", "2/3", "0/3"]


def test_a_wait_is_shown_with_all_that_was_said(httpserver: HTTPServer, cli: Cli) -> None:
    """Edits, decisions in whose place, grants, and who came too late."""
    decision = {
        "wait_id": shapes.WAIT,
        "decision": "approve",
        "digest": shapes.HASH,
        "subject": "user:ben",
        "key_id": None,
        "acting_for": "user:ana",
        "grant_id": "grant_1",
        "note": "fine",
        "at": shapes.at(2),
    }
    edit = {"subject": "user:ana", "digest": shapes.HASH, "arguments": {}, "note": "smaller", "at": shapes.at(1)}
    wait = wait_shapes.wait_detail(edits=[edit], decisions=[decision], late=2, note="done", closed_at=shapes.at(3))
    httpserver.expect_request(PATH).respond_with_json(wait)
    shown = cli("waits", "show", shapes.WAIT).out
    assert "user:ana edited: smaller" in shown
    assert "user:ben for user:ana by grant_1 approve: fine" in shown
    assert "service:crm on behalf of user:eve" in shown
    assert "role:finance" in shown


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["approve", "--note", "ok"], {"digest": shapes.HASH, "note": "ok"}),
        (["approve", "--args", '{"a": 1}'], {"digest": shapes.HASH, "note": "", "arguments": {"a": 1}}),
        (["deny", "--note", "no"], {"digest": shapes.HASH, "note": "no"}),
        (["answer", "--values", '{"a": 1}', "--value", "b=x"], {"digest": shapes.HASH, "values": {"a": 1, "b": "x"}}),
    ],
)
def test_without_a_digest_it_is_about_what_the_wait_is_about_now(
    httpserver: HTTPServer, cli: Cli, words: list[str], body: dict[str, Any]
) -> None:
    """The digest is read first and told to the person on stderr."""
    httpserver.expect_request(PATH, method="GET").respond_with_json(wait_shapes.wait_detail())
    httpserver.expect_request(f"{PATH}/{words[0]}", method="POST").respond_with_json(wait_shapes.wait_detail())
    done = cli("waits", words[0], shapes.WAIT, *words[1:])
    assert done.code == 0, done.err
    assert said(httpserver) == body
    assert shapes.HASH in done.err


def test_a_decision_on_something_else_is_a_conflict(httpserver: HTTPServer, cli: Cli) -> None:
    """Exit code 5, and what to do next."""
    told = shapes.problem("digest_mismatch", 409)
    httpserver.expect_request(f"{PATH}/approve").respond_with_json(
        told, status=409, content_type="application/problem+json"
    )
    assert cli("waits", "approve", shapes.WAIT, "--digest", shapes.HASH).code == 5


def test_a_decision_is_delegated_until_a_moment(httpserver: HTTPServer, cli: Cli) -> None:
    """A length of time is counted from now."""
    httpserver.expect_request(f"{PATH}/delegate").respond_with_json(wait_shapes.wait_detail())
    assert cli("waits", "delegate", shapes.WAIT, "--to", "user:ben", "--until", "2d").code == 0
    assert said(httpserver)["to"] == "user:ben"
    assert said(httpserver)["until"].endswith("+00:00")


def test_a_grant_is_given_and_revoked(httpserver: HTTPServer, cli: Cli) -> None:
    """With a condition on the calls; what is shown is what is left."""
    httpserver.expect_request("/v1/grants", method="POST").respond_with_json(wait_shapes.grant(), status=201)
    httpserver.expect_request("/v1/grants/grant_1", method="DELETE").respond_with_json(
        wait_shapes.grant(revoked_at=shapes.at(1))
    )
    done = cli("grants", "give", "refund", "--uses", "3", "--until", "1d", "--while", "call.arguments.amount < 100")
    assert "2 of 3" in done.out
    assert said(httpserver)["while"] == "call.arguments.amount < 100"
    assert "scope" not in said(httpserver)  # the server says what holds then
    assert (cli("grants", "revoke", "grant_1").code, cli("grants", "revoke", "grant_1").out) == (0, "")


def test_a_revoked_grant_says_since_when(httpserver: HTTPServer, cli: Cli) -> None:
    """It agrees to nothing any more."""
    revoked = wait_shapes.grant(left=0, revoked_at=shapes.at(1))
    httpserver.expect_request("/v1/grants").respond_with_json(shapes.page(revoked))
    assert "revoked 2026-11-30 12:00:01Z" in cli("grants", "ls").out


def test_a_grant_names_where_its_tool_is_defined(httpserver: HTTPServer, cli: Cli) -> None:
    """The same name may stand for another tool elsewhere; a grant from before scopes holds anywhere."""
    found = wait_shapes.grant(scope="agent:a")
    httpserver.expect_request("/v1/grants", method="POST").respond_with_json(found, status=201)
    httpserver.expect_request("/v1/grants", method="GET").respond_with_json(shapes.page(found, wait_shapes.grant()))
    done = cli("grants", "give", "refund", "--uses", "3", "--until", "1d", "--scope", "agent:a")
    assert said(httpserver)["scope"] == "agent:a"
    assert "agent:a" in done.out
    assert [line.split("\t")[4] for line in cli("grants", "ls").out.splitlines()] == ["SCOPE", "agent:a", "any"]


def test_delegations_are_given_listed_and_revoked(httpserver: HTTPServer, cli: Cli) -> None:
    """To whom, until when, and since when no more."""
    path = "/v1/delegations"
    given, over = wait_shapes.delegation(), wait_shapes.delegation(id="dele_2", revoked_at=shapes.at(1))
    httpserver.expect_request(path, method="POST").respond_with_json(given, status=201)
    httpserver.expect_request(path, method="GET").respond_with_json(shapes.page(given, over))
    httpserver.expect_request(f"{path}/dele_1", method="DELETE").respond_with_json(over)
    done = cli("delegations", "give", "user:ben", "--until", "2d", "--note", "holiday")
    assert (said(httpserver)["to"], said(httpserver)["note"]) == ("user:ben", "holiday")
    assert said(httpserver)["until"].endswith("+00:00")
    assert "user:ben" in done.out
    rows = [line.split("\t") for line in cli("delegations", "ls").out.splitlines()]
    assert rows[0] == ["DELEGATION", "FROM", "TO", "STATE"]
    assert [row[:3] for row in rows[1:]] == [["dele_1", "user:ana", "user:ben"], ["dele_2", "user:ana", "user:ben"]]
    assert rows[2][3] == "revoked 2026-11-30 12:00:01Z"
    assert len(cli("delegations", "ls", "--all", "-o", "jsonl").lines()) == 2
    done = cli("delegations", "revoke", "dele_1")
    assert (done.code, done.out) == (0, "")
    assert "dele_1 is revoked" in done.err

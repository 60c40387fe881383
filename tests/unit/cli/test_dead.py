"""`toolbus dead`, and what `toolbus doctor` says of dead letters."""

import base64
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes

PROBLEM = "application/problem+json"
NOTE = dict.fromkeys(("subject", "stream", "sequence", "stored_at", "deliveries"))


def redrives(httpserver: HTTPServer, *letter_ids: str) -> None:
    """These letters can be redriven."""
    for letter_id in letter_ids:
        path = f"/v1/dead/{letter_id}/redrive"
        httpserver.expect_request(path, method="POST").respond_with_json(shapes.redriven(letter_id))


def refuses(httpserver: HTTPServer, letter_id: str, code: str, status: int, **more: Any) -> None:
    """Redriving the letter is answered with this problem."""
    told = shapes.problem(code, status, **more)
    answering = httpserver.expect_request(f"/v1/dead/{letter_id}/redrive", method="POST")
    answering.respond_with_json(told, status=status, content_type=PROBLEM)


def asked(httpserver: HTTPServer) -> list[str]:
    """The letters that were asked to be redriven, in order."""
    return [request.path.split("/")[3] for request, _ in httpserver.log if request.method == "POST"]


def test_letters_are_listed(httpserver: HTTPServer, cli: Cli) -> None:
    """What can be handled again, where it came from, what it died of; inert, and filtered by the server."""
    evil = shapes.letter(id="dead_6", error="a\x1b[1m", is_redrivable=False, **NOTE)
    httpserver.expect_request("/v1/dead").respond_with_json(shapes.page(shapes.letter(), evil, next_cursor="n"))
    done = cli("dead", "ls", "--reason", "too_many_deliveries", "--limit", "2")
    rows = [line.split("\t") for line in done.out.splitlines()[1:]]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("dead_7", "yes", "toolbus.cmd.default.call.submit"),
        ("dead_6", "no", ""),
    ]
    assert "a\\x1b[1m" in done.out
    assert "--cursor n" in done.err
    assert httpserver.log[-1][0].args.to_dict() == {"reason": "too_many_deliveries", "limit": "2"}
    assert cli("dead", "ls", "-o", "json").json()["items"][0] == shapes.letter()


def test_every_page_is_listed(httpserver: HTTPServer, cli: Cli) -> None:
    """With --all."""
    query = {"limit": "500", "reason": "x"}
    page = shapes.page(shapes.letter(), next_cursor="n")
    httpserver.expect_request("/v1/dead", query_string=query).respond_with_json(page)
    last = shapes.page(shapes.letter(id="dead_1"))
    httpserver.expect_request("/v1/dead", query_string={**query, "cursor": "n"}).respond_with_json(last)
    found = cli("dead", "ls", "--all", "--reason", "x", "-o", "jsonl").lines()
    assert [letter["id"] for letter in found] == ["dead_7", "dead_1"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ["COMMANDS 12", "after 20 deliveries", '"tool": "t"', "toolbus dead redrive dead_7", "00-1", shapes.CALL]),
        ({"deliveries": 1}, ["at the first delivery"]),
        ({"body": None}, ["null"]),
        ({"is_redrivable": False}, ["it cannot be handled again"]),
        ({**NOTE, "body": {"position": 7}}, ['"position": 7']),
        ({"body": None, "content": base64.b64encode(b"a\xff\x1b").decode()}, ["a\\xff\\x1b"]),
    ],
)
def test_a_letter_is_shown(httpserver: HTTPServer, cli: Cli, changes: dict[str, Any], told: list[str]) -> None:
    """With its origin, its message as far as it can be read, and the next step."""
    httpserver.expect_request("/v1/dead/dead_7").respond_with_json(shapes.opened(**changes))
    done = cli("dead", "show", "dead_7")
    assert done.code == 0
    assert [text for text in told if text not in done.out] == []
    assert cli("dead", "show", "dead_7", "-o", "json").json() == shapes.opened(**changes)


def test_letters_are_redriven_in_the_order_given(httpserver: HTTPServer, cli: Cli) -> None:
    """One line each with what came of it and the call."""
    redrives(httpserver, "dead_9", "dead_2")
    done = cli("dead", "redrive", "dead_9", "dead_2")
    assert (done.code, done.err) == (0, "")
    assert [line.split("\t") for line in done.out.splitlines()[1:]] == [
        ["dead_9", "decided", shapes.CALL],
        ["dead_2", "decided", shapes.CALL],
    ]
    assert asked(httpserver) == ["dead_9", "dead_2"]
    assert cli("dead", "redrive", "dead_9", "-o", "jsonl").lines() == [shapes.redriven("dead_9")]


def test_all_are_redriven_the_oldest_first(httpserver: HTTPServer, cli: Cli) -> None:
    """Those that can be, in the order in which they came: a call is submitted before it is cancelled."""
    letters = [shapes.letter(id="dead_9"), shapes.letter(id="dead_5", is_redrivable=False), shapes.letter(id="dead_2")]
    query = {"limit": "500", "reason": "internal"}
    httpserver.expect_request("/v1/dead", query_string=query).respond_with_json(shapes.page(*letters))
    redrives(httpserver, "dead_9", "dead_2")
    done = cli("dead", "redrive", "--all", "--reason", "internal")
    assert (done.code, asked(httpserver)) == (0, ["dead_2", "dead_9"])
    assert "1 of 3 cannot be handled again" in done.err


def test_nothing_to_redrive_is_no_error(httpserver: HTTPServer, cli: Cli) -> None:
    """The list is empty."""
    httpserver.expect_request("/v1/dead").respond_with_json(shapes.page())
    done = cli("dead", "redrive", "--all", "-o", "json")
    assert (done.code, done.json()["items"]) == (0, [])


def test_one_that_fails_stops_no_other(httpserver: HTTPServer, cli: Cli) -> None:
    """What worked is on stdout, what did not on stderr with its path and the next step; its exit code stands."""
    redrives(httpserver, "dead_1", "dead_3")
    refuses(httpserver, "dead_2", "invalid_request", 422, errors=[{"path": "/tool", "message": "this is missing"}])
    done = cli("dead", "redrive", "dead_1", "dead_2", "dead_3")
    assert done.code == 2
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["dead_1", "dead_3"]
    assert "dead_2: it is invalid_request" in done.err
    assert "/tool: this is missing" in done.err
    assert "→ mend invalid_request" in done.err


@pytest.mark.parametrize(
    ("codes", "exit_code"),
    [
        ([("not_redrivable", 409)], 5),
        ([("not_found", 404)], 3),
        ([("internal", 500)], 1),
        ([("not_found", 404), ("not_found", 404)], 3),
        ([("not_found", 404), ("not_redrivable", 409)], 1),
    ],
)
def test_exit_codes(httpserver: HTTPServer, cli: Cli, codes: list[tuple[str, int]], exit_code: int) -> None:
    """That of the failures when they are of one kind, else 1."""
    for number, (code, status) in enumerate(codes):
        refuses(httpserver, f"dead_{number}", code, status)
    done = cli("dead", "redrive", *(f"dead_{number}" for number in range(len(codes))))
    assert done.code == exit_code
    assert all(code in done.err for code, _ in codes)


def test_what_would_fail_for_all_ends_it(httpserver: HTTPServer, cli: Cli) -> None:
    """A key without the scope opens no other letter either."""
    refuses(httpserver, "dead_1", "forbidden", 403)
    done = cli("dead", "redrive", "dead_1", "dead_2")
    assert (done.code, asked(httpserver)) == (4, ["dead_1"])


@pytest.mark.parametrize("arguments", [[], ["dead_1", "--all"], ["dead_1", "--reason", "x"]])
def test_ids_or_all(cli: Cli, arguments: list[str]) -> None:
    """One of them, and a reason with --all alone."""
    assert cli("dead", "redrive", *arguments).code == 2


def serve(httpserver: HTTPServer, scopes: list[str], *, is_ready: bool = True) -> None:
    """A server whose key has these scopes."""
    me = {"tenant": "default", "subject": "user:ana", "roles": [], "scopes": scopes, "key_id": "key_1"}
    httpserver.expect_request("/v1/version").respond_with_json({"version": "9.9.9"})
    httpserver.expect_request("/v1/me").respond_with_json(me)
    status = 200 if is_ready else 503
    httpserver.expect_request("/readyz").respond_with_json({"ready": is_ready, "checks": []}, status=status)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({}, "dead letters\tok\tnone\n"),
        ({"internal": 1, "invalid_json": 40}, "dead letters\tok\t1 internal, 40 invalid_json → toolbus dead ls\n"),
    ],
)
@pytest.mark.parametrize("scope", ["operate", "admin"])
def test_doctor_counts_dead_letters(
    httpserver: HTTPServer, cli: Cli, *, scope: str, counts: dict[str, int], told: str
) -> None:
    """By reason, with the next step; the server runs well all the same."""
    serve(httpserver, [scope])
    httpserver.expect_request("/v1/dead").respond_with_json({**shapes.page(), "counts": counts})
    done = cli("doctor")
    assert done.code == 0
    assert told in done.out


@pytest.mark.parametrize(("scope", "is_ready"), [("read", True), ("operate", False)])
def test_doctor_does_not_ask_for_what_it_cannot_get(
    httpserver: HTTPServer, cli: Cli, *, scope: str, is_ready: bool
) -> None:
    """Without the scope, or while a part is away."""
    serve(httpserver, [scope], is_ready=is_ready)
    assert "dead letters" not in cli("doctor").out


def test_doctor_tells_when_letters_cannot_be_counted(httpserver: HTTPServer, cli: Cli) -> None:
    """As any other check that fails."""
    serve(httpserver, ["operate"])
    problem = shapes.problem("internal", 500)
    httpserver.expect_request("/v1/dead").respond_with_json(problem, status=500, content_type=PROBLEM)
    done = cli("doctor")
    assert done.code == 1
    assert "dead letters\twrong\tit is internal → mend internal" in done.out

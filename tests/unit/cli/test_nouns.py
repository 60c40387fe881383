"""`toolbus keys`, `tail`, `doctor` and `schemas`."""

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes

PROBLEM = "application/problem+json"
ME = {"tenant": "default", "subject": "user:ana", "roles": [], "scopes": ["read"], "key_id": "key_1"}


def test_a_new_key_is_printed_alone(httpserver: HTTPServer, cli: Cli) -> None:
    """The token is the data; that it is shown once goes to stderr."""
    httpserver.expect_request("/v1/keys", method="POST").respond_with_json(shapes.key(token="tb_new"), status=201)
    given = ["--subject", "user:ana", "--scope", "read", "--scope", "submit", "--role", "ops", "--tool", "t"]
    given += ["--context", "user:*", "--context", "agent:a"]
    done = cli("keys", "create", *given, "--expires", "30d", "--concurrency", "3", "--rate", "100/60")
    assert done.out == "tb_new\n"
    assert "not shown again" in done.err
    body = json.loads(httpserver.log[-1][0].get_data())
    assert (body["scopes"], body["roles"], body["tools"]) == (["read", "submit"], ["ops"], ["t"])
    assert body["contexts"] == ["user:*", "agent:a"]
    assert body["expires_at"].endswith("+00:00")
    assert body["limits"] == {"concurrency": 3, "rate": {"calls": 100, "per_s": 60.0}}
    assert cli("keys", "create", *given, "-o", "json").json()["token"] == "tb_new"


def test_a_key_without_subject_or_scope_is_a_usage_error(cli: Cli) -> None:
    """Neither has a default."""
    assert cli("keys", "create", "--scope", "read").code == 2
    assert cli("keys", "create", "--subject", "user:ana").code == 2


@pytest.mark.parametrize("rate", ["", "x", "0/1", "5/0", "5/x"])
def test_a_rate_is_calls_by_seconds(cli: Cli, rate: str) -> None:
    """Anything else is a usage error that shows the form."""
    done = cli("keys", "create", "--subject", "user:ana", "--scope", "read", "--rate", rate)
    assert done.code == 2
    assert "100/60" in done.err


def test_keys_are_listed_and_revoked(httpserver: HTTPServer, cli: Cli) -> None:
    """State says until when, or since when no more."""
    keys = [
        shapes.key(),
        shapes.key(id="key_2", revoked_at=shapes.at(1)),
        shapes.key(id="key_3", expires_at=shapes.at(2)),
    ]
    httpserver.expect_request("/v1/keys", method="GET").respond_with_json(shapes.page(*keys))
    httpserver.expect_request("/v1/keys/key_1", method="DELETE").respond_with_json(shapes.key())
    states = [line.split("\t")[3] for line in cli("keys", "ls").out.splitlines()]
    assert states == ["STATE", "valid", "revoked 2026-11-30 12:00:01Z", "until 2026-11-30 12:00:02Z"]
    assert len(cli("keys", "ls", "--all", "-o", "jsonl").lines()) == 3
    done = cli("keys", "revoke", "key_1")
    assert (done.code, done.out) == (0, "")


def serve_events(httpserver: HTTPServer) -> None:
    """Let the log be followed."""
    events = [
        shapes.event(7, "call.requested.v1", tool="a\x1b[1m"),
        shapes.event(8, "call.failed.v1"),
        shapes.event(9, "key.created.v1"),
    ]
    httpserver.expect_request("/v1/events/stream").respond_with_data(
        shapes.sse(*events), content_type="text/event-stream"
    )


def test_the_log_is_followed(httpserver: HTTPServer, cli: Cli) -> None:
    """One line an event, inert; as JSON the whole event."""
    serve_events(httpserver)
    done = cli("tail", "-n", "3", "--after", "6")
    assert [line.split()[0] for line in done.out.splitlines()] == ["7", "8", "9"]
    assert "a\\x1b[1m" in done.out
    assert httpserver.log[-1][0].headers["last-event-id"] == "6"
    assert [event["kind"] for event in cli("tail", "-n", "1", "-o", "jsonl").lines()] == ["call.requested.v1"]


@pytest.mark.parametrize(
    ("filters", "asked", "positions"),
    [
        (["kind=call.*"], {}, ["7", "8"]),
        (["category=call", "kind=*failed*"], {"category": "call"}, ["8"]),
        (["kind=key.created.v1"], {"kind": "key.created.v1"}, ["9"]),
    ],
)
def test_filters(
    httpserver: HTTPServer, cli: Cli, *, filters: list[str], asked: dict[str, str], positions: list[str]
) -> None:
    """Whole values are left to the server, patterns are matched here; all must fit."""
    serve_events(httpserver)
    options = [part for text in filters for part in ("--filter", text)]
    done = cli("tail", "-n", str(len(positions)), *options)
    assert [line.split()[0] for line in done.out.splitlines()] == positions
    assert httpserver.log[-1][0].args.to_dict() == asked


@pytest.mark.parametrize("text", ["colour=red", "kind", "=x"])
def test_a_filter_that_is_none_is_a_usage_error(cli: Cli, text: str) -> None:
    """The fields that can be asked for are named."""
    assert cli("tail", "--filter", text).code == 2


def checks(ready: bool, *found: dict[str, Any]) -> dict[str, Any]:
    """What /readyz answers."""
    return {"ready": ready, "checks": list(found)}


def test_a_healthy_server(httpserver: HTTPServer, cli: Cli) -> None:
    """Every check by name; exit code 0."""
    store = {"name": "store", "ok": True, "detail": "at head", "hint": ""}
    httpserver.expect_request("/v1/version").respond_with_json({"version": "9.9.9"})
    httpserver.expect_request("/v1/me").respond_with_json(ME)
    httpserver.expect_request("/readyz").respond_with_json(checks(True, store))
    done = cli("doctor")
    assert done.code == 0
    assert [line.split("\t")[:2] for line in done.out.splitlines()[1:]] == [
        ["server", "ok"],
        ["key", "ok"],
        ["store", "ok"],
    ]
    assert "9.9.9" in done.out


def test_a_sick_server(httpserver: HTTPServer, cli: Cli) -> None:
    """What is wrong and what to do; exit code 1; as JSON the shape of /readyz."""
    nats = {"name": "nats", "ok": False, "detail": "no connection", "hint": "start it"}
    denied = shapes.problem("unauthenticated", 401)
    httpserver.expect_request("/v1/version").respond_with_json({"version": "9.9.9"})
    httpserver.expect_request("/v1/me").respond_with_json(denied, status=401, content_type=PROBLEM)
    httpserver.expect_request("/readyz").respond_with_json(checks(False, nats), status=503)
    done = cli("doctor")
    assert done.code == 1
    assert "no connection → start it" in done.out
    assert "mend unauthenticated" in done.out
    found = cli("doctor", "-o", "json")
    assert (found.code, found.json()["ready"]) == (1, False)
    assert [check["ok"] for check in found.json()["checks"]] == [True, False, False]


def test_a_server_that_is_away_is_69(cli: Cli) -> None:
    """There is nothing to examine."""
    assert cli("doctor", "--url", "http://127.0.0.1:9").code == 69


def test_every_setting_is_listed(cli: Cli) -> None:
    """Environment variable, default and meaning; needs the server part."""
    done = cli("doctor", "--settings", "-o", "json")
    assert done.code == 0
    found = {setting["variable"]: setting for setting in done.json()}
    assert {"TOOLBUS_DATABASE_URL", "TOOLBUS_NATS_URL", "TOOLBUS_HTTP_PORT"} <= found.keys()
    assert all(setting["description"] for setting in found.values())
    assert "TOOLBUS_NATS_URL" in cli("doctor", "--settings").out


def test_schemas_are_exported(cli: Cli, tmp_path: Path) -> None:
    """One file for each message; without a folder all are printed."""
    done = cli("schemas", "export", str(tmp_path / "out"))
    assert (done.code, done.out) == (0, "")
    written = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "out").rglob("*.json")}
    assert {"call.submit", "call.requested.v1", "call"} <= written.keys()
    assert cli("schemas", "export").json()["commands/call.submit"] == written["call.submit"]


def test_schemas_that_cannot_be_written_are_an_error(cli: Cli, tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "out").write_text("")
    done = cli("schemas", "export", str(tmp_path / "out"))
    assert done.code == 2
    assert "cannot be written" in done.err

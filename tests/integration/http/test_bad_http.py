"""Odd and hostile HTTP: sizes, framings, methods, queries, hosts."""

import socket

import httpx
import pytest

from tests.integration.http.system import System, call, complete, fresh, problem_of

MIB = 1024 * 1024
READS = ("/v1/calls", "/v1/tools", "/v1/executions", "/v1/events", "/v1/keys", "/v1/calls/call_1", "/v1/tools/x")


def exchange(system: System, head: str, body: bytes = b"", *, token: str | None = None) -> tuple[int, bytes]:
    """Send bytes as they are and read one answer: its status and everything that came."""
    lines = head if token is None else f"{head}\r\nAuthorization: Bearer {token}"
    with socket.create_connection(("127.0.0.1", system.port), timeout=15) as plain:
        plain.sendall(lines.encode("latin-1") + b"\r\n\r\n" + body)
        found = b""
        while b"\r\n\r\n" not in found or (b"content-length: 0" not in found and found.endswith(b"\r\n\r\n")):
            piece = plain.recv(65536)
            if not piece:
                break
            found += piece
    return int(found.split(b" ", 2)[1]) if found else 0, found


def test_a_body_that_is_too_large_is_not_read(system: System) -> None:
    """413 comes as soon as the length is told, before a byte of the body was sent."""
    head = "POST /v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760"
    status, answer = exchange(system, head, token=system.tokens["acme"])
    assert status == 413
    assert b"body_too_large" in answer
    assert b"application/problem+json" in answer


def test_a_large_body_without_a_length_stops_at_the_bound(system: System) -> None:
    """Chunks are counted: the answer comes while the client still sends."""
    head = "POST /v1/calls HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
    chunk = b"80000\r\n" + b"x" * (MIB // 2) + b"\r\n"
    status, answer = exchange(system, head, chunk * 3, token=system.tokens["acme"])
    assert status == 413
    assert b"body_too_large" in answer


@pytest.mark.parametrize("path", ["/v1/calls", "/v1/calls/batch", "/v1/executions", "/v1/keys", "/v1/calls/x/settle"])
def test_every_body_is_bounded(http: httpx.Client, path: str) -> None:
    """1 MiB, wherever JSON is read."""
    problem_of(http.post(path, content=b'{"a": "' + b"x" * MIB + b'"}'), 413, "body_too_large")
    fits = http.post(path, content=b'{"a": "' + b"x" * (MIB - 100) + b'"}')
    assert fits.status_code in {404, 422}


def test_payloads_are_bounded(http: httpx.Client) -> None:
    """Up to 50 MiB are taken."""
    assert http.post("/v1/payloads", content=b"x" * (2 * MIB)).status_code == 201
    problem_of(http.post("/v1/payloads", content=b"x" * (50 * MIB + 1)), 413, "body_too_large")
    assert http.post("/v1/payloads", content=b"").status_code == 201


def test_chunks_without_a_length_are_taken(http: httpx.Client, echo: str) -> None:
    """A body that comes in pieces is a body."""
    pieces = (f'{{"tool": "{echo}", '.encode(), b'"arguments": {"a": 1}}')
    assert http.post("/v1/calls", content=iter(pieces)).status_code == 202


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "", "application/json; charset=utf-16", "\xff"])
def test_the_body_counts_not_its_label(http: httpx.Client, echo: str, kind: str) -> None:
    """Content types are not looked at: what is strict JSON is read, whatever it is called."""
    headers = [(b"Content-Type", kind.encode("latin-1"))]
    assert http.post("/v1/calls", content=f'{{"tool": "{echo}"}}'.encode(), headers=headers).status_code == 202
    problem_of(http.post("/v1/calls", content=b"<call/>", headers=headers), 422, "invalid_json")
    problem_of(http.post("/v1/calls", data={"tool": echo}), 422, "invalid_json")


@pytest.mark.parametrize("path", READS)
def test_nul_in_a_url_is_refused(http: httpx.Client, path: str) -> None:
    """In the path and in the query, as written and as a parameter nobody knows."""
    problem_of(http.get(f"{path}?x=%00"), 422, "invalid_value", "/query")
    problem_of(http.get("/v1/calls/a%00b"), 422, "invalid_value", "/path")
    problem_of(http.get("/v1/tools/%00"), 422, "invalid_value", "/path")


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("query", ["x=%ff%fe", "%ED%A0%80=1", "&&&==&", "a=" + "x" * 20_000, "label=%", "a" * 5000])
def test_odd_queries_do_no_harm(http: httpx.Client, path: str, query: str) -> None:
    """Bytes that are no UTF-8, empty pairs and long ones: an answer or a refusal."""
    assert http.get(f"{path}?{query}").status_code < 500


@pytest.mark.parametrize("wait", ["inf", "nan", "-inf", "-1", "61", "1e400", "x", "", "0x10", "1e-400x", "9" * 5000])
def test_absurd_times_to_wait_are_refused(http: httpx.Client, echo: str, wait: str) -> None:
    """0 to 60 seconds; infinity and no number are neither."""
    for answer in (
        http.post("/v1/calls", json={"tool": echo}, params={"wait_s": wait}),
        http.get("/v1/calls/call_1", params={"wait_s": wait}),
    ):
        problem_of(answer, 422, "invalid_request", "/query/wait_s")


@pytest.mark.parametrize(
    ("path", "name"),
    [("/v1/events", "after"), ("/v1/events/stream", "after"), ("/v1/events", "limit"), ("/v1/tools/x/versions/", "")],
)
@pytest.mark.parametrize("value", ["-1", "1e30", str(10**30), "nan", "1.5", "²", "x", "0x1", " "])
def test_absurd_numbers_are_refused(http: httpx.Client, path: str, name: str, value: str) -> None:
    """422 for what is no place in the log; a version that is no number is none either."""
    answer = http.get(path, params={name: value}) if name else http.get(f"{path}{value}")
    if name:
        problem_of(answer, 422, "invalid_request", f"/query/{name}")
    else:
        assert answer.status_code in {404, 422}
        complete(answer.json(), answer.status_code, answer.json()["code"])


@pytest.mark.parametrize(("name", "value"), [("category", "call"), ("kind", "call.requested.v1")])
def test_repeated_filters_are_bounded(http: httpx.Client, name: str, value: str) -> None:
    """Each of them is work for the database."""
    assert http.get("/v1/events", params={name: [value] * 32}).status_code == 200
    problem_of(http.get("/v1/events", params={name: [value] * 33}), 422, "invalid_request", f"/query/{name}")


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [("category", "false", "call"), ("category", "Call", "call"), ("kind", "call.requested", "call.requested.v1")],
)
def test_filters_that_nothing_can_match_are_refused(http: httpx.Client, name: str, value: str, known: str) -> None:
    """A slip of the pen is told, with what there is, instead of an empty list."""
    for path in ("/v1/events", "/v1/events/stream"):
        problem = problem_of(http.get(path, params={name: value}), 422, "invalid_request", f"/query/{name}/0")
        assert repr(value) in problem["errors"][0]["message"]
        assert known in problem["errors"][0]["message"]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "BREW", "get", "X" * 200])
def test_odd_methods_are_refused(system: System, method: str) -> None:
    """405, or 400 from the server where it is no method at all; never a fault of ours."""
    status, _ = exchange(system, f"{method} /v1/calls HTTP/1.1\r\nHost: x\r\nConnection: close")
    assert status in {400, 405}


@pytest.mark.parametrize("host", ["[", "[::1", "a b", "evil.example:99999999", "\xff", "x" * 5000, ""])
@pytest.mark.parametrize("path", ["/v1/me", "/v1/nothing", "/v1/calls?limit=x"])
def test_odd_hosts_do_no_harm(system: System, host: str, path: str) -> None:
    """Nothing here is decided by the host header."""
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close"
    status, answer = exchange(system, head, token=system.tokens["acme"])
    assert status in {200, 400, 404, 422}, answer


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/9.9",
        "GET",
        "POST /v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: -5",
        "POST /v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: \xb2",
        "POST /v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: " + "9" * 5000,
        "POST /v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6",
        "POST /v1/calls HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
        "POST /v1/calls HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip",
        "GET /v1/me HTTP/1.1\r\nHost: x\r\nBad Header: 1",
        "GET /v1/me HTTP/1.1\r\nHost: x\r\nX: a\x00b",
    ],
)
def test_broken_framing_is_refused(system: System, head: str) -> None:
    """The server hangs up or answers 4xx; the next request is served."""
    status, answer = exchange(system, f"{head}\r\nConnection: close", b"zz\r\n\r\n", token=system.tokens["acme"])
    assert status == 0 or 400 <= status < 500, answer
    assert system.client(None).get("/healthz").status_code == 200


def test_a_client_that_leaves_does_no_harm(system: System, http: httpx.Client, echo: str) -> None:
    """In the middle of a body, and while it waits for the end of a call."""
    token = system.tokens["acme"]
    for head, body in (
        ("POST /v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: 1000", b'{"tool": '),
        ("GET /v1/events/stream HTTP/1.1\r\nHost: x", b""),
    ):
        with socket.create_connection(("127.0.0.1", system.port), timeout=5) as plain:
            plain.sendall(f"{head}\r\nAuthorization: Bearer {token}\r\n\r\n".encode() + body)
    assert call(http, echo, {"mark": fresh("m")})["status"] == "succeeded"


def test_problems_are_told_in_one_shape(http: httpx.Client) -> None:
    """The instance is the path as it was asked for, and no more of it than needed."""
    told = problem_of(http.get("/v1/calls/a b%3Cscript%3E"), 404, "not_found")
    assert told["instance"] == "/v1/calls/a%20b%3Cscript%3E"
    long = problem_of(http.get("/v1/calls/" + "x" * 20_000), 404, "not_found")
    assert len(str(long)) < 4000

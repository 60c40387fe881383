"""What a method may do with its call: requests within bounds, past the guard, and what is known of them."""

import gzip
from pathlib import Path

import httpx
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.integrations.hosting.calling import Raw, at, hosted
from toolbus.provider import Call, ToolFailed
from toolbus_contracts.executing.secrets import Secret
from toolbus_integrations.host.exchange import TooLateError
from toolbus_integrations.host.failures import LIBRARY_ERRORS
from toolbus_integrations.host.network import Network


async def test_a_request_is_sent_as_it_was_written(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """Query, headers, JSON, credentials; nothing that nobody asked for."""
    httpserver.expect_request(
        "/x", method="POST", query_string={"a": "1"}, json={"b": 2}, headers={"X-Key": "k"}
    ).respond_with_json({"c": 3})
    call: Call = hosted(network, tmp_path)
    answer = await call.post(
        at(httpserver, "/x"), params={"a": 1}, json={"b": 2}, headers={"X-Key": "k"}, auth=("u", "p")
    )
    assert answer.json() == {"c": 3}
    sent = httpserver.log[0][0].headers
    assert sent["Authorization"] == "Basic dTpw"
    assert sent["User-Agent"] == "toolbus/test"
    assert set(dict(sent)) == {
        "Accept-Encoding",
        "Authorization",
        "Content-Length",
        "Content-Type",
        "Host",
        "User-Agent",
        "X-Key",
    }


async def test_files_and_forms_are_sent(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """As multipart, as any client would."""

    def read(request: Request) -> Response:
        return Response(f"{request.form['name']} {request.files['file'].read().decode()}")

    httpserver.expect_request("/", method="POST").respond_with_handler(read)
    call = hosted(network, tmp_path)
    answer = await call.request("POST", at(httpserver), data={"name": "n"}, files={"file": ("a.txt", b"bytes")})
    assert answer.text == "n bytes"


async def test_it_is_known_whether_something_was_sent(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """Not before the first byte, and not by a connection that nobody takes."""
    httpserver.expect_request("/").respond_with_data("ok")
    call = hosted(network, tmp_path)
    with pytest.raises(LIBRARY_ERRORS):
        await call.post("http://127.0.0.1:9/")
    assert not call.exchange.is_sent
    await call.get(at(httpserver))
    assert (call.exchange.is_sent, call.exchange.effects) == (True, 1)


async def test_nothing_is_sent_when_its_time_is_over(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """The connection may stand, but no byte of the request leaves."""
    call = hosted(network, tmp_path, send_by=0.0)
    with pytest.raises(TooLateError):
        await call.get(at(httpserver))
    with pytest.raises(TooLateError):
        call.mark_sent()
    assert httpserver.log == []


@pytest.mark.parametrize(
    ("status", "retryable"), [(400, False), (401, False), (408, True), (429, True), (500, False), (503, True)]
)
async def test_an_error_of_the_vendor_is_told(
    network: Network, tmp_path: Path, httpserver: HTTPServer, *, status: int, retryable: bool
) -> None:
    """With its answer, and when to come back; unless the method wants to see it itself."""
    httpserver.expect_request("/").respond_with_data("no", status=status, headers={"Retry-After": "7"})
    call = hosted(network, tmp_path)
    with pytest.raises(ToolFailed) as failed:
        await call.get(at(httpserver))
    error = failed.value
    assert (error.code, error.retryable, error.retry_after_s) == ("http_status", retryable, 7.0)
    assert error.response is not None
    assert error.response.text == "no"
    assert (await call.get(at(httpserver), raises=False)).status_code == status


async def test_a_large_answer_is_not_read_to_its_end(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """Above the bound it is refused; at the bound it is whole."""
    httpserver.expect_request("/large").respond_with_data(b"x" * 100_001)
    httpserver.expect_request("/fits").respond_with_data(b"x" * 100_000)
    call = hosted(network, tmp_path)
    with pytest.raises(ToolFailed, match="larger than 100000 bytes") as failed:
        await call.get(at(httpserver, "/large"))
    assert failed.value.code == "response_too_large"
    assert len((await call.get(at(httpserver, "/fits"))).content) == 100_000


async def test_an_answer_is_unpacked_within_its_bound(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """A megabyte that became a thousand bytes is refused as a megabyte; what nobody can unpack is refused."""
    packed = {"Content-Encoding": "gzip"}
    httpserver.expect_request("/fits").respond_with_data(gzip.compress(b"hello"), headers=packed)
    httpserver.expect_request("/bomb").respond_with_data(gzip.compress(b"x" * 1_000_000), headers=packed)
    httpserver.expect_request("/broken").respond_with_data(b"no gzip", headers=packed)
    httpserver.expect_request("/short").respond_with_data(gzip.compress(b"hello")[:-6], headers=packed)
    httpserver.expect_request("/other").respond_with_data(b"?", headers={"Content-Encoding": "br"})
    call = hosted(network, tmp_path)
    answer = await call.get(at(httpserver, "/fits"))
    assert (answer.text, "content-encoding" in answer.headers) == ("hello", False)
    for path, code in (
        ("/bomb", "response_too_large"),
        *((path, "response_invalid") for path in ("/broken", "/short", "/other")),
    ):
        with pytest.raises(ToolFailed) as failed:
            await call.get(at(httpserver, path))
        assert failed.value.code == code, path


async def test_the_guard_refuses_before_anything_is_sent(
    network: Network, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """By address, by name, and for what another program is asked to fetch."""
    call = hosted(network, tmp_path, allow="")
    for url in (at(httpserver), "http://localhost/", "http://169.254.169.254/latest", "file:///etc/passwd"):
        with pytest.raises(ToolFailed) as failed:
            await call.get(url)
        assert failed.value.code == "egress_denied", url
        with pytest.raises(ToolFailed, match="is not reached"):
            await call.examine(url)
    with pytest.raises(ToolFailed, match="is not reached"):
        await call.checked_address("127.0.0.1", 25)
    assert httpserver.log == []
    assert not call.exchange.is_sent


async def test_addresses_are_checked(network: Network, tmp_path: Path) -> None:
    """The address that was checked is the one to connect to; a name without one cannot be reached."""
    call = hosted(network, tmp_path, allow="127.0.0.0/8,localhost")
    assert await call.checked_address("127.0.0.1", 25) == "127.0.0.1"
    assert await call.checked_address("localhost", 25) in {"127.0.0.1", "::1"}
    with pytest.raises(ToolFailed) as failed:
        await call.checked_address("no-such-host.invalid", 25)
    assert (failed.value.code, failed.value.retryable) == ("connection_failed", True)


async def test_a_name_is_connected_by_the_address_that_was_checked(
    network: Network, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """The server sees the name; the guard saw every address of it."""
    httpserver.expect_request("/").respond_with_data("ok")
    call = hosted(network, tmp_path, allow="localhost")
    assert (await call.get(f"http://localhost:{httpserver.port}/")).text == "ok"
    assert httpserver.log[0][0].headers["Host"] == f"localhost:{httpserver.port}"


async def test_a_secret_goes_to_its_hosts_only(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """Neither by HTTP nor otherwise."""
    bound = Secret("key", "", hosts=("api.example.com",))
    call = hosted(network, tmp_path, secrets=[bound])
    for asking in (call.get(at(httpserver)), call.checked_address("127.0.0.1", 25), call.examine(at(httpserver))):
        with pytest.raises(ToolFailed, match=r"key goes to api\.example\.com only") as failed:
            await asking
        assert failed.value.code == "secret_not_allowed"
    free = hosted(network, tmp_path, secrets=[Secret("key", "", hosts=(f"127.0.0.1:{httpserver.port}",))])
    httpserver.expect_request("/").respond_with_data("ok")
    assert (await free.get(at(httpserver))).text == "ok"


async def test_nothing_is_read_from_the_environment(
    network: Network, tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No proxy, no credentials of a file."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    httpserver.expect_request("/").respond_with_data("ok")
    assert (await hosted(network, tmp_path).get(at(httpserver))).text == "ok"


async def test_an_error_status_is_an_answer_though_its_body_breaks_off(
    network: Network, tmp_path: Path, raw: Raw
) -> None:
    """A success is one only when it is whole."""
    call = hosted(network, tmp_path)
    refused = await raw(b"HTTP/1.1 403 No\r\nContent-Length: 100\r\n\r\nnot you")
    with pytest.raises(ToolFailed) as failed:
        await call.get(refused)
    assert failed.value.response is not None
    assert (failed.value.response.status_code, failed.value.response.text) == (403, "not you")
    for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", b"", b"no http\r\n\r\n"):
        with pytest.raises(LIBRARY_ERRORS):
            await call.get(await raw(answer))
    assert call.exchange.is_sent


async def test_the_network_is_a_transport_of_httpx(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """A vendor's own library can be given it; closing a client does not close the connections of others."""
    httpserver.expect_request("/").respond_with_data("ok")
    call = hosted(network, tmp_path)
    async with httpx.AsyncClient(transport=network, trust_env=False) as client:
        assert (await client.get(at(httpserver))).text == "ok"
    assert (await call.get(at(httpserver))).text == "ok"


def test_what_it_tells_of_itself(tmp_path: Path) -> None:
    """The time is aware, in UTC."""
    call: Call = hosted(Network(), tmp_path)
    assert call.now.utcoffset() is not None
    assert (call.tenant, call.call_id, call.folder, call.max_output_bytes) == ("acme", "call_1", tmp_path, 100_000)

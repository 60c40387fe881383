"""Redirects of vendors: each is checked, credentials stay at home, and there is an end."""

from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.integrations.hosting.calling import Raw, at, hosted
from toolbus.provider import ToolFailed
from toolbus_integrations.host.network import Network


async def test_redirects_are_followed_when_they_are_wanted(
    network: Network, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """Each is checked; at home everything goes along; a POST becomes a GET where the protocol says so."""
    httpserver.expect_request("/a", method="POST").respond_with_data("", status=303, headers={"Location": "/b?c=1"})
    httpserver.expect_request("/b", method="GET", query_string="c=1", headers={"X-Key": "k"}).respond_with_data("here")
    call = hosted(network, tmp_path)
    assert (
        await call.post(at(httpserver, "/a"), json={}, headers={"x-key": "k"}, follow_redirects=True)
    ).text == "here"
    assert "Content-Type" not in httpserver.log[1][0].headers
    assert (await call.post(at(httpserver, "/a"), json={})).status_code == 303


async def test_a_body_goes_along_at_home(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """Where the protocol keeps the method."""
    httpserver.expect_request("/a").respond_with_data("", status=307, headers={"Location": "/b"})
    httpserver.expect_request("/b", method="POST", json={"x": 1}).respond_with_data("here")
    call = hosted(network, tmp_path)
    assert (await call.post(at(httpserver, "/a"), json={"x": 1}, follow_redirects=True)).text == "here"


async def test_credentials_do_not_follow_to_another_origin(
    network: Network,
    tmp_path: Path,
    httpserver: HTTPServer,
) -> None:
    """Nor does a body: such a redirect is the answer."""
    other = HTTPServer(host="127.0.0.2", port=0)
    other.start()
    try:
        other.expect_request("/b").respond_with_data("there")
        location = {"Location": f"http://127.0.0.2:{other.port}/b"}
        httpserver.expect_request("/a").respond_with_data("", status=307, headers=location)
        call = hosted(network, tmp_path)
        headers = {"x-key": "k", "authorization": "Bearer b", "cookie": "c", "accept": "text/plain"}
        answer = await call.get(at(httpserver, "/a"), headers=headers, follow_redirects=True)
        assert answer.text == "there"
        sent = {name.lower() for name, _ in other.log[0][0].headers.items()}
        assert sent == {"accept", "accept-encoding", "host", "user-agent"}
        assert (await call.post(at(httpserver, "/a"), json={}, follow_redirects=True)).status_code == 307
        assert len(other.log) == 1
    finally:
        other.stop()


async def test_a_redirect_to_where_nobody_may_go_is_refused(
    network: Network, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """Though the first request was sent."""
    location = {"Location": "http://169.254.169.254/latest"}
    httpserver.expect_request("/").respond_with_data("", status=302, headers=location)
    call = hosted(network, tmp_path)
    with pytest.raises(ToolFailed) as failed:
        await call.get(at(httpserver), follow_redirects=True)
    assert (failed.value.code, call.exchange.is_sent) == ("egress_denied", True)


@pytest.mark.parametrize("location", ["http://[::bad/", "http://user:pass@127.0.0.1/", ""])
async def test_a_redirect_that_leads_nowhere_is_the_answer(
    network: Network, tmp_path: Path, raw: Raw, location: str
) -> None:
    """What the vendor sent is handed on."""
    told = f"Location: {location}\r\n" if location else ""
    url = await raw(f"HTTP/1.1 302 Found\r\n{told}Content-Length: 4\r\n\r\ngone".encode())
    answer = await hosted(network, tmp_path).get(url, follow_redirects=True)
    assert (answer.status_code, answer.text) == (302, "gone")


async def test_redirects_have_an_end(network: Network, tmp_path: Path, httpserver: HTTPServer) -> None:
    """The last one is the answer."""
    httpserver.expect_request("/").respond_with_data("", status=302, headers={"Location": "/"})
    assert (await hosted(network, tmp_path).get(at(httpserver), follow_redirects=True)).status_code == 302
    assert len(httpserver.log) == 11

"""The endpoint that gives tokens to service accounts, in trouble: no cell has been asked for, and no token is told."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.fakes.google_sheets import SPREADSHEET, Sheets
from tests.unit.integrations.providers.calling import OwnCall, perform
from tests.unit.integrations.providers.test_google_sheets import ALL
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import google_accounts
from toolbus_integrations.providers.google_sheets import provider

TOKEN = "ya29.a-token-that-nobody-sees"
every = pytest.mark.parametrize("method", ALL)


@pytest.fixture
def sheets(httpserver: HTTPServer) -> Iterator[Sheets]:
    """A spreadsheet, and an account without a token."""
    found = Sheets(httpserver)
    yield found
    found.release.set()


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def _do(sheets: Sheets, call: OwnCall, method: str) -> dict[str, Any]:
    return await perform(provider, method, {"spreadsheet_id": SPREADSHEET} | ALL[method], call, setup=sheets.setup)


async def _failure(sheets: Sheets, call: OwnCall, method: str) -> ToolFailed:
    """How it fails: it asked for a token, and for nothing else."""
    with pytest.raises(ToolFailed) as raised:
        await _do(sheets, call, method)
    assert [request.path for request in sheets.requests] == ["/token"]
    assert raised.value.has_effect is False
    return raised.value


@every
async def test_refused(sheets: Sheets, call: OwnCall, method: str) -> None:
    """An account that gets none is told so in Google's words, and is not tried again."""
    sheets.fail(401)
    failed = await _failure(sheets, call, method)
    assert failed.message == f"Google: {Sheets.words} (HTTP 401)"
    assert not failed.retryable


@every
async def test_too_often(sheets: Sheets, call: OwnCall, method: str) -> None:
    """Retry-After is kept."""
    sheets.fail(429, retry_after="7")
    failed = await _failure(sheets, call, method)
    assert (failed.retryable, failed.retry_after_s) == (True, 7.0)


@every
async def test_broken(sheets: Sheets, call: OwnCall, method: str) -> None:
    """Nothing was done, so that also a method that is not repeated blindly may be tried again; then it works."""
    sheets.fail(500)
    failed = await _failure(sheets, call, method)
    assert failed.retryable
    assert "(HTTP 500)" in failed.message
    sheets.recover()
    await _do(sheets, call, method)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"null", b"<html>", b'{"access_token": "%s"}' % TOKEN.encode(), b'{"access_token": ""}']
)
@pytest.mark.parametrize("method", ["read_values", "append_values"])
async def test_something_else(sheets: Sheets, call: OwnCall, method: str, body: bytes) -> None:
    """What is no token is not taken for one; what may hold one is not shown."""
    sheets.say(body)
    failed = await _failure(sheets, call, method)
    assert failed.code == "response_invalid"
    assert TOKEN not in failed.message
    assert failed.response is None


@pytest.mark.parametrize("method", ["read_values", "append_values"])
async def test_too_large(sheets: Sheets, call: OwnCall, method: str) -> None:
    """No more of it is taken than the call may have."""
    sheets.say(b" " * 5000)
    call.max_output_bytes = 4096
    assert (await _failure(sheets, call, method)).code == "response_too_large"


@pytest.mark.parametrize("method", ["read_values", "append_values"])
async def test_too_slow(sheets: Sheets, call: OwnCall, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """It has a time of its own, after which it is known that nothing was done."""
    monkeypatch.setattr(google_accounts, "TOKEN_TIMEOUT_S", 0.2)
    sheets.hang()
    failed = await _failure(sheets, call, method)
    assert (failed.code, failed.retryable) == ("connection_failed", True)
    assert failed.message.endswith("/token: no answer in time")


async def test_calls_that_wait_for_one_token(sheets: Sheets, call: OwnCall) -> None:
    """Each fails for itself while there is none, and none of them holds up those that come later."""
    sheets.fail(500)
    found = await asyncio.gather(*(_do(sheets, call, "read_values") for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in found] == [ToolFailed] * 3
    sheets.recover()
    await asyncio.gather(*(_do(sheets, call, "read_values") for _ in range(3)))
    assert len(sheets.tokens) == 1


@every
async def test_revoked(sheets: Sheets, call: OwnCall, method: str) -> None:
    """A token at hand that is refused is thrown away: nothing was done, and another attempt gets another one."""
    await _do(sheets, call, method)
    sheets.tokens.clear()
    with pytest.raises(ToolFailed, match=r"\(HTTP 401\)") as failed:
        await _do(sheets, call, method)
    assert (failed.value.retryable, failed.value.has_effect) == (True, False)
    await _do(sheets, call, method)
    assert len(sheets.tokens) == 1

"""Google Sheets: what is read and written, as whom, and for how long a token is good."""

import asyncio
import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from pydantic import ValidationError
from pytest_httpserver import HTTPServer

from tests.fakes.google_sheets import EMAIL, SPREADSHEET, Sheets
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers.google_sheets import SCOPE, provider

TABLE = [["name", "age"], ["Ann", 41], ["Bob", 5]]
ALL: dict[str, dict[str, Any]] = {
    "read_values": {"range": "A1"},
    "write_values": {"range": "A1", "values": [[1]]},
    "append_values": {"range": "A1", "values": [[1]]},
    "clear_values": {"range": "A1"},
    "batch_read": {"ranges": ["A1"]},
    "batch_write": {"data": [{"range": "A1", "values": [[1]]}]},
}
READS = {"read_values", "batch_read"}


@pytest.fixture
def sheets(httpserver: HTTPServer) -> Iterator[Sheets]:
    """A spreadsheet with nothing in it."""
    found = Sheets(httpserver)
    yield found
    found.release.set()


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """The call."""
    return OwnCall(tmp_path)


async def _do(sheets: Sheets, call: OwnCall, method: str, **arguments: object) -> dict[str, Any]:
    return await perform(provider, method, {"spreadsheet_id": SPREADSHEET} | arguments, call, setup=sheets.setup)


def test_every_method_is_tested() -> None:
    """Those of the table are those of the provider, and each says what it does."""
    assert set(provider.methods) == set(ALL)
    effects = {name: (method.contract.effect, method.contract.idempotency) for name, method in provider.methods.items()}
    assert {name for name, (effect, _) in effects.items() if effect == "read"} == READS
    assert effects["append_values"] == ("write", "none")
    assert effects["write_values"] == ("write", "native")


async def test_written_and_read(sheets: Sheets, call: OwnCall) -> None:
    """Values stand where they were written, and are read as they look or as they are, by rows or by columns."""
    written = await _do(sheets, call, "write_values", range="Sheet1!A1:B3", values=TABLE)
    assert written == {
        "spreadsheet_id": SPREADSHEET,
        "updated_range": "Sheet1!A1:B3",
        "updated_rows": 3,
        "updated_columns": 2,
        "updated_cells": 6,
        "updated_values": None,
    }
    read = await _do(sheets, call, "read_values", range="Sheet1!A1:C9")
    assert read["values"] == [["name", "age"], ["Ann", "41"], ["Bob", "5"]]
    plain = await _do(
        sheets,
        call,
        "read_values",
        range="Sheet1!A2:B3",
        value_render_option="UNFORMATTED_VALUE",
        major_dimension="COLUMNS",
        date_time_render_option="SERIAL_NUMBER",
    )
    assert plain == {"range": "Sheet1!A2:B3", "major_dimension": "COLUMNS", "values": [["Ann", "Bob"], [41, 5]]}
    assert sheets.requests[-1].args["dateTimeRenderOption"] == "SERIAL_NUMBER"
    assert (await _do(sheets, call, "read_values", range="Sheet1!D1:E2"))["values"] == []


async def test_as_typed_or_as_they_are(sheets: Sheets, call: OwnCall) -> None:
    """A text that looks like a number becomes one when it counts as typed; what stands now is told when wanted."""
    typed = await _do(sheets, call, "write_values", range="A1", values=[["7"]], include_values_in_response=True)
    raw = await _do(sheets, call, "write_values", range="A2", values=[["7"]], value_input_option="RAW")
    assert (sheets.cells[1, 1], sheets.cells[2, 1]) == (7, "7")
    assert (typed["updated_values"], raw["updated_values"]) == ([["7"]], None)


async def test_appended(sheets: Sheets, call: OwnCall) -> None:
    """Rows come behind the table."""
    await _do(sheets, call, "write_values", range="A1", values=TABLE)
    appended = await _do(sheets, call, "append_values", range="A1:B1", values=[["Zoë", True], [None, 1.5]])
    assert (appended["updated_range"], appended["updated_rows"]) == ("Sheet1!A4:B5", 2)
    assert (sheets.cells[4, 1], sheets.cells[4, 2], sheets.cells[5, 2]) == ("Zoë", True, 1.5)
    assert sheets.requests[-1].args["insertDataOption"] == "INSERT_ROWS"


async def test_cleared(sheets: Sheets, call: OwnCall) -> None:
    """Cells of the range are empty, others stay."""
    await _do(sheets, call, "write_values", range="A1", values=TABLE)
    cleared = await _do(sheets, call, "clear_values", range="Sheet1!A2:B3")
    assert cleared == {"spreadsheet_id": SPREADSHEET, "cleared_range": "Sheet1!A2:B3"}
    assert set(sheets.cells) == {(1, 1), (1, 2)}


async def test_many_ranges(sheets: Sheets, call: OwnCall) -> None:
    """Several ranges are written and read in one request each."""
    data = [
        {"range": "A1", "values": [["a", "b"]]},
        {"range": "D1", "values": [["c", "d"]], "major_dimension": "COLUMNS"},
    ]
    written = await _do(sheets, call, "batch_write", data=data, include_values_in_response=True)
    assert {name: value for name, value in written.items() if name.startswith("total")} == {
        "total_updated_sheets": 1,
        "total_updated_rows": 3,
        "total_updated_columns": 3,
        "total_updated_cells": 4,
    }
    assert [one["updated_values"] for one in written["responses"]] == [[["a", "b"]], [["c"], ["d"]]]
    read = await _do(sheets, call, "batch_read", ranges=["A1:B1", "D1:D2"])
    assert [one["values"] for one in read["value_ranges"]] == [[["a", "b"]], [["c"], ["d"]]]


async def test_signed_for(sheets: Sheets, call: OwnCall) -> None:
    """The account asks for spreadsheets alone, for an hour, and its key file may be JSON too."""
    setup = {**sheets.setup, "service_account_json": json.dumps(sheets.key_file())}
    await perform(provider, "read_values", {"spreadsheet_id": SPREADSHEET, "range": "A1"}, call, setup=setup)
    assert sheets.claims == {
        "iss": EMAIL,
        "scope": SCOPE,
        "aud": f"{sheets.url}/token",
        "iat": int(call.now.timestamp()),
        "exp": int(call.now.timestamp()) + 3600,
    }


async def test_token_is_kept_until_it_ends(sheets: Sheets, call: OwnCall) -> None:
    """One token serves many calls at once, for its tenant, until shortly before it ends."""
    await asyncio.gather(*(_do(sheets, call, "read_values", range="A1") for _ in range(5)))
    call.now += timedelta(seconds=3600 - 61)
    await _do(sheets, call, "read_values", range="A1")
    assert len(sheets.tokens) == 1
    call.now += timedelta(seconds=1)
    await _do(sheets, call, "read_values", range="A1")
    assert len(sheets.tokens) == 2
    call.tenant = "other"
    await _do(sheets, call, "read_values", range="A1")
    assert len(sheets.tokens) == 3


async def test_token_that_is_refused(sheets: Sheets, call: OwnCall) -> None:
    """A kept token that is not good any more is thrown away, and another attempt may have another one."""
    await _do(sheets, call, "append_values", range="A1", values=[[1]])
    sheets.tokens.clear()
    with pytest.raises(ToolFailed, match=r"\(HTTP 401\)") as failed:
        await _do(sheets, call, "append_values", range="A1", values=[[1]])
    assert (failed.value.retryable, failed.value.has_effect) == (True, False)
    await _do(sheets, call, "append_values", range="A1", values=[[1]])
    assert len(sheets.cells) == 2


async def test_account_that_may_not(sheets: Sheets, call: OwnCall) -> None:
    """An account whose signature is not its own gets no token, and its cells are not asked for."""
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with pytest.raises(ToolFailed, match="Invalid JWT Signature") as failed:
        await _as(sheets, call, _pem(other))
    assert (failed.value.retryable, failed.value.has_effect, len(sheets.requests)) == (False, False, 1)


def _pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


async def _as(sheets: Sheets, call: OwnCall, key: str) -> object:
    setup = {**sheets.setup, "service_account_json": json.dumps({**sheets.key_file(), "private_key": key})}
    return await perform(
        provider, "append_values", {"spreadsheet_id": SPREADSHEET} | ALL["append_values"], call, setup=setup
    )


@pytest.mark.parametrize("kind", ["none", "elliptic"])
async def test_unusable_key(sheets: Sheets, call: OwnCall, kind: str) -> None:
    """A key that cannot sign is told as such, without a word of it."""
    key = _pem(ec.generate_private_key(ec.SECP256R1())) if kind == "elliptic" else "no key at all"
    with pytest.raises(ToolFailed, match="private_key") as failed:
        await _as(sheets, call, key)
    assert (failed.value.code, sheets.requests) == ("request_invalid", [])
    assert key not in failed.value.message


async def test_token_endpoint_elsewhere(sheets: Sheets, call: OwnCall) -> None:
    """`token_url` goes before what the key file names; where nobody answers nothing was done."""
    arguments = {"spreadsheet_id": SPREADSHEET} | ALL["append_values"]
    setup = {**sheets.setup, "token_url": "http://127.0.0.1:1/token"}
    with pytest.raises(ToolFailed, match="no token") as failed:
        await perform(provider, "append_values", arguments, call, setup=setup)
    assert (failed.value.code, failed.value.retryable, failed.value.has_effect) == ("connection_failed", True, False)


@pytest.mark.parametrize("text", ["", "no key file", base64.b64encode(b"{}").decode(), '{"client_email": "a@b"}', "{"])
async def test_no_key_file(sheets: Sheets, call: OwnCall, text: str) -> None:
    """What is no key file is refused before anything is sent."""
    with pytest.raises(ValidationError):
        await perform(provider, "read_values", {}, call, setup={**sheets.setup, "service_account_json": text})


async def test_no_shared_account(sheets: Sheets, call: OwnCall) -> None:
    """There is no account of the operator's: whoever asks for it is told so."""
    with pytest.raises(ValidationError, match="no shared account"):
        await perform(provider, "read_values", {}, call, setup={**sheets.setup, "use_julep_service": True})


async def test_writing_inserts_nothing(sheets: Sheets, call: OwnCall) -> None:
    """A range is written over; a wish for new rows is refused, and not ignored."""
    with pytest.raises(ValidationError, match="insert_data_option"):
        await _do(sheets, call, "write_values", range="A1", values=[[1]], insert_data_option="INSERT_ROWS")


@pytest.mark.parametrize("method", ALL)
async def test_vendor_says_no(sheets: Sheets, call: OwnCall, method: str) -> None:
    """A refusal is told in Google's words, and it is known that nothing happened."""
    with pytest.raises(ToolFailed, match=rf"Google: {Sheets.words} \(HTTP 404\)") as failed:
        await _do(sheets, call, method, **ALL[method] | {"spreadsheet_id": "another"})
    assert (failed.value.retryable, failed.value.has_effect) == (False, False)


@pytest.mark.parametrize("method", ALL)
async def test_too_often(sheets: Sheets, call: OwnCall, method: str) -> None:
    """Retry-After is kept, whoever sends it; the request is made once."""
    await _do(sheets, call, method, **ALL[method])
    sheets.fail(429, retry_after="7")
    with pytest.raises(ToolFailed) as failed:
        await _do(sheets, call, method, **ALL[method])
    assert (failed.value.retryable, failed.value.retry_after_s, failed.value.has_effect) == (True, 7.0, False)
    assert len(sheets.requests) == 3


@pytest.mark.parametrize("method", ALL)
async def test_vendor_is_broken(sheets: Sheets, call: OwnCall, method: str) -> None:
    """500 leaves open what happened; what may be repeated is."""
    await _do(sheets, call, method, **ALL[method])
    sheets.fail(500)
    with pytest.raises(ToolFailed, match=Sheets.words) as failed:
        await _do(sheets, call, method, **ALL[method])
    assert failed.value.has_effect is None
    assert (500 in provider.methods[method].retry_on) == (method != "append_values")


@pytest.mark.parametrize("body", [b"", b"{", b"null", b'{"surprise": 1}', b"<html>hello</html>", b"[]"])
@pytest.mark.parametrize("method", ALL)
async def test_something_else(sheets: Sheets, call: OwnCall, method: str, body: bytes) -> None:
    """200 with something else inside is no success."""
    await _do(sheets, call, method, **ALL[method])
    sheets.say(body)
    with pytest.raises(ToolFailed, match="cannot be read") as failed:
        await _do(sheets, call, method, **ALL[method])
    assert failed.value.code == "response_invalid"


@pytest.mark.parametrize("method", ALL)
async def test_too_large_and_too_slow(sheets: Sheets, call: OwnCall, method: str) -> None:
    """An answer has a bound in size, and in time."""
    await _do(sheets, call, method, **ALL[method])
    sheets.say(b" " * 5000)
    call.max_output_bytes = 4096
    with pytest.raises(ToolFailed) as failed:
        await _do(sheets, call, method, **ALL[method])
    assert failed.value.code == "response_too_large"
    sheets.hang()
    arguments = {"spreadsheet_id": SPREADSHEET} | ALL[method]
    with pytest.raises(TimeoutError):
        await perform(provider, method, arguments, call, setup=sheets.setup, timeout_s=0.2)

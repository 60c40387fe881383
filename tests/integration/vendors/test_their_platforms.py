"""As `test_their_clients.py`, for what is changed there: browser sessions, a queue of mail, a spreadsheet."""

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.fakes.browserbase import Browserbase
from tests.fakes.google_sheets import Sheets
from tests.fakes.mailgun import Mailgun
from tests.fakes.vendor import FakeVendor
from tests.integration.vendors.test_their_clients import IS_SET_UP, read, told
from tests.integration.vendors.their_clients import ROWS, SPREADSHEET
from tests.unit.integrations.providers.calling import OwnCall, perform
from toolbus.provider import Provider
from toolbus_integrations.providers import browserbase, google_sheets, mailgun

pytestmark = pytest.mark.skipif(not IS_SET_UP, reason="the vendors' clients are not set up: make vendors")


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """A call with a folder of its own."""
    return OwnCall(tmp_path)


async def _ours(
    provider: Provider, fake: FakeVendor, call: OwnCall, method: str, **arguments: object
) -> dict[str, Any]:
    return await perform(provider, method, arguments, call, setup=fake.setup)


async def test_browserbase(httpserver: HTTPServer, call: OwnCall) -> None:
    """A session from start to end, what it is asked for and where it is watched; an extension."""
    fake = Browserbase(httpserver)
    theirs = await read("browserbase", fake)
    wanted = {
        "timeout": 120,
        "keepAlive": True,
        "proxies": [{"type": "browserbase", "geolocation": {"country": "DE"}}],
        "browserSettings": {"viewport": {"width": 800, "height": 600}},
    }
    started = await _ours(browserbase.provider, fake, call, "create_session", **wanted)
    assert fake.wanted[0] == fake.wanted[1]
    assert started["connect_url"] == theirs["connect_url"].replace("session-1", "session-2")
    live = await _ours(browserbase.provider, fake, call, "get_live_urls", id="session-1")
    assert live["urls"] == theirs["live"]
    ours = await _ours(browserbase.provider, fake, call, "get_session", id="session-1")
    same = ("id", "projectId", "status", "keepAlive", "proxyBytes", "contextId")
    assert [ours[name] for name in same] == [theirs["session"][name] for name in same]
    assert ours["endedAt"].removesuffix(".000Z") == theirs["session"]["endedAt"].removesuffix("Z")
    assert theirs["running"] == []
    assert fake.uploads == [("blocker.zip", {"manifest.json": b"{}"})]


async def test_browserbase_knows_its_errors(httpserver: HTTPServer) -> None:
    """The error of the fake is one that the vendor's client knows."""
    fake = Browserbase(httpserver)
    found = await told("browserbase", fake.url, "a-wrong-key")
    assert found["raised"].startswith("AuthenticationError: Error code: 401"), found
    assert fake.words in found["raised"]


async def test_mailgun(httpserver: HTTPServer, call: OwnCall) -> None:
    """The same message to the same domain, field by field; a wrong key is refused."""
    fake = Mailgun(httpserver)
    theirs = await read("mailgun", fake)
    mail = {
        "from": "Ann <ann@example.com>",
        "to": "bob@example.org, Jo <jo@example.org>",
        "cc": "zoe@example.org",
        "bcc": "eve@example.net",
        "subject": "Hello",
        "body": "How are you?",
        "html": "<p>Hi</p>",
        "reply_to": "desk@example.com",
    }
    ours = await _ours(mailgun.provider, fake, call, "send_email", **mail)
    assert fake.messages[0] == fake.messages[1]
    assert theirs["id"] == ours["id"].replace(".2@", ".1@")
    found = await told("mailgun", fake.url, "a-wrong-key")
    assert "401" in found["raised"], found


async def test_google_sheets(httpserver: HTTPServer, call: OwnCall) -> None:
    """Google's client gets a token, writes, appends, reads and clears as ours does, from the same cells."""
    fake = Sheets(httpserver)
    found = await told("google_sheets", fake.url, json.dumps(fake.key_file()))
    assert "read" in found, found
    theirs = found["read"]
    fake.cells.clear()

    async def ours(method: str, **arguments: object) -> dict[str, Any]:
        return await _ours(google_sheets.provider, fake, call, method, spreadsheet_id=SPREADSHEET, **arguments)

    table = "Sheet1!A1:B2"
    written = await ours("write_values", range=table, values=ROWS, value_input_option="RAW")
    assert _named(theirs["written"], written) == written | {"updated_values": None}
    appended = await ours("append_values", range=table, values=[["Zoë", "7"]], include_values_in_response=True)
    updates = theirs["appended"]["updates"]
    assert appended["updated_values"] == updates.pop("updatedData")["values"]
    assert _named(updates, appended) == appended
    block = {"range": "D1", "values": [["c", "d"]], "major_dimension": "COLUMNS"}
    batch = await ours("batch_write", data=[block], include_values_in_response=True)
    assert batch["total_updated_cells"] == theirs["batch"]["totalUpdatedCells"] == 2
    read_too = await ours(
        "read_values", range=table, major_dimension="COLUMNS", value_render_option="UNFORMATTED_VALUE"
    )
    assert read_too == _named(theirs["read"], read_too)
    many = await ours("batch_read", ranges=["A1:B1", "D1:D2"])
    assert [one["values"] for one in many["value_ranges"]] == [one["values"] for one in theirs["many"]["valueRanges"]]
    assert await ours("clear_values", range=table) == _named(
        theirs["cleared"], {"spreadsheet_id": "", "cleared_range": ""}
    )


def _named(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Their answer under our names; what they leave out is as ours."""
    camel = {"".join([first, *map(str.title, rest)]): name for name in ours for first, *rest in [name.split("_")]}
    return {**ours, **{camel[name]: value for name, value in theirs.items()}}

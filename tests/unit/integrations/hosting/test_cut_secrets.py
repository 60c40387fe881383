"""What a vendor says is cut in the process of the provider: no cut leaves the beginning of a secret behind."""

from pathlib import Path

import pytest
from pydantic import BaseModel
from pytest_httpserver import HTTPServer

from tests.unit.integrations.hosting.calling import at
from toolbus.provider import READ, Call, Info, Provider, ToolFailed
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.executing.redacting import redacted
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.judging import judge
from toolbus_integrations.host.exchange import Exchange
from toolbus_integrations.host.messages import Perform
from toolbus_integrations.host.network import Network
from toolbus_integrations.host.running import MAX_EXCERPT_BYTES, MAX_WORDS, Runner
from toolbus_integrations.providers.vendor import MAX_WORDS as MAX_VENDOR_WORDS
from toolbus_integrations.providers.vendor import Vendor
from toolbus_runtime.executing.clock import SystemClock

VALUE = "s" * 20 + "-not-the-half-of-it-" + "t" * 20
VENDOR = Vendor("the vendor", told_at=(("message",),))


class Wish(BaseModel):
    """What is wanted."""

    url: str = ""
    text: str = ""


class Told(BaseModel):
    """What came of it."""


class Keys(BaseModel):
    """What has to be set up."""

    api_key: str


telling = Provider("telling", info=Info(friendly_name="Telling"), setup=Keys)


@telling.method(contract=READ)
async def ask(arguments: Wish, setup: Keys, call: Call) -> Told:
    """Ask the vendor."""
    await call.get(arguments.url)
    return Told()


@telling.method(contract=READ)
async def ask_for_words(arguments: Wish, setup: Keys, call: Call) -> Told:
    """Ask the vendor, and tell what it says in its words."""
    await VENDOR.answer(call.get(arguments.url))
    return Told()


@telling.method(contract=READ)
async def fail(arguments: Wish, setup: Keys, call: Call) -> Told:
    """Fail, with the key in its words."""
    raise ToolFailed(arguments.text + setup.api_key)


@telling.method(contract=READ)
async def break_down(arguments: Wish, setup: Keys, call: Call) -> Told:
    """Raise what no method may raise, with the key in its words."""
    raise KeyError(arguments.text + setup.api_key)


async def told_of(method: str, tmp_path: Path, **arguments: str) -> str:
    """All that is told of a call in the end."""
    network = Network()
    runner = Runner(telling, network, folder=tmp_path, user_agent="toolbus/test")
    exchange = Exchange(
        EgressRules(parse_allowances("127.0.0.0/8")), SystemClock(), lambda: None, secrets=[Secret("key", VALUE)]
    )
    asked = Perform(
        id=1,
        method=method,
        setup={"api_key": VALUE},
        arguments=dict(arguments),
        tenant="acme",
        call_id="call_1",
        max_output_bytes=100_000,
    )
    ended = await runner.run(asked, exchange)
    await network.aclose()
    outcome = redacted(judge(ended, Terms(), is_sent=False), Redactor([("key", VALUE)]), Terms())
    assert outcome.error is not None
    assert outcome.error.code != "redaction_failed"
    return outcome.error.model_dump_json()


@pytest.mark.parametrize("shown", [10, 30, 59])
@pytest.mark.parametrize(
    ("method", "limit", "body"),
    [
        ("ask", MAX_EXCERPT_BYTES, "{0}"),
        ("ask_for_words", MAX_VENDOR_WORDS - 1, '{{"message": "{0}"}}'),
    ],
)
async def test_an_answer_is_searched_before_it_is_cut(
    httpserver: HTTPServer, tmp_path: Path, *, shown: int, method: str, limit: int, body: str
) -> None:
    """Whatever of the secret stands before the cut."""
    said = body.format("." * (limit - shown) + VALUE)
    httpserver.expect_request("/").respond_with_data(said, status=401)
    found = await told_of(method, tmp_path, url=at(httpserver))
    assert VALUE[:5] not in found


@pytest.mark.parametrize("shown", [10, 30, 59])
@pytest.mark.parametrize("method", ["fail", "break_down"])
async def test_words_are_searched_before_they_are_cut(tmp_path: Path, method: str, shown: int) -> None:
    """Of a failure that a method tells, and of one that it does not expect."""
    found = await told_of(method, tmp_path, text="." * (MAX_WORDS - shown))
    assert VALUE[:5] not in found

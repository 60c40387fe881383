"""Secrets in requests: where they end up, where they may go, and what comes back without them."""

import base64
import json
from typing import Any

import pytest

from tests.unit.api_caller.handling import GO, FakeBus, handle
from tests.unit.api_caller.making import AGENT, JSON, READ, UNSAFE, answer, item, judged, refusal, request, schema
from tests.unit.runtime.secret_sources import KEYS, VALUE, FakeStream, resolver
from toolbus_api_caller.core.concealing import concealed
from toolbus_api_caller.core.redirects import next_request
from toolbus_api_caller.core.response import Wanted
from toolbus_contracts.digests import effect_digest
from toolbus_contracts.egress import place_of
from toolbus_contracts.errors import Refused, Unavailable
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.redaction import MAX_EFFORT, Redactor
from toolbus_contracts.executing.secrets import Secret, check_place
from toolbus_contracts.requests.request import HttpRequest, http_request
from toolbus_runtime.secrets.resolver import Resolver
from toolbus_runtime.secrets.sources import Found, StoredSecrets

OTHER = "https://other.example.com/next"


def made(section: dict[str, Any], arguments: Any = None, hosts: tuple[str, ...] = (), **more: Any) -> HttpRequest:
    """The request of such a work item, in which the secret `key` is filled in."""
    secrets, redactor = {"key": Secret("key", VALUE, 3, hosts)}, Redactor([("key", VALUE)])
    return http_request(item(section, arguments, **more), user_agent=AGENT, secrets=secrets, redactor=redactor)


def not_made(section: dict[str, Any], arguments: Any = None, hosts: tuple[str, ...] = ()) -> str:
    """The message with which such a request is refused."""
    with pytest.raises(Refused) as refused:
        made(section, arguments, hosts)
    assert refused.value.code == "secret_not_allowed"
    return refused.value.message


@pytest.mark.parametrize(
    ("section", "header", "text"),
    [
        ({"headers": {"X-Key": "secret://key"}}, "x-key", VALUE),
        ({"secrets": {"X-Key": {"name": "key"}}}, "x-key", VALUE),
        ({"cookies": {"sid": "secret://key"}}, "cookie", f"sid={VALUE}"),
        ({"auth": {"bearer": "secret://key"}}, "authorization", f"Bearer {VALUE}"),
        (
            {"auth": {"basic": {"username": "ana", "password": "secret://key"}}},
            "authorization",
            "Basic " + base64.b64encode(f"ana:{VALUE}".encode()).decode(),
        ),
    ],
)
def test_a_header_holds_the_value(section: dict[str, Any], header: str, text: str) -> None:
    """And the request says what it carries, without showing it."""
    found = made(section)
    assert dict(found.headers)[header] == text
    assert [secret.name for secret in found.secrets] == ["key"]
    assert VALUE not in repr(found)


def test_query_form_and_body_hold_the_value() -> None:
    """Written as any other text there."""
    assert made({"params": {"k": "secret://key", "n": 1}}).url.endswith(f"?k={VALUE}&n=1")
    assert made({"method": "POST", "data": {"k": "secret://key"}}).body == f"k={VALUE}".encode()
    found = made({"method": "POST", "json": {"auth": {"k": "secret://key"}}}, {"json": {"a": 1}})
    assert json.loads(found.body or b"") == {"auth": {"k": VALUE}, "a": 1}


def test_authorization_needs_no_secret() -> None:
    """What is no secret may stand there as it is; a call cannot change it, and a colon would move the border."""
    section = {"auth": {"basic": {"username": "ana"}}, "overridable": ["headers"]}
    found = request(section, {"headers": {"Authorization": "mine"}})
    assert dict(found.headers)["authorization"] == "Basic " + base64.b64encode(b"ana:").decode()
    assert refusal({"auth": {"basic": {"username": "a:b"}}}).startswith("request_invalid: auth")


def test_stored_setup_goes_over_the_definition() -> None:
    """Per part and per key, and what it refers to is filled in."""
    setup = {"headers": {"x-key": "secret://key"}, "params": {"v": "2"}}
    found = made({"headers": {"x-key": "none", "x-a": "a"}, "params": {"u": "1"}}, setup=setup)
    assert {name: text for name, text in found.headers if name.startswith("x-")} == {"x-key": VALUE, "x-a": "a"}
    assert found.url.endswith("?u=1&v=2")


@pytest.mark.parametrize(
    "arguments",
    [
        {"params": {"a": "secret://key"}},
        {"headers": {"x-a": "Bearer secret://key"}},
        {"cookies": {"c": "secret://key"}},
    ],
)
def test_a_call_names_no_secret(arguments: dict[str, Any]) -> None:
    """Not even one that the definition uses itself."""
    section = {"headers": {"x-key": "secret://key"}, "overridable": ["headers"]}
    assert "a call cannot name a secret" in not_made(section, arguments)


def test_an_open_host_takes_bound_secrets_only() -> None:
    """Where the call says where it goes, its author could have the secret sent to a host of their own."""
    key = {"headers": {"x-key": "secret://key"}}
    open_url = {**key, "overridable": ["url"]}
    assert made(open_url, {"url": "https://api.example.com/v2/other"}).secrets
    for url in ("https://evil.example.net/", "http://api.example.com/v1/things", "https://api.example.com:444/"):
        assert "bound to no host" in not_made(open_url, {"url": url})
    assert made(open_url, {"url": "https://evil.example.net/"}, ("*.example.com",)).secrets  # refused by the network
    open_host = {**key, "url": "https://{region}.example.com/", "params_schema": schema("region")}
    assert "bound to no host" in not_made(open_host, {"region": "eu"})
    assert made(open_host, {"region": "eu"}, ("eu.example.com",)).secrets


@pytest.mark.parametrize(
    ("hosts", "origin", "may_go"),
    [
        ((), "https://anywhere.example.net", True),
        (("api.example.com",), "https://api.example.com", True),
        (("api.example.com",), "http://API.example.com.:8080", True),
        (("api.example.com",), "https://x.api.example.com", False),
        (("*.example.com",), "https://a.b.example.com", True),
        (("*.example.com",), "https://example.com", False),
        (("*.example.com",), "https://badexample.com", False),
        (("api.example.com:443",), "https://api.example.com", True),
        (("api.example.com:443",), "http://api.example.com", False),
        (("*.example.com:8443", "127.0.0.1:80"), "http://127.0.0.1", True),
        (("*.example.com:8443", "127.0.0.1:80"), "https://a.example.com:8443", True),
        (("127.0.0.1",), "https://127.0.0.1.example.com", False),
    ],
)
def test_a_binding_names_hosts(hosts: tuple[str, ...], origin: str, may_go: bool) -> None:
    """A host, everything below a suffix, each with any port or with one."""
    secret = Secret("key", VALUE, 1, hosts)
    if may_go:
        check_place([secret], place_of(origin))
    else:
        with pytest.raises(Refused, match=f"secret key goes to {', '.join(hosts)} only".replace("*", r"\*")) as refused:
            check_place([secret], place_of(origin))
        assert refused.value.code == "secret_not_allowed"
        assert VALUE not in refused.value.message


def test_a_redirect_at_home_keeps_its_secrets() -> None:
    """Headers, cookies and body go along, and the binding is looked at once more."""
    first = made({"method": "POST", "headers": {"x-key": "secret://key"}, "json": {"k": "secret://key"}})
    found = next_request(first, 307, "/v1/elsewhere")
    assert found is not None
    assert (found.body, found.headers, found.secrets) == (first.body, first.headers, first.secrets)


def test_a_redirect_to_another_origin_goes_on_without_secrets() -> None:
    """Headers and cookies stay behind as ever; what holds none goes on, and may come home without them."""
    first = made({"headers": {"x-key": "secret://key"}, "cookies": {"c": "secret://key"}})
    away = next_request(first, 302, OTHER)
    assert away is not None
    assert (away.secrets, away.url) == ((), OTHER)
    assert {name for name, _ in away.headers} == {"accept", "accept-encoding", "user-agent"}
    back = next_request(away, 302, first.url)
    assert back is not None
    assert (back.secrets, back.headers) == ((), away.headers)


@pytest.mark.parametrize(
    ("section", "status_code", "location"),
    [
        ({"method": "POST", "json": {"k": "secret://key"}}, 307, OTHER),
        ({"method": "PUT", "data": {"k": "secret://key"}}, 308, OTHER),
        ({"method": "PUT", "data": {"k": "secret://key"}}, 301, "http://api.example.com/v1/things"),
        ({"headers": {"user-agent": "secret://key"}}, 302, OTHER),
        ({"headers": {"x": "secret://key"}}, 302, f"{OTHER}?k={VALUE}"),
        ({"headers": {"x": "secret://key"}}, 302, f"{OTHER}?k={base64.b64encode(b'x' + VALUE.encode()).decode()}"),
    ],
)
def test_a_redirect_takes_no_secret_to_another_origin(section: dict[str, Any], status_code: int, location: str) -> None:
    """Neither in a body or header that goes along, nor in a url that the target made of it; bound or not."""
    for hosts in ((), ("*.example.com",)):
        with pytest.raises(Refused, match="secret key to another origin") as refused:
            next_request(made(section, hosts=hosts), status_code, location)
        assert refused.value.code == "secret_not_allowed"
        assert VALUE not in refused.value.message


def test_a_redirect_on_another_origin_is_looked_at_too() -> None:
    """Whoever was given the secret by other ways gets it from nobody through us."""
    away = next_request(made({"headers": {"x": "secret://key"}}), 302, OTHER)
    assert away is not None
    with pytest.raises(Refused, match="another origin"):
        next_request(away, 302, f"/again?k={VALUE}")
    posted = made({"method": "POST", "json": {"k": "secret://key"}})
    turned = next_request(posted, 303, OTHER)
    assert turned is not None
    assert (turned.method, turned.body) == ("GET", None)


def test_a_redirect_that_cannot_be_searched_is_not_followed() -> None:
    """Nobody could say whether it takes a secret along."""
    first = made({"method": "POST", "headers": {"x": "secret://key"}}, {"content": "JTQx" * (MAX_EFFORT + 1)})
    with pytest.raises(Refused) as refused:
        next_request(first, 307, OTHER)
    assert refused.value.code == "redaction_failed"


def test_answers_come_back_without_secrets() -> None:
    """In headers and body; a body that broke off, or was too large, loses its end."""
    redactor = Redactor([("key", VALUE)])
    whole = concealed(answer(200, json.dumps({"k": VALUE}).encode(), headers={**JSON, "X-Echo": VALUE}), redactor)
    found = judged(whole, Wanted(READ))
    assert found.output is not None
    assert (found.output["json"], found.output["headers"]["x-echo"]) == ({"k": "[secret:key]"}, "[secret:key]")
    text = concealed(answer(200, f"said {VALUE}".encode()), redactor)
    kept = judged(text, Wanted(READ)).output or {}
    assert base64.b64decode(kept["content"]) == b"said [secret:key]"
    for cut in ({"failure": Failure("lost", "gone", is_sent=True)}, {"is_too_large": True}):
        broken = concealed(answer(200, b"." * 5000 + VALUE[:9].encode(), **cut), redactor)
        assert broken.body.startswith(b"..")
        assert VALUE[:4].encode() not in broken.body


class Broken(Redactor):
    """A redactor that fails."""

    def in_bytes(self, data: bytes) -> bytes:
        """Fail."""
        raise MemoryError(data)


def test_an_answer_that_cannot_be_searched_is_dropped() -> None:
    """Its status is all that is left, and the call says so; whether the effect happened is known all the same."""
    redactor = Broken([("key", VALUE)])
    for terms, happened in ((READ, "no"), (UNSAFE, "yes")):
        found = judged(concealed(answer(200, VALUE.encode(), headers={"x": VALUE}), redactor), Wanted(terms))
        assert found.error is not None
        assert (found.result, found.error.code, found.error.effect_happened) == ("failed", "redaction_failed", happened)
        assert VALUE not in repr(found)
    refused = judged(concealed(answer(503, VALUE.encode(), headers={"x": VALUE}), redactor), Wanted(READ))
    assert refused.error is not None
    assert (refused.error.code, VALUE in repr(refused)) == ("http_status", False)


async def test_the_effect_is_approved_with_the_generations_that_are_sent() -> None:
    """The executor computes the digest from what it resolved, and asks with that."""
    work = item({"method": "POST", "headers": {"x": "secret://key"}}, needs_start=True, approved="sha256:some")
    bus = FakeBus([GO])
    network = await handle(work, bus, secrets=resolver(key=Found(VALUE, 4)))
    expected = effect_digest(
        tenant=work.tenant,
        call_id=work.call_id,
        definition_hash=work.definition.definition_hash(),
        arguments={},
        on_behalf_of=None,
        deadline_at=None,
        secrets={"key": 4},
    )
    assert bus.asked[0].digest == expected
    assert dict(network.sent[0][0].headers)["x"] == VALUE


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (answer(200, json.dumps({"said": VALUE}).encode(), headers=JSON), '"[secret:key]"'),
        (answer(500, VALUE.encode(), headers={"x": VALUE}), '"[secret:key]"'),
        (Failure("lost", f"cannot write GET /?k={VALUE}", is_sent=True), "k=[secret:key]"),
        (Failure("denied", f"https://h/{VALUE}", is_sent=False), "https://h/[secret:key]"),
        (answer(200, b'{"said":"' + b"x" * 300_000 + VALUE.encode() + b'"}', headers=JSON), "[secret:key]"),
    ],
)
async def test_nothing_that_is_told_holds_a_secret(found: Any, told: str) -> None:
    """Outputs, errors, excerpts, and large values in the bucket."""
    bus = FakeBus()
    await handle(item({"headers": {"x": "secret://key"}}, terms=READ), bus, found, secrets=resolver(key=VALUE))
    everything = bus.told[0].model_dump_json() + repr(bus.payloads)
    assert VALUE not in everything
    assert told in everything


async def test_what_cannot_be_resolved_is_not_sent() -> None:
    """Nobody has it: the call fails. Nobody can say: the work comes again."""
    bus = FakeBus()
    network = await handle(item({"headers": {"x": "secret://key"}}), bus, secrets=resolver(other=VALUE))
    assert network.sent == []
    assert bus.told[0].error is not None
    assert (bus.told[0].result, bus.told[0].error.code) == ("failed", "secret_unavailable")

    stream = FakeStream({})
    stream.is_away = True
    with pytest.raises(Unavailable, match="away"):
        await handle(
            item({"headers": {"x": "secret://key"}}), FakeBus(), secrets=Resolver((StoredSecrets(stream, KEYS),))
        )


def test_a_request_without_secrets_has_nothing_to_look_for() -> None:
    """It is redirected as ever, whatever the new url holds."""
    plain = request({})
    assert (plain.secrets, bool(plain.redactor)) == ((), False)
    found = next_request(plain, 302, f"{OTHER}?k={VALUE}")
    assert found is not None
    assert found.url.endswith(VALUE)

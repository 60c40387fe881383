"""The request that is shown to whoever approves it, byte by byte the one that the executor sends."""

import base64
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.unit.approvals.inbox.browsing import signed_in
from tests.unit.approvals.inbox.pretending import Page
from toolbus_api_caller.core.request import build_request
from toolbus_approvals.inbox.exact import Body, Exact, Piece, Waiting, exact_of
from toolbus_approvals.inbox.values import MAX_CHARS
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import Json, compact
from toolbus_contracts.work import WorkItem

AGENT = "toolbus/test"
VALUES = {"key": "k-4711", "other": "o-0815"}
URL = "https://e.example/things/{id}"
FILE = base64.b64encode(b"\x89PNG\r\n\x00\xff end").decode()


def waiting(section: dict[str, Any], arguments: Json = None, *, setup: Any = None, **more: Any) -> Waiting:
    """The call of a wait, of this `api_call`; fields of the definition as `more`."""
    whole = {"method": "POST", "url": URL, **section}
    definition = ToolDefinition.model_validate({"name": "t", "api_call": whole, **more})
    return Waiting(
        call_id=f"call_{1:032x}",
        definition=definition,
        setup=setup or {},
        arguments={"id": "a/b"} if arguments is None else arguments,
        terms=definition.terms(),
        on_behalf_of="user:kim",
    )


def sent(call: Waiting) -> HttpRequest:
    """What the executor sends, once the secrets are there."""
    item = WorkItem(
        call_id=call.call_id,
        tenant="acme",
        execution_id="exec_1",
        attempt=1,
        definition=call.definition,
        setup=call.setup,
        arguments=call.arguments,
        terms=call.terms,
        needs_start=True,
        on_behalf_of=call.on_behalf_of,
    )
    return build_request(item, user_agent=AGENT, secrets={name: Secret(name, value) for name, value in VALUES.items()})


def filled(pieces: Iterable[Piece]) -> bytes:
    """The bytes that pieces stand for, with the secrets in them."""
    found: dict[str, Callable[[str], bytes]] = {
        "text": lambda text: text.encode(),
        "bytes": bytes.fromhex,
        "secret": lambda text: VALUES[text.removeprefix("secret://")].encode(),
    }
    return b"".join(found[piece.kind](piece.text) for piece in pieces)


CALLS = {
    "path, query and fixed": waiting({"params": {"lang": "de"}, "params_in": {"q": "query"}}, {"id": "x y", "q": "&"}),
    "a JSON body": waiting({}, {"id": "1", "text": "Grüße \u202e\n", "n": [1, None]}),
    "a form": waiting({"data": {"key": "secret://key"}, "params_in": {"b": "form"}}, {"id": "1", "b": "x y"}),
    "files": waiting({"data": {"key": "secret://key"}, "files": {"f": FILE}}),
    "bytes": waiting({"content": FILE}),
    "a bearer": waiting({"auth": {"bearer": "secret://key"}}),
    "secrets for headers": waiting({"secrets": {"X-Key": {"name": "key"}, "X-Other": {"name": "other"}}}),
    "a secret in every part": waiting(
        {"headers": {"a": "secret://key"}, "params": {"k": "secret://other"}, "cookies": {"c": "secret://key"}}
    ),
    "a secret in JSON": waiting({"json": {"deep": [{"key": "secret://key"}], "n": 1}}),
    "stored setup": waiting({"headers": {"a": "1"}}, setup={"headers": {"b": "secret://key"}, "params": {"p": "1"}}),
    "whom it is for": waiting({}, forward_principal="X-For"),
    "no body": waiting({"method": "DELETE"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_shown_is_what_is_sent(name: str) -> None:
    """Method, url, every header in its order, and the body: with the secrets filled in they are the same."""
    shown, request = exact_of(CALLS[name], AGENT), sent(CALLS[name])
    assert filled(shown.first_line) == f"{request.method} {request.url}".encode()
    assert [(header, filled(pieces)) for header, pieces in shown.headers] == [
        (header, text.encode()) for header, text in request.headers
    ]
    assert (None if shown.body is None else filled(shown.body.pieces)) == request.body


def pieces_of(shown: Exact) -> list[Piece]:
    """All that is shown."""
    body = () if shown.body is None else shown.body.pieces
    return [*shown.first_line, *(piece for _, pieces in shown.headers for piece in pieces), *body]


@pytest.mark.parametrize(
    "name", [name for name, call in CALLS.items() if "secret" in compact(call.definition.section())]
)
def test_secrets_are_shown_by_name(name: str) -> None:
    """Each as a piece of its own; nothing of the words that stood for them is left."""
    shown = exact_of(CALLS[name], AGENT)
    assert shown.has_secrets
    assert {piece.text for piece in pieces_of(shown) if piece.kind == "secret"} <= {"secret://key", "secret://other"}
    assert any(piece.kind == "secret" for piece in pieces_of(shown))
    again = exact_of(CALLS[name], AGENT)  # with other words: whatever is left of them differs
    assert again.first_line == shown.first_line
    assert again.headers == shown.headers


def test_user_and_password_are_told_apart_although_they_are_sent_in_base64() -> None:
    """Which secret is in them could not be seen; where none is, the header stays as it is sent."""
    shown = exact_of(waiting({"auth": {"basic": {"username": "ana", "password": "secret://key"}}}), AGENT)
    assert dict(shown.headers)["authorization"] == (
        Piece("Basic base64("),
        Piece("ana:"),
        Piece("secret://key", "secret"),
        Piece(")"),
    )
    plain = exact_of(waiting({"auth": {"basic": {"username": "ana", "password": "x"}}}), AGENT)
    assert dict(plain.headers)["authorization"] == (Piece("Basic YW5hOng="),)
    other = exact_of(waiting({"headers": {"Authorization": "Basic of another kind", "k": "secret://key"}}), AGENT)
    assert dict(other.headers)["authorization"] == (Piece("Basic of another kind"),)


def test_what_a_model_writes_is_no_secret() -> None:
    """The name of one within its text stays text."""
    shown = exact_of(waiting({"headers": {"k": "secret://key"}}, {"id": "1", "note": "see secret://other"}), AGENT)
    assert shown.body is not None
    assert shown.body.pieces == (Piece('{"note":"see secret://other"}'),)
    assert shown.body.digest == digest_bytes(b'{"note":"see secret://other"}')


def test_a_body_has_its_size_and_its_digest_unless_secrets_are_missing_in_it() -> None:
    """Who wants to be sure can compare."""
    plain = exact_of(CALLS["bytes"], AGENT).body
    assert plain == Body(
        (Piece("89", "bytes"), Piece("PNG\r\n\x00"), Piece("ff", "bytes"), Piece(" end")),
        is_shortened=False,
        size_bytes=12,
        digest=digest_bytes(base64.b64decode(FILE)),
    )
    secret = exact_of(CALLS["a secret in JSON"], AGENT).body
    assert secret is not None
    assert secret.digest is None


@pytest.mark.parametrize("room", [0, 1, 31, 32, 33])
def test_a_long_body_is_cut_and_no_word_for_a_secret_with_it(room: int) -> None:
    """A secret at the place where it is cut is shown by its name, or not at all."""
    start = '{"text":"'
    text = "x" * (MAX_CHARS - len(start) - len('","key":"') - room)
    body = exact_of(waiting({"json": {"text": text, "key": "secret://key", "end": "y" * 99}}), AGENT).body
    assert body is not None
    assert body.is_shortened
    assert body.digest is None
    told = [piece for piece in body.pieces if piece.kind == "secret"]
    assert told == ([Piece("secret://key", "secret")] if room else [])
    assert body.pieces[0].text == f'{start}{text}","key":"'


def test_what_the_executor_refuses_is_refused() -> None:
    """No request is shown that nobody sends."""
    with pytest.raises(Refused, match="no value for id"):
        exact_of(waiting({}, {"other": 1}), AGENT)


def test_where_a_secret_may_go_is_for_the_executor_to_say() -> None:
    """It alone knows the hosts that a secret is bound to; the page shows the request that is asked for."""
    call = waiting({"url": "https://{id}.example/", "headers": {"a": "secret://key"}}, {"id": "h"})
    with pytest.raises(Refused, match="bound to no host"):
        sent(call)
    assert exact_of(call, AGENT).first_line == (Piece("POST https://h.example/"),)


async def test_the_page_shows_the_request_as_it_is_sent(page: Page) -> None:
    """With the name of its secret framed, and its idempotency key; an argument's own markup does nothing."""
    wait = page.desk.add(arguments={"charge": "ch/1", "note": "<b>\u202e"})
    async with signed_in(page) as opened:
        text = (await opened.get(f"/inbox/waits/{wait.id}")).text
    for told in (
        "POST https://pay.example.com/refunds/ch%2F1\n",
        'authorization: <span class="mark" title="a secret, which is filled in when this is sent">secret://pay_key</span>\n',
        f"idempotency-key: {wait.call_id}\n",
        "content-type: application/json\n",
        "user-agent: toolbus/test\n",
        '{&#34;note&#34;:&#34;&lt;b&gt;<span class="mark" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>&#34;}</code>',
        digest_bytes('{"note":"<b>\u202e"}'.encode()),
    ):
        assert told in text, told


async def test_large_values_are_part_of_the_request_as_far_as_there_is_room(page: Page) -> None:
    """One that is missing or too large leaves what the definition says, and why."""
    body = compact("z" * 70_000).encode()
    name = digest_bytes(body)
    reference: Json = {"$payload": name, "bytes": len(body)}
    page.payloads[name] = body
    there = page.desk.add(arguments={"charge": "ch_1", "text": reference})
    deep = page.desk.add(arguments={"charge": "ch_1", "list": [reference]})
    missing = page.desk.add(arguments={"charge": "ch_1", "text": {"$payload": "sha256:" + "0" * 64}})
    async with signed_in(page) as opened:
        for wait, size in ((there, len(body) + len('{"text":}')), (deep, len(body) + len('{"list":[]}'))):
            text = (await opened.get(f"/inbox/waits/{wait.id}")).text
            assert f"Its body, {size:,} bytes" in text
            assert "of which this is the beginning" in text
        text = (await opened.get(f"/inbox/waits/{missing.id}")).text
        assert "POST https://pay.example.com/refunds/{charge}\n" in text
        assert "Not all of its large values" in text

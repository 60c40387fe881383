"""What people see of a wait, hostile arguments included."""

import json
import shlex
from datetime import timedelta

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from tests.unit.approvals.inbox.browsing import signed_in
from tests.unit.approvals.inbox.pretending import ASKED, EXTERNAL, LOST, NOW, Page
from toolbus.cli.app import app
from toolbus_approvals.inbox.pages import span
from toolbus_approvals.inbox.showing import detail_of
from toolbus_approvals.inbox.values import MAX_CHARS, compare, for_editing, show, summary
from toolbus_approvals.inbox.visible import visible
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Approval
from toolbus_contracts.values import Json, compact
from toolbus_contracts.waits import WaitKind

ATTACK = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


async def test_the_list_tells_what_each_wait_is(page: Page) -> None:
    """Kind, risk in words, requester and on whose behalf, arguments, age and expiry."""
    page.desk.add(approval=Approval(quorum=2))
    page.desk.add("input", tool="ask", ask_user=ASKED, terms=EXTERNAL, requester=Actor(subject="user:bo", via="bus"))
    page.desk.add("function", tool="draft")
    page.desk.add("doubt", tool="pay", error=LOST, attempt=1)
    async with signed_in(page) as opened:
        text = (await opened.get("/")).text
    for told in (
        "Approval, 0 of 2 agreed",
        "Client function",
        "In doubt",
        "dangerous",
        "external",
        "service:crm",
        "user:kim",
        "user:bo",
        "5 minutes",
        "in 20 hours",
        "never",
        "4 open waits",
        "ch_1",
    ):
        assert told in text, told
    assert text.count('type="checkbox"') == 1  # only approvals are decided several at once


async def test_the_page_of_a_wait_tells_all(page: Page) -> None:
    """Arguments, the request they become (with names of secrets only), digests, labels, and who must agree."""
    wait = page.desk.add(
        labels={"ticket": "T-9"}, approval=Approval(approvers=("role:finance",), quorum=2, may_edit=True)
    )
    async with signed_in(page) as opened:
        text = (await opened.get(f"/inbox/waits/{wait.id}")).text
    for told in (
        wait.digest,
        wait.call_id,
        wait.definition_hash,
        "POST https://pay.example.com/refunds/ch_1",
        "secret://pay_key",
        "2 people of <",
        "role:finance",
        "but not who asked for it",
        "T-9",
        "2026-03-02 08:00:00 UTC",
        "in the path",
        "in the JSON body",
    ):
        assert told in text, told


@pytest.mark.parametrize("kind", ["approval", "function", "input", "doubt"])
async def test_hostile_text_is_shown_and_does_nothing(page: Page, kind: str) -> None:
    """HTML is escaped; what hides or turns text around is shown by its code point, wherever it comes from."""
    turned = "pay \u202eevil\u202c \u200b\u0007\u00a0end"
    wait = page.desk.add(
        kind,  # type: ignore[arg-type]  # parametrized
        arguments={"to": ATTACK, turned: turned},
        requester=Actor(subject="user:x", via="http", on_behalf_of=ATTACK + turned),
        labels={"l": ATTACK},
        ask_user=ASKED.model_copy(update={"message": ATTACK, "fields": {"to": {"title": ATTACK}}, "required": None}),
        error=LOST.model_copy(update={"message": ATTACK}),
    )
    async with signed_in(page, page.key("admin")) as opened:
        for path in ("/", f"/inbox/waits/{wait.id}"):
            text = (await opened.get(path)).text
            assert "<script>alert" not in text
            assert "<img" not in text
            assert "&lt;script&gt;" in text
            assert '<span class="mark" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in text
            assert not set("\u202e\u202c\u200b\u0007\u00a0") & set(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\nlines", "plain\nlines"),
        ("Grüße, שלום, 日本", "Grüße, שלום, 日本"),
        ("a\tb", "U+0009"),
        ("\u3164", "U+3164"),
        ("\ufeff", "U+FEFF"),
        ("\U000e0041", "U+E0041"),
        ("a" + "\u0301" * 5, "U+0301"),
        ("<&>", "&lt;&amp;&gt;"),
    ],
)
def test_hidden_characters_are_marked(text: str, shown: str) -> None:
    """Plain text of every script stays as it is."""
    assert shown in str(visible(text))


def test_in_a_field_hidden_characters_are_escapes() -> None:
    """They mean the same, and are seen; what is sent back is what was there."""
    value = {"a": "x\u202ey\U000e0041"}
    text = for_editing(value)
    assert "\\u202e" in text
    assert text.isascii()
    assert json.loads(text) == value


async def test_a_megabyte_is_shortened_with_size_and_digest(page: Page) -> None:
    """Whether it stands in the arguments or a reference stands for it."""
    body = compact("y" * 1_000_000).encode()
    page.payloads[digest_bytes(body)] = body
    inline = {"text": "x" * 1_000_000}
    first = page.desk.add(arguments=inline)
    second = page.desk.add(arguments={"letter": {"$payload": digest_bytes(body), "bytes": len(body), "preview": "yy"}})
    missing = page.desk.add(arguments={"$payload": "sha256:" + "0" * 64})
    async with signed_in(page) as opened:
        text = (await opened.get(f"/inbox/waits/{first.id}")).text
        assert "1,000,011 bytes in all" in text
        assert digest_bytes(compact(inline).encode()) in text
        text = (await opened.get(f"/inbox/waits/{second.id}")).text
        assert len(text) < 60_000
        assert "1,000,002 bytes in all" in text
        assert digest_bytes(body) in text
        assert "Approve with these arguments" not in text  # nobody can edit what is not shown
        assert "this value is missing" in (await opened.get(f"/inbox/waits/{missing.id}")).text
        assert len((await opened.get("/")).text) < 20_000


def test_a_summary_is_short_whatever_it_is_of() -> None:
    """Depth, width and length are bounded."""
    deep: dict[str, object] = {}
    for _ in range(60):
        deep = {"d": deep}
    values: tuple[Json, ...] = (deep, ["x"] * 10_000, {"k" * 5000: "v" * 5000}, "s" * 5000, 1, None, [[]], {})
    for value in values:
        assert len(summary(value)) <= 160


def test_a_diff_shows_lines_that_went_and_came() -> None:
    """And says when it is too much, or nothing."""
    lines = compare({"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert lines is not None
    assert [(line.sign, line.text.strip()) for line in lines if line.sign != " "] == [("-", '"b": 2'), ("+", '"b": 3')]
    assert compare({"a": 1}, {"a": 1}) == ()
    assert compare({"a": list(range(3000))}, {}) is None
    assert compare({"a": "x" * (MAX_CHARS + 1)}, {}) is None


def test_a_value_that_fits_is_shown_whole() -> None:
    """No size, no digest."""
    assert not show({"a": 1}).is_shortened


@pytest.mark.parametrize(("kind", "name"), [("doubt", "settle"), ("function", "complete"), ("input", "show")])
def test_the_command_that_a_page_names_is_one(page: Page, kind: WaitKind, name: str) -> None:
    """With these options; who copies it is not told that there is no such thing."""
    _, group, verb, *arguments = shlex.split(detail_of(page.desk.add(kind), None, user_agent="").command)
    commands = get_command(app)
    assert isinstance(commands, TyperGroup)
    within = commands.commands[group]
    assert isinstance(within, TyperGroup)
    assert verb == name
    within.commands[verb].make_context(verb, arguments)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "a moment"), (1, "1 second"), (61, "1 minute"), (7200, "2 hours"), (86400 * 3, "3 days"), (-5, "a moment")],
)
def test_times_are_told_in_their_largest_unit(seconds: int, text: str) -> None:
    """What is over is a moment."""
    assert span(timedelta(seconds=seconds)) == text


async def test_a_closed_wait_says_how_it_ended(page: Page) -> None:
    """And offers nothing."""
    wait = page.desk.close(page.desk.add(), "denied", note="too much")
    async with signed_in(page) as opened:
        text = (await opened.get(f"/inbox/waits/{wait.id}")).text
        assert "closed: denied" in text
        assert "too much" in text
        assert "Approve" not in text
        assert wait.id not in (await opened.get("/")).text


async def test_a_key_for_some_tools_sees_only_these(page: Page) -> None:
    """The others are not there for it."""
    hidden, seen = page.desk.add(tool="refund"), page.desk.add(tool="mail")
    async with signed_in(page, page.key("approve", tools=("mail",))) as opened:
        text = (await opened.get("/")).text
        assert (hidden.id in text, seen.id in text) == (False, True)
        assert (await opened.get(f"/inbox/waits/{hidden.id}")).status_code == 404
        assert (await opened.get(f"/inbox/waits/{seen.id}")).status_code == 200


async def test_what_is_not_there_is_a_page_too(page: Page) -> None:
    """With its code and the way back."""
    async with signed_in(page) as opened:
        answer = await opened.get("/inbox/waits/wait_" + "0" * 32)
    assert answer.status_code == 404
    assert "(not_found)" in answer.text
    assert answer.headers["content-type"].startswith("text/html")


def test_the_clock_of_the_fixture_stands(page: Page) -> None:
    """Times in these tests are exact."""
    assert page.clock() == NOW

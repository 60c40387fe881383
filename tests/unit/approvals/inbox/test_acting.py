"""What people do: approve, deny, edit, answer, complete, settle; one by one and several at once."""

import asyncio

import pytest
from fastapi import Request

from tests.unit.approvals.inbox.browsing import signed_in, token_in
from tests.unit.approvals.inbox.pretending import ASKED, LOST, Page
from toolbus_approvals.inbox.reading import events
from toolbus_contracts.calls import SettleDoubt
from toolbus_contracts.tools import Approval
from toolbus_contracts.waits import AnswerWait, ApproveWait, CompleteCall, DenyWait, FunctionError


async def test_approving_goes_back_to_the_list_and_says_so_once(page: Page) -> None:
    """POST, redirect, GET; whoever spoke is on the record with role, key and way."""
    wait = page.desk.add()
    async with signed_in(page) as opened:
        answer = await opened.send(f"/inbox/waits/{wait.id}", f"/inbox/waits/{wait.id}/approve", {"note": " fine "})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        text = (await opened.get("/")).text
        assert "refund: it was approved" in text
        assert "autofocus" in text
        assert "it was approved" not in (await opened.get("/")).text
    [(wait_id, command, who)] = page.desk.said
    assert (wait_id, command) == (wait.id, ApproveWait(digest=wait.digest, note="fine"))
    assert (who.subject, who.roles, who.via, who.key_id) == ("user:ana", ("finance",), "inbox", "key_" + "0" * 31 + "1")


async def test_one_of_two_is_recorded_and_the_wait_stays(page: Page) -> None:
    """It is said how many are missing."""
    wait = page.desk.add(approval=Approval(quorum=2))
    async with signed_in(page) as opened:
        await opened.send(f"/inbox/waits/{wait.id}", f"/inbox/waits/{wait.id}/approve", {"note": "me"})
        text = (await opened.get("/")).text
        assert "1 of 2 agreed" in text
        text = (await opened.get(f"/inbox/waits/{wait.id}")).text
        assert "Decisions so far" in text


async def test_denying_needs_a_reason(page: Page) -> None:
    """Without one the page comes back with what is wrong; with one it is denied."""
    wait = page.desk.add()
    where = f"/inbox/waits/{wait.id}"
    async with signed_in(page) as opened:
        answer = await opened.send(where, f"{where}/deny", {"note": "  "})
        assert answer.status_code == 422
        assert "say why" in answer.text
        assert (await opened.send(where, f"{where}/deny", {"note": "no"})).status_code == 303
    assert page.desk.said[0][1] == DenyWait(digest=wait.digest, note="no")


async def test_a_digest_of_before_is_refused_and_the_page_shows_what_is_now(page: Page) -> None:
    """Nobody approves what they did not see; what was typed is still there."""
    wait = page.desk.add()
    where = f"/inbox/waits/{wait.id}"
    async with signed_in(page) as opened:
        answer = await opened.send(where, f"{where}/approve", {"digest": "sha256:" + "0" * 64, "note": "typed"})
        assert answer.status_code == 409
        assert "digest_mismatch" in answer.text
        assert ">typed</textarea>" in answer.text
        answer = await opened.send(where, f"{where}/approve", {"digest": "nonsense"})
        assert answer.status_code == 422
    assert page.desk.waits[wait.id].is_open


async def test_whoever_comes_late_is_told_how_it_ended(page: Page) -> None:
    """The page shows the end, and the conflict."""
    wait = page.desk.add()
    where = f"/inbox/waits/{wait.id}"
    async with signed_in(page) as opened:
        await opened.send(where, f"{where}/approve", {})
        token = token_in((await opened.get("/")).text)
        answer = await opened.post(f"{where}/deny", {"token": token, "digest": wait.digest, "note": "stop"})
        assert answer.status_code == 409
        assert "closed: approved" in answer.text


async def test_an_edit_is_shown_first_and_then_made(page: Page) -> None:
    """The preview changes nothing; the edit stands on the page with its diff."""
    wait = page.desk.add(approval=Approval(may_edit=True, quorum=2))
    where = f"/inbox/waits/{wait.id}"
    edited = '{"charge": "ch_1", "amount": 11}'
    async with signed_in(page) as opened:
        shown = await opened.send(where, f"{where}/edit", {"arguments": edited, "note": "less", "preview": "yes"})
        assert shown.status_code == 200
        assert "What would change" in shown.text
        assert "<del>" in shown.text
        assert ">less</textarea>" in shown.text
        assert not page.desk.said
        assert (await opened.send(where, f"{where}/edit", {"arguments": edited, "note": "less"})).status_code == 303
        text = (await opened.get(where)).text
        assert "What people changed" in text
        assert "taken away:" in text
    assert page.desk.said[0][1] == ApproveWait(
        digest=wait.digest, note="less", arguments={"charge": "ch_1", "amount": 11}
    )


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": NaN}', ""])
async def test_arguments_that_are_no_object_are_refused(page: Page, text: str) -> None:
    """In the preview as well; what was typed stays."""
    wait = page.desk.add()
    where = f"/inbox/waits/{wait.id}"
    async with signed_in(page) as opened:
        for more in ({"preview": "yes"}, {}):
            answer = await opened.send(where, f"{where}/edit", {"arguments": text, **more})
            assert answer.status_code == 422
    assert not page.desk.said


async def test_values_are_supplied_by_a_form_of_the_schema(page: Page) -> None:
    """Typed as the schema says; what may be left out and is, is left out."""
    wait = page.desk.add("input", ask_user=ASKED, arguments={"reason": "broken", "amount": 5})
    where = f"/inbox/waits/{wait.id}"
    async with signed_in(page) as opened:
        text = (await opened.get(where)).text
        for told in (
            "How much, and why?",
            "in cents",
            'value="broken"',
            'value="5"',
            'min="1"',
            'step="1"',
            "may be left out",
        ):
            assert told in text, told
        values: dict[str, str | list[str]] = {
            "value:amount": "12",
            "value:kind": "2",
            "value:notify": "true",
            "value:reason": "",
            "value:extra": '{"a": [1]}',
        }
        assert (await opened.send(where, f"{where}/answer", values)).status_code == 303
    assert page.desk.said[0][1] == AnswerWait(
        digest=wait.digest, values={"amount": 12, "kind": 3, "notify": True, "extra": {"a": [1]}}
    )


@pytest.mark.parametrize(
    ("name", "text"), [("amount", "x"), ("amount", "true"), ("kind", "9"), ("notify", "perhaps"), ("extra", "{")]
)
async def test_a_text_that_says_no_value_is_named(page: Page, name: str, text: str) -> None:
    """The page comes back with the path, and with what was typed."""
    wait = page.desk.add("input", ask_user=ASKED)
    where = f"/inbox/waits/{wait.id}"
    async with signed_in(page) as opened:
        values: dict[str, str | list[str]] = {"value:amount": "12", "value:kind": "1", "value:reason": "kept"}
        answer = await opened.send(where, f"{where}/answer", values | {f"value:{name}": text})
        assert answer.status_code == 422
        assert f"/values/{name}" in answer.text
        assert 'value="kept"' in answer.text
    assert not page.desk.said


async def test_a_function_is_completed_by_whoever_may(page: Page) -> None:
    """Output as JSON, or what went wrong; a key without `work` sees the command instead."""
    first, second = page.desk.add("function"), page.desk.add("function")
    async with signed_in(page, page.key("approve", "work")) as opened:
        for wait, values in (
            (first, {"outcome": "succeeded", "output": "[1]"}),
            (second, {"outcome": "failed", "message": "no"}),
        ):
            where = f"/inbox/waits/{wait.id}"
            assert (await opened.send(where, f"{where}/complete", dict(values))).status_code == 303
    assert [command for _, command, _ in page.desk.said] == [
        CompleteCall(output=[1]),
        CompleteCall(error=FunctionError(message="no")),
    ]
    third = page.desk.add("function")
    async with signed_in(page) as opened:
        where = f"/inbox/waits/{third.id}"
        assert "toolbus calls complete" in (await opened.get(where)).text
        assert (await opened.send(where, f"{where}/complete", {"output": "1"})).status_code == 403


async def test_a_doubt_is_settled_by_whoever_may(page: Page) -> None:
    """With outcome, output and how it is known; a key without `operate` sees the command instead."""
    wait = page.desk.add("doubt", error=LOST, attempt=2)
    where = f"/inbox/waits/{wait.id}"
    async with signed_in(page) as opened:
        text = (await opened.get(where)).text
        assert "the connection broke after sending" in text
        assert "toolbus calls settle" in text
        assert (await opened.send(where, f"{where}/settle", {"outcome": "failed", "note": "n"})).status_code == 403
    async with signed_in(page, page.key("approve", "operate")) as opened:
        assert (await opened.send(where, f"{where}/settle", {"outcome": "", "note": "n"})).status_code == 422
        values: dict[str, str | list[str]] = {"outcome": "succeeded", "output": '{"id": 1}', "note": "seen"}
        assert (await opened.send(where, f"{where}/settle", values)).status_code == 303
    [settled] = page.desk.settled
    assert settled == SettleDoubt(call_id=wait.call_id, outcome="succeeded", output={"id": 1}, note="seen")


async def test_a_doubt_that_cannot_be_settled_here_shows_the_command() -> None:
    """When the dispatcher cannot be asked from here."""
    page = Page(may_settle=False)
    wait = page.desk.add("doubt", error=LOST, attempt=1)
    async with signed_in(page, page.key("admin")) as opened:
        assert "toolbus calls settle" in (await opened.get(f"/inbox/waits/{wait.id}")).text


async def test_several_are_decided_at_once_each_by_its_digest(page: Page) -> None:
    """One that has changed, one that is not there and one that this key may not see stop none of the others."""
    good, changed, foreign = page.desk.add(), page.desk.add(), page.desk.add(tool="secret_tool")
    missing = "wait_" + "f" * 32
    chosen = [
        f"{good.id} {good.digest}",
        f"{changed.id} sha256:{'0' * 64}",
        f"{foreign.id} {foreign.digest}",
        f"{missing} {good.digest}",
    ]
    async with signed_in(page, page.key("approve", tools=("refund",))) as opened:
        answer = await opened.send("/", "/inbox/decide", {"wait": chosen, "decision": "approve", "note": ""})
        assert answer.status_code == 303
        assert "1 done, 3 not" in (await opened.get("/")).text
    assert [wait_id for wait_id, _, _ in page.desk.said] == [good.id]


async def test_several_are_denied_with_one_reason(page: Page) -> None:
    """Without a reason none is."""
    chosen = [f"{wait.id} {wait.digest}" for wait in (page.desk.add(), page.desk.add())]
    async with signed_in(page) as opened:
        await opened.send("/", "/inbox/decide", {"wait": chosen, "decision": "deny", "note": ""})
        assert "0 done, 2 not" in (await opened.get("/")).text
        await opened.send("/", "/inbox/decide", {"wait": chosen, "decision": "deny", "note": "stop"})
        assert "2 done, 0 not" in (await opened.get("/")).text
    assert all(not wait.is_open for wait in page.desk.waits.values())


@pytest.mark.parametrize("values", [{"decision": "approve"}, {"wait": "x y", "decision": "burn"}])
async def test_nothing_chosen_is_nothing_done(page: Page, values: dict[str, str | list[str]]) -> None:
    """And it is said."""
    async with signed_in(page) as opened:
        await opened.send("/", "/inbox/decide", values)
        assert "Nothing was chosen" in (await opened.get("/")).text


async def test_a_notice_is_of_this_server(page: Page) -> None:
    """Nobody makes the page say something by a cookie or an address."""
    async with signed_in(page) as opened:
        opened.client.cookies.set("toolbus_notice", "eyJ0ZXh0IjoiZmFrZSJ9.00")
        assert "fake" not in (await opened.get("/?notice=fake&text=fake")).text


async def test_an_open_page_hears_what_changes_until_its_key_is_revoked(page: Page) -> None:
    """The stream tells ids of waits, and ends with the session."""
    token = page.key()
    async with signed_in(page, token) as opened:
        request = opened.client.build_request("GET", "/inbox/events")
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/inbox/events",
            "scheme": "http",
            "query_string": b"",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "app": page.app,
        }
        stream = await events(Request(scope))
        lines = stream.body_iterator  # type: ignore[attr-defined]  # it is a streaming response
        assert [await anext(lines), await anext(lines)] == [b"retry: 1000\n\n", b": still here\n\n"]
        heard = asyncio.ensure_future(anext(lines))
        wait = page.desk.add()
        assert await heard == b'event: waits\ndata: ["%b"]\n\n' % wait.id.encode()
        page.revoke(token)
        page.desk.add()
        with pytest.raises(StopAsyncIteration):
            await anext(lines)

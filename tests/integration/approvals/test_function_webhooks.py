"""Functions of clients that are asked by webhook: signed, told a token, answered at once or later, and only once."""

import base64
import json
from datetime import UTC, datetime

import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook

from tests.integration.approvals.webhook_rig import TOKEN_KEY, receiving, rigged
from tests.nats_fixtures import until
from toolbus_approvals.adapters.tokens import read_token
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import Conflict
from toolbus_contracts.waits import CompleteCall, WaitClosed
from toolbus_contracts.webhooks import DeliveryView


def is_delivered(log: list[DeliveryView]) -> bool:
    """The one delivery arrived."""
    return [view.status for view in log] == ["delivered"]


async def test_the_answer_in_the_200_is_taken(database_url: str) -> None:
    """Signed with the secrets of the webhook that is named, under the id of the wait."""
    async with rigged(database_url) as rig, receiving(lambda _: web.json_response({"output": [1, None]})) as client:
        secret = await rig.put("crm", "http://127.0.0.1:1/")
        wait_id = await rig.wait_for_function(client.url, arguments={"to": "Ana"}, tool="draft")
        await rig.until(is_delivered)
        (seen,) = client.seen
        told = Webhook(secret).verify(seen.body, seen.headers)
        assert seen.headers["webhook-id"] == wait_id
        assert told["type"] == "function.call"
        data = told["data"]
        assert (data["wait_id"], data["call_id"]) == (wait_id, f"call_of_{wait_id}")
        assert (data["tool"], data["arguments"]) == ("draft", {"to": "Ana"})
        assert read_token(TOKEN_KEY, data["token"]) == ("acme", wait_id)
        assert data["expires_at"].endswith("Z")
        ((tenant, call_id, command, who),) = rig.completed
        assert (tenant, call_id) == ("acme", f"call_of_{wait_id}")
        assert command == CompleteCall(output=[1, None])
        assert (who.subject, who.via) == ("service:webhook.crm", "webhook")


async def test_an_error_in_the_200_is_taken(database_url: str) -> None:
    """The function tells that it came to nothing."""
    answer = {"error": {"message": "no such letter"}}
    async with rigged(database_url) as rig, receiving(lambda _: web.json_response(answer)) as client:
        await rig.put("crm", "http://127.0.0.1:1/")
        await rig.wait_for_function(client.url)
        await rig.until(is_delivered)
        ((_, _, command, _),) = rig.completed
        assert command.error is not None
        assert command.error.message == "no such letter"


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_without_a_body_the_answer_comes_later(sqlite_url: str, status: int) -> None:
    """The message arrived, and nothing is answered for the client."""
    async with rigged(sqlite_url) as rig, receiving(lambda _: web.Response(status=status)) as client:
        await rig.put("crm", "http://127.0.0.1:1/")
        await rig.wait_for_function(client.url)
        await rig.until(is_delivered)
        assert rig.completed == []


async def test_an_answer_that_cannot_be_understood_is_asked_for_again(sqlite_url: str) -> None:
    """By the schedule, with what is wrong in the log: no output is made up."""
    answers = [web.Response(text="fine"), web.json_response({"output": "fine"})]
    async with rigged(sqlite_url) as rig, receiving(lambda _: answers.pop(0)) as client:
        await rig.put("crm", "http://127.0.0.1:1/")
        await rig.wait_for_function(client.url)
        (view,) = await rig.until(lambda log: log and log[0].attempts == 1)
        assert view.last_error is not None
        assert "cannot be read" in view.last_error
        rig.pass_until(view.next_at)
        await rig.until(is_delivered)
        assert [command.output for _, _, command, _ in rig.completed] == ["fine"]


async def test_an_answer_that_came_second_is_told_in_the_log(sqlite_url: str) -> None:
    """A worker with a lease was faster: it is delivered all the same, and not tried again."""
    async with rigged(sqlite_url) as rig, receiving(lambda _: web.json_response({"output": 1})) as client:
        rig.refusal = Conflict("answer_taken", "another answer was taken")
        await rig.put("crm", "http://127.0.0.1:1/")
        await rig.wait_for_function(client.url)
        (view,) = await rig.until(is_delivered)
        assert view.last_error == "another answer was taken"


async def test_a_call_that_needs_no_answer_any_more_is_not_asked_again(sqlite_url: str) -> None:
    """Its wait was closed between two attempts."""
    async with rigged(sqlite_url) as rig, receiving(lambda _: web.Response(status=500)) as client:
        await rig.put("crm", "http://127.0.0.1:1/")
        wait_id = await rig.wait_for_function(client.url)
        (view,) = await rig.until(lambda log: log and log[0].attempts == 1)
        closed = WaitClosed(
            wait_id=wait_id,
            call_id="call_1",
            wait_kind="function",
            outcome="withdrawn",
            digest="",
            at=datetime.now(UTC),
        )
        await rig.say(closed, subject_id=wait_id)
        rig.pass_until(view.next_at)
        await rig.until(lambda log: [view.status for view in log] == ["dropped"])
        assert len(client.seen) == 1


async def test_secrets_may_be_put_after_the_call(sqlite_url: str) -> None:
    """Nothing goes out unsigned; the log tells what is missing."""
    async with rigged(sqlite_url) as rig, receiving() as client:
        await rig.wait_for_function(client.url)
        (view,) = await rig.until(lambda log: log and log[0].attempts == 1)
        assert view.last_error == "there is no webhook crm"
        assert client.seen == []
        await rig.put("crm", "http://127.0.0.1:1/")
        rig.pass_until(view.next_at)
        await rig.until(is_delivered)


async def test_a_function_that_is_gone_disables_no_webhook(sqlite_url: str) -> None:
    """Its url is its own; the webhook only lends its secrets. The call still waits for others who may answer."""
    async with rigged(sqlite_url) as rig, receiving(lambda _: web.Response(status=410)) as client:
        await rig.put("crm", "http://127.0.0.1:1/", "grant.*")
        await rig.wait_for_function(client.url)
        (view,) = await rig.until(lambda log: [view.status for view in log] == ["failed"])
        assert (view.last_status_code, view.url) == (410, client.url)
        assert (await rig.webhooks.get("acme", "crm")).disabled is None


async def test_a_disabled_webhook_still_lends_its_secrets(sqlite_url: str) -> None:
    """Functions have receivers of their own."""
    async with rigged(sqlite_url) as rig, receiving() as client:
        await rig.put("crm", "http://127.0.0.1:1/")
        await rig.webhooks.disable("acme", "crm", "gone", note="", cause="made up")
        await rig.wait_for_function(client.url)
        await rig.until(is_delivered)


async def test_large_arguments_arrive_whole(sqlite_url: str) -> None:
    """A client has no store to look references up in."""
    text = "x" * 100_000
    body = json.dumps(text).encode()
    async with rigged(sqlite_url) as rig, receiving() as client:
        await rig.store.put_payloads("acme", {digest_bytes(body): body})
        await rig.put("crm", "http://127.0.0.1:1/")
        reference = {"$payload": digest_bytes(body), "bytes": len(body), "preview": "x"}
        await rig.wait_for_function(client.url, arguments={"text": reference, "n": 1})
        await rig.until(is_delivered)
        assert json.loads(client.seen[0].body)["data"]["arguments"] == {"text": text, "n": 1}


async def test_ed25519_signs_functions_too(sqlite_url: str) -> None:
    """With a key of the client's own."""
    secret = "whsk_" + base64.b64encode(bytes(range(32))).decode()
    async with rigged(sqlite_url) as rig, receiving() as client:
        await rig.put("crm", "http://127.0.0.1:1/", secret=secret)
        await rig.wait_for_function(client.url)
        await rig.until(is_delivered)
        assert client.seen[0].headers["webhook-signature"].startswith("v1a,")


async def test_an_approval_asks_no_function(sqlite_url: str) -> None:
    """A function that has to be approved first is asked when its own wait opens."""
    async with rigged(sqlite_url) as rig, receiving() as client:
        await rig.put("crm", client.url, "wait.opened")
        await rig.wait_for_function(client.url, wait_kind="approval")
        await rig.until(is_delivered)
        await until(lambda: len(client.seen) == 1)
        assert json.loads(client.seen[0].body)["type"] == "wait.opened"

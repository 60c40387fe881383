"""What the network of webhooks makes of receivers that are broken, slow or hostile: an answer or a reason, in time."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from tests.integration.api_caller.raw_target import Seen, raw_target
from toolbus_approvals.adapters.webhook_client import MAX_ANSWER_BYTES, WebhookClient
from toolbus_approvals.core.answers import Answer
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_runtime.egress import EgressGuard

NOW = datetime(2026, 1, 2, tzinfo=UTC)
BODY = b'{"type":"call.succeeded"}'


@pytest.fixture
async def client() -> AsyncIterator[WebhookClient]:
    """A client that may reach this machine, and has little patience."""
    found = WebhookClient(EgressGuard(EgressRules(parse_allowances("127.0.0.0/8"))), timeout_s=1.0)
    yield found
    await found.aclose()


async def posted(client: WebhookClient, url: str, *, is_read: bool = True) -> Answer:
    """The answer to one message."""
    return await client.post(url, {"webhook-id": "msg_1"}, BODY, is_read=is_read, now=NOW)


async def answered(client: WebhookClient, answer: bytes, *, is_read: bool = True) -> tuple[Answer, list[Seen]]:
    """What comes of an answer that consists of these bytes; then the connection is closed."""

    async def answering(_: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(answer)
        return False

    async with raw_target(answering) as target:
        return await posted(client, target.url + "/hooks?a=b%2Fc", is_read=is_read), target.seen


async def test_exactly_these_bytes_are_posted_once(client: WebhookClient) -> None:
    """To the path as it was written, with nothing about us that nobody asked for."""
    answer, (seen,) = await answered(client, b"HTTP/1.1 204 No Content\r\n\r\n")
    assert answer == Answer(204)
    assert seen.line == "POST /hooks?a=b%2Fc HTTP/1.1"
    assert seen.body == BODY
    assert seen.header("content-type") == "application/json"
    assert {name.lower() for name, _ in seen.headers} == {
        "host",
        "content-type",
        "content-length",
        "user-agent",
        "webhook-id",
    }


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
    ],
    ids=["closed", "garbage", "cut short", "bad chunk", "long header", "many headers", "no status"],
)
async def test_an_answer_that_is_none_is_told_as_a_reason(client: WebhookClient, answer: bytes) -> None:
    """No exception of the library gets through."""
    found, _ = await answered(client, answer)
    assert found.status == 0
    assert found.error


async def test_a_redirect_is_not_followed(client: WebhookClient) -> None:
    """What is signed for one url goes to no other."""
    answer, seen = await answered(client, b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
    assert answer.status == 302
    assert len(seen) == 1


async def test_an_answer_is_read_as_far_as_it_may_be(client: WebhookClient) -> None:
    """Beyond a mebibyte it is cut; a compressed one stays as it is."""
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    fits, _ = await answered(client, head % MAX_ANSWER_BYTES + b"x" * MAX_ANSWER_BYTES)
    assert (len(fits.body), fits.is_cut) == (MAX_ANSWER_BYTES, False)
    cut, _ = await answered(client, head % (MAX_ANSWER_BYTES + 1) + b"x" * (MAX_ANSWER_BYTES + 1))
    assert (cut.body, cut.is_cut) == (b"", True)


@pytest.mark.parametrize("is_dripping", [True, False])
async def test_a_receiver_that_takes_its_time_is_left(client: WebhookClient, *, is_dripping: bool) -> None:
    """Whether it says nothing, or a byte now and then."""

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" if is_dripping else b"")
        while not seen.has_left():
            writer.write(b"x" if is_dripping else b"")
            await asyncio.sleep(0.05)
        return False

    async with raw_target(answering) as target:
        found = await posted(client, target.url + "/")
    assert found == Answer(0, error="no answer within 1 s")


async def test_nobody_there_is_a_reason(client: WebhookClient) -> None:
    """A port that is closed, a name that is none."""
    assert (await posted(client, "http://127.0.0.1:1/")).status == 0
    assert (await posted(client, "http://nowhere.invalid/")).error


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://10.0.0.1/", "http://[::1]/", "http://localhost/"])
async def test_the_guard_applies(client: WebhookClient, url: str) -> None:
    """A reason, and not a byte."""
    found = await posted(client, url)
    assert found.status == 0
    assert "is not reached" in (found.error or "")


async def test_a_cookie_is_not_kept_and_retry_after_is_read(client: WebhookClient) -> None:
    """The next message tells nothing of this one."""
    head = b"HTTP/1.1 429 Too Many\r\nSet-Cookie: a=b\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"

    async def answering(_: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        return True

    async with raw_target(answering) as target:
        for _ in range(2):
            assert (await posted(client, target.url + "/")).retry_after_s == 7
        assert [seen.header("cookie") for seen in target.seen] == [None, None]
        assert target.connections == 1
